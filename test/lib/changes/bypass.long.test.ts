/** An adversary with the credentials of the target system edits managed values: 1,000 edits of 400 values in the full run. */
import { test } from "vitest";
import { checkEditsAreRestored, openFileTarget } from "../../support/edits_are_restored.ts";
import { rounds } from "../../support/run_length.ts";

const [targetCount, editCount] = rounds<[number, number]>([20, 60], [40, 120], [400, 1000]);

test("each edit of an adversary is reported, and restored by the next cycle", () =>
  checkEditsAreRestored({ targets: targetCount, edits: editCount, seed: 11 }, openFileTarget));
