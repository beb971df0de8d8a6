/** The mark of a store as a record, what it refuses, and the one copy of all that a mark needs to be moved by. */
import { systemClock } from "../../kit/platform.ts";
import { json } from "../json.ts";
import { StoreBusy, StoreMoved, StoreUnavailable } from "../store.ts";
import type { Key, Version } from "../version.ts";
import { describeMark, type Loading, type Mark, MarkChanged, type Whole } from "../whole.ts";

/** Key of the mark: no record of the service can be there. */
export const MARK_KEY: Key = { collection: "", id: "mark" };

/** The mark in a version of its record. */
export const readMark = (version: Version | undefined): Mark | undefined => version?.json?.value as Mark | undefined;

/** The record of a mark, after the one that was there. */
export const createMarkVersion = (mark: Mark | undefined, before: Version | undefined): Version => ({
  ...MARK_KEY,
  revision: (before?.revision ?? 0) + 1,
  json: mark && json(mark),
});

/** The mark that is valid at a moment: a hold expires, since its holder may be gone. */
export const findActiveMark = (mark: Mark | undefined, now: number): Mark | undefined =>
  mark?.state === "held" && Date.parse(mark.until) <= now ? undefined : mark;

/** Returns whether both are of one move, and say the same. */
export const isSame = (a: Mark | undefined, b: Mark | undefined): boolean =>
  a?.state === b?.state && a?.move === b?.move;

/** Errors: `MarkChanged`. */
export function requireMark(found: Mark | undefined, expected: Mark | undefined): void {
  if (!isSame(found, expected)) throw new MarkChanged(found, expected);
}

/** Returns the error of a decision on a store with this mark. */
export function createMarkError(mark: Mark | undefined): StoreBusy | StoreUnavailable | undefined {
  switch (mark?.state) {
    case "held":
      return new StoreBusy(`the store is being copied, until ${mark.until} at the latest`);
    case "moving":
    case "moved": {
      const to = isAddress(mark.to) ? mark.to : "another store";
      const explanation =
        mark.state === "moved"
          ? `it moved to ${to} at ${mark.at}, where its log goes on; it is read-only for good`
          : `it is being moved to ${to} since ${mark.at}; it is read-only until the move is given up: countersign unfence`;
      return new StoreMoved(`the store takes no writes: ${describeMark(mark)}`, { shown: explanation });
    }
    case "loading": {
      const shown = "a move into it has not ended";
      return new StoreUnavailable(`${shown} (from ${mark.from}, since ${mark.at}); give the same command again`, {
        shown,
      });
    }
    default:
      return undefined;
  }
}

/** Returns whether a destination is a database, whose address contains no path of this machine. */
const isAddress = (to: string): boolean => /^[a-z]+:\/\//.test(to);

/**
 * Deletes all records that were loaded, page by page, and the mark in the end. First the mark becomes one of its own: a
 * concurrent load or clear loses its hold, and writes nothing between the deletions. Errors: `MarkChanged`.
 */
export async function clearLoaded({ dump, commit }: Pick<Whole, "dump" | "commit">, loading: Loading): Promise<void> {
  const move = crypto.randomUUID();
  const createOwnMark = (): Loading => ({ ...loading, move, at: new Date(systemClock.now()).toISOString() });
  const from = createOwnMark();
  await commit([], { from: loading, to: from });
  for await (const page of dump()) {
    const live = page.filter(({ json: value }) => value);
    await commit(
      live.map((version) => ({ ...version, json: undefined })),
      { from, to: createOwnMark() },
    );
  }
  await commit([], { from, to: undefined });
}
