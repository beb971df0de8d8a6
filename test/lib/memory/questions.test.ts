/** Messages that consist of questions only are distinguished from statements. */
import { expect, test } from "vitest";
import { hasOnlyQuestions } from "../../../lib/memory/questions.ts";

test.each([
  ["Why was it denied?", true],
  ["and, please, why was it denied", true],
  ["May I approve ui.banner?", true],
  ["may I approve ui.banner", true],
  ["Why was limits.retries changed? And who did it?", true],
  ["被拒绝了吗", true], // Was it denied?
  ["被拒绝了吗 。", true], // a full stop instead of a question mark
  ["被拒绝了吗……  ", true],
  ["为什么被拒绝", true], // Why was it denied
  ["谁批准了？为什么？", true], // Who approved? Why?
  ["吗是语气词", false], // The question particle is a particle of mood.
  ["Why was it denied? It was too loud.", false],
  ["Is it late? I think that it is.", false],
  ["The launch is on Friday", false],
  ["It was denied", false],
  ["ui.banner is late", false],
  ["被拒绝了。", false], // It was denied.
  ["斑马项目周五上线", false], // Project Zebra launches on Friday
])("%s consists of questions only: %s", (message, expected) => {
  expect(hasOnlyQuestions(message)).toBe(expected);
});

test("parsing time grows linearly with the number of marks", () => {
  const start = performance.now();
  for (const mark of [", ", "吗,", "? ", "and, "]) expect(hasOnlyQuestions(`${mark.repeat(50_000)}a`)).toBe(false);
  // Far above the measured time, and far below the time of a search that is quadratic in the number of marks.
  expect(performance.now() - start).toBeLessThan(10_000);
});
