/**
 * README and the manual, run as they stand: every command, program and example in them, in their order, in a folder that
 * looks like a checkout. What a fenced block is:
 *
 * - `console`: commands behind `$ `, and what came of each. `…` is anything; JSON is compared by its members; an id, a hash
 *   or a port that is shown stands for that of the run, in the commands that follow too.
 * - `sh`: commands that end with 0, or with what the comment above them says: `# …, exit code 2`.
 * - `js`, `ts`: a file where the first line names one (`// hono.ts`), else a program that is run. `ts` is type-checked, and
 *   a file of it lies there compiled too, as `tsc` would leave it: `hono.js`.
 * - `text`: a figure. Nothing is done with it.
 * - anything else, `json insight`: an example, for the reader of that name in `stages`.
 *
 * A comment before a block says what is special: `<!-- not run: needs an AWS account -->`, `<!-- keeps running on 8420 -->`
 * (its last command does, on a free port that stands for this one), `<!-- keeps running -->` (it does when it has written
 * what is shown). `stages` holds what else a document stands on: servers, addresses, further tests.
 */
import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { LONG } from "../support/length.ts";
import { documents } from "./markdown.ts";
import { stages } from "./stages/index.ts";
import { openStory, type Story, whyNotRun } from "./story.ts";

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
    const why = whyNotRun(block);
    if (why !== undefined) notRun.push(`${document.path}:${block.line}: ${why}`);
    return why === undefined;
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
      test(name, ({ skip }) => (story ? check(story) : skip("what it stands on is not here")));

    for (const block of runnable)
      step(`line ${block.line}: ${block.text.split("\n")[0]}`, async (story) => {
        if (brokeAt !== undefined) throw new Error(`not tried, since the story broke at line ${brokeAt}`);
        brokeAt = block.line;
        await story.run(block);
        brokeAt = undefined;
      });
    afterwards?.(() => story!);
    step("what something else stands for here occurs in it", ({ standIns }) => expect(standIns.unused()).toEqual([]));
  });
}

if (notRun.length > 0) process.stderr.write(`not run of the documents:\n  ${notRun.join("\n  ")}\n`);
