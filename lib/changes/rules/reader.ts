/** A caller who may not read every change. */
import type { Change } from "./change.ts";
import { sameName } from "./names.ts";

/** An agent that reads its own changes only. */
export interface Reader {
  name: string;
}

/** Returns whether a reader may see a change; without a reader every change. */
export const maySee = (reader: Reader | undefined, { proposer }: Pick<Change, "proposer">): boolean =>
  reader === undefined || (proposer !== null && sameName(proposer) === sameName(reader.name));
