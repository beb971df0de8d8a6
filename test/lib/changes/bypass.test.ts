/** An adversary with the credentials of the target system edits managed places; the form with 1,000 edits is in bypass.long.test.ts. */
import { test } from "vitest";
import { fightEdits, openFile } from "../../support/bypass.ts";

test("each of 60 edits over 20 places is reported, and restored by the next cycle", () =>
  fightEdits({ targets: 20, edits: 60, seed: 7 }, openFile));
