/** README and the manual, run as they stand: every command, program and example in them, in their order. */
import { existsSync } from "node:fs";
import { delimiter, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { documents } from "./markdown.ts";
import { stages } from "./stages/index.ts";
import { openStory, type Story, whyNotRun } from "./story.ts";

const isOnPath = (program: string): boolean =>
  process.env["PATH"]!.split(delimiter).some((folder) => existsSync(join(folder, program)));

const notRun: string[] = [];

for (const document of documents()) {
  const { needs = ["curl"], stage: makeStage, afterwards } = stages[document.path] ?? {};
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
