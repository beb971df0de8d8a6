/** Saved questions are suggested for a text if their titles share a word with it, whatever the text asks about that word. */
import { expect, test } from "vitest";
import { findSimilarQuestions } from "../../../lib/find/saved_questions.ts";

test.each([
  // Titles: "My proposals", "Proposed by agents".
  ["What did I propose?", ["my-proposals", "by-agents"]],
  ["Which high risk changes are still open?", ["high-risk"]],
  ["哪些变更被拒绝了？", ["denied"]],
  // "changes" is a filler word, and no title contains "price".
  ["changes of the price", []],
  ["which changes have no reason", ["no-reason"]],
  // Titles: "Approved and not applied", "Approved automatically".
  ["who approved the trial?", ["ready-to-apply", "automatic"]],
])("%s suggests the saved questions %j", (text, ids) =>
  expect(findSimilarQuestions(text).map(({ id }) => id)).toEqual(ids),
);
