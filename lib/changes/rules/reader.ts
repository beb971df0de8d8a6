/** Restricts which changes a caller may read. */
import type { Change } from "./change.ts";
import { normalizeName } from "./names.ts";

/** An agent that reads only its own changes, and those whose samples it feeds. */
export interface RestrictedReader {
  name: string;
}

/** Returns true if a reader may read a change: its own, or one whose samples it feeds. Without a reader, every change. */
export const canRead = (
  reader: RestrictedReader | undefined,
  { proposer, stages }: Pick<Change, "proposer" | "stages">,
): boolean =>
  reader === undefined ||
  [proposer, stages?.fed_by].some(
    (name) => typeof name === "string" && normalizeName(name) === normalizeName(reader.name),
  );
