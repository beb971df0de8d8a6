/** What a change replaced, as the log tells it: what a rollback puts back is held against that. */
import type { ReplacedDigest } from "./adapters/port.ts";
import { consulting } from "./evidence.ts";
import { foldOf } from "./history.ts";
import type { Reading } from "./reading.ts";

/** Asks the log alone: a record that was edited tells nothing of it. */
export const replacedDigest =
  (deps: Reading): ReplacedDigest =>
  (changeId) =>
    consulting(deps, async (evidence) => foldOf(await evidence.about(changeId, 1))?.applied?.previous_digest);
