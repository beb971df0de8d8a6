/** An adversary with the credentials of the target system: 1,000 edits over 400 places. */
import { test } from "vitest";
import { fightEdits } from "../../support/bypass.ts";

test("each of 1,000 edits over 400 places is reported, and restored by the next cycle", () =>
  fightEdits({ places: 400, edits: 1000, seed: 11 }));
