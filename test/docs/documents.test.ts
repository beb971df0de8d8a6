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
 * - anything else, such as `json insight`: an example for the reader of that name in `stages`.
 *
 * Marks in a comment before a block: `<!-- not run: needs an AWS account -->`; `<!-- keeps running on 8420 -->`: the last
 * command keeps running, on a free port in place of 8420; `<!-- keeps running -->`: the last command keeps running, and is
 * ready when it has printed the shown output. `stages` lists further requirements: servers, addresses, additional tests.
 */
import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { LONG } from "../support/run_length.ts";
import { documents } from "./markdown.ts";
import { stages } from "./stages/index.ts";
import { openStory, type Story, notRunReason } from "./story.ts";

const isOnPath = (program: string): boolean =>
  process.env["PATH"]!.split(delimiter).some((folder) => existsSync(join(folder, program)));

const notRun: string[] = [];

for (const document of documents()) {
  const { needs = ["curl"], long = false, stage: makeStage, afterwards } = stages[document.path] ?? {};
  if (long !== LONG) continue;
  const blocks = document.blocks.filter(({ language }) => language !== "text");
  if (blocks.length === 0) continue;
  const missing = needs.filter((program) => !isOnPath(program));
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
    let story: Story | undefined;
    let brokeAt: number | undefined;
    beforeAll(async () => {
      const stage = await (makeStage ? makeStage() : {});
      if (stage) story = await openStory(document, stage);
    });
    afterAll(() => story?.close());
    const step = (name: string, check: (story: Story) => unknown) =>
      test(name, ({ skip }) => (story ? check(story) : skip("its requirements are missing here")));

    for (const block of runnable)
      step(`line ${block.line}: ${block.text.split("\n")[0]}`, async (story) => {
        if (brokeAt !== undefined) throw new Error(`not tried, since the story broke at line ${brokeAt}`);
        brokeAt = block.line;
        await story.run(block);
        brokeAt = undefined;
      });
    afterwards?.(() => story!);
    step("every text with a replacement occurs in the document", ({ standIns }) =>
      expect(standIns.unused()).toEqual([]),
    );
  });
}

if (notRun.length > 0) process.stderr.write(`not run of the documents:\n  ${notRun.join("\n  ")}\n`);
