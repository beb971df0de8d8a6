/**
 * Runs README and the manual as written: every command, program and example, in order, in a folder that looks like a
 * checkout. Kinds of fenced blocks:
 *
 * - `console`: commands behind `$ `, each with its output. `…` matches any text; JSON is compared by its members; shown ids,
 *   hashes and ports are replaced by those of the run, in later commands too.
 * - `sh`: commands that end with 0, or with the exit code in the comment above them: `# …, exit code 2`.
 * - `js`, `ts`: a file if the first line names one (`// hono.ts`), else a program that is run. `ts` is type-checked, and a
 *   file is also compiled, as `tsc` does: `hono.js`.
 * - `text`: a figure, which is ignored.
 * - anything else, such as `json insight`: an example, which the check of that name in `setups` verifies.
 *
 * Marks in a comment before a block: `<!-- not run: needs an AWS account -->`; `<!-- keeps running on 8420 -->`: the last
 * command keeps running, on a free port in place of 8420; `<!-- keeps running -->`: the last command keeps running, and is
 * ready when it has printed the shown output. `setups` prepares what a document expects: servers, addresses, additional tests.
 */
import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { LONG } from "../support/run_length.ts";
import { documents } from "./markdown.ts";
import { setups } from "./setups/index.ts";
import { openRun, type DocumentRun, notRunReason } from "./document_run.ts";

const isOnPath = (program: string): boolean =>
  process.env["PATH"]!.split(delimiter).some((folder) => existsSync(join(folder, program)));

const notRun: string[] = [];

for (const document of documents()) {
  const { programs = ["curl"], long = false, prepare, declareTests } = setups[document.path] ?? {};
  if (long !== LONG) continue;
  const blocks = document.blocks.filter(({ language }) => language !== "text");
  if (blocks.length === 0) continue;
  const missing = programs.filter((program) => !isOnPath(program));
  if (missing.length > 0) {
    notRun.push(`${document.path}: there is no ${missing.join(", ")} here`);
    continue;
  }
  const runnable = blocks.filter((block) => {
    const reason = notRunReason(block);
    if (reason !== undefined) notRun.push(`${document.path}:${block.line}: ${reason}`);
    return reason === undefined;
  });

  describe(document.path, () => {
    let documentRun: DocumentRun | undefined;
    let failedLine: number | undefined;
    beforeAll(async () => {
      const environment = prepare ? await prepare() : {};
      if (environment) documentRun = await openRun(document, environment);
    });
    afterAll(() => documentRun?.close());
    const testRun = (name: string, check: (documentRun: DocumentRun) => unknown) =>
      test(name, ({ skip }) => (documentRun ? check(documentRun) : skip("its requirements are missing here")));

    for (const block of runnable)
      testRun(`line ${block.line}: ${block.text.split("\n")[0]}`, async (documentRun) => {
        if (failedLine !== undefined) throw new Error(`not tried, since the block at line ${failedLine} failed`);
        // Stays set if the block fails.
        failedLine = block.line;
        await documentRun.runBlock(block);
        failedLine = undefined;
      });
    declareTests?.(() => documentRun!);
    testRun("every text with a replacement occurs in the document", ({ runValues }) =>
      expect(runValues.listUnused()).toEqual([]),
    );
  });
}

if (notRun.length > 0) process.stderr.write(`not run of the documents:\n  ${notRun.join("\n  ")}\n`);
