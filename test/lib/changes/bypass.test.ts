/** An adversary with the credentials of the target system edits managed values; bypass.long.test.ts makes up to 1,000 edits. */
import { test } from "vitest";
import { checkEditsAreRestored, openFileTarget } from "../../support/edits_are_restored.ts";

test("each of 60 edits of 20 values is reported, and restored by the next cycle", () =>
  checkEditsAreRestored({ targets: 20, edits: 60, seed: 7 }, openFileTarget));
