import { expect, test } from "vitest";
import { countEntries } from "../../../lib/chat/topic_answers.ts";

test("one entry of the log is counted in the singular", () => {
  expect([0, 1, 2].map(countEntries)).toEqual(["0 entries", "1 entry", "2 entries"]);
});
