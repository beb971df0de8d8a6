/**
 * The whole of a store that many processes write to. Its mark is a record like any other: each try reads it with the first
 * records it reads, and its commit is refused when that has changed. So no write passes a mark, of whichever process.
 */
import type { Clock } from "../../kit/platform.ts";
import type { Key, Version } from "../version.ts";
import type { Whole } from "../whole.ts";
import { type Attempt, Contended, type Engine } from "./attempt.ts";
import { clearLoaded, expectMark, MARK_KEY, readMark, markVersion, markError, standing } from "./mark.ts";
import { type Pacing, withRetries } from "./pacing.ts";
import { countBytes } from "./write_set.ts";

/** An engine whose decisions know the mark of the store; it takes one write less in a commit. */
export function enforceMark(engine: Engine, clock: Clock): Engine {
  /** The mark's record as of a commit. */
  let known: { head: string; version: Version | undefined } | undefined;

  const begin = (last?: string): Attempt => {
    const attempt = engine.begin(last);
    let head: string | undefined;

    /** Errors: `Contended` while the store is held, which is short; `StoreUnavailable` where it is not to be written to. */
    const heed = (version: Version | undefined): void => {
      const mark = standing(readMark(version), clock.now());
      const refusal = markError(mark);
      if (refusal) throw mark!.state === "held" ? new Contended(refusal.message) : refusal;
    };
    const versions = async (keys: readonly Key[]): Promise<readonly (Version | undefined)[]> => {
      // Reads that began before the head was known may be older than it.
      if (head === undefined || head === known?.head) return attempt.versions(keys);
      const found = await attempt.versions([...keys, MARK_KEY]);
      const version = found[keys.length];
      heed(version);
      known = { head, version };
      return found.slice(0, keys.length);
    };
    const readHead = async (): Promise<string> => {
      const now = await attempt.head;
      if (now === known?.head) heed(known.version);
      return (head = now);
    };
    const telling = readHead();
    return {
      head: telling,
      versions,
      list: (collection, options) => attempt.list(collection, options),
      async commit(writes) {
        if ((await telling) !== known?.head) await versions([]);
        const before = known!.version;
        // A holder that lost the hold notices it by the mark that is gone.
        const end = before?.json && writes.length > 0 ? { ...markVersion(undefined, before), before } : undefined;
        const next = await attempt.commit(end ? [...writes, end] : writes);
        known = { head: next, version: end ?? before };
        return next;
      },
      abandon: () => attempt.abandon(),
    };
  };
  return { ...engine, begin, most: { ...engine.most, writes: engine.most.writes - 1 } };
}

/** The whole over an engine that does not heed the mark; `stored` is a version as the engine keeps one that tells of no id. */
export function sharedWhole(
  engine: Engine,
  pacing: Pacing,
  {
    stored = (version) => version,
    ...reading
  }: Pick<Whole, "dump" | "atOneMoment"> & { stored?: (version: Version) => Version },
): Whole {
  const attempt = <T>(work: (attempt: Attempt) => Promise<T>): Promise<T> =>
    withRetries(
      async () => {
        const begun = engine.begin();
        try {
          await begun.head;
          return await work(begun);
        } catch (error) {
          await begun.abandon();
          throw error;
        }
      },
      pacing,
      engine.tries,
    );

  const commitPiece: Whole["commit"] = (writes, { from, to }) =>
    attempt(async (begun) => {
      const [version, ...found] = await begun.versions([MARK_KEY, ...writes]);
      expectMark(standing(readMark(version), pacing.clock.now()), from);
      const marking = { ...markVersion(to, version), before: version };
      await begun.commit([...writes.map((write, index) => ({ ...write, before: found[index] })), marking]);
    });

  const whole: Whole = {
    ...reading,
    mark: () =>
      attempt(async (begun) => {
        const [version] = await begun.versions([MARK_KEY]);
        await begun.abandon();
        return standing(readMark(version), pacing.clock.now());
      }),
    async commit(writes, marking) {
      if (engine.check) writes.forEach(engine.check);
      const most = { ...engine.most, writes: engine.most.writes - 1 };
      const pieces = inPieces(writes.map(stored), most);
      for (const piece of pieces.slice(0, -1)) await commitPiece(piece, { from: marking.from, to: marking.from });
      await commitPiece(pieces.at(-1)!, marking);
    },
    clear: (loading) => clearLoaded(whole, loading),
  };
  return whole;
}

/** Versions in pieces that one commit takes; one piece at least. */
function inPieces(writes: readonly Version[], most: Engine["most"]): Version[][] {
  const pieces: Version[][] = [[]];
  let bytes = 0;
  for (const version of writes) {
    const more = countBytes([version]);
    const piece = pieces.at(-1)!;
    if (piece.length > 0 && (piece.length === most.writes || bytes + more > most.bytes)) {
      pieces.push([version]);
      bytes = more;
    } else {
      piece.push(version);
      bytes += more;
    }
  }
  return pieces;
}
