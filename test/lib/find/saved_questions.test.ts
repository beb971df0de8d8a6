import { expect, test } from "vitest";
import { findSimilarQuestions } from "../../../lib/find/saved_questions.ts";

test.each([
  ["What did I propose?", ["my-proposals", "by-agents"]],
  ["Which high risk changes are still open?", ["high-risk"]],
  ["哪些变更被拒绝了？", ["denied"]],
  ["changes of the price", []],
  ["which changes have no reason", ["no-reason"]],
  ["who approved the trial?", ["ready-to-apply", "automatic"]],
])("%s suggests the saved questions %j", (text, ids) =>
  expect(findSimilarQuestions(text).map(({ id }) => id)).toEqual(ids),
);
