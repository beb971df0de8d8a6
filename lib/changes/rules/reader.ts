/** A caller who may not read every change. */
import type { Change } from "./change.ts";
import { normalizeName } from "./names.ts";

/** An agent that reads its own changes only. */
export interface Reader {
  name: string;
}

/** Returns whether a reader may see a change: its own, and one whose samples it feeds; without a reader every change. */
export const canRead = (
  reader: Reader | undefined,
  { proposer, stages }: Pick<Change, "proposer" | "stages">,
): boolean =>
  reader === undefined ||
  [proposer, stages?.fed_by].some(
    (name) => typeof name === "string" && normalizeName(name) === normalizeName(reader.name),
  );
