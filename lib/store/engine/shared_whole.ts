/**
 * The whole of a store that many processes write to. Its mark is a record like any other: each try reads it with the first
 * records it reads, and its commit is refused when that has changed. So no write passes a mark, of whichever process.
 */
import type { Clock } from "../../kit/platform.ts";
import type { Key, Version } from "../version.ts";
import type { Whole } from "../whole.ts";
import { type Attempt, Contended, type Engine } from "./attempt.ts";
import {
  clearLoaded,
  requireMark,
  MARK_KEY,
  readMark,
  createMarkVersion,
  createMarkError,
  findActiveMark,
} from "./mark.ts";
import { type Pacing, retryContended } from "./pacing.ts";
import { countBytes } from "./write_set.ts";

/** An engine whose decisions know the mark of the store; it takes one write less in a commit. */
export function enforceMark(engine: Engine, clock: Clock): Engine {
  /** The mark's record as of a commit. */
  let known: { head: string; version: Version | undefined } | undefined;

  const begin = (last?: string): Attempt => {
    const attempt = engine.begin(last);
    let head: string | undefined;

    /** Errors: `Contended` while the store is held, which is short; `StoreUnavailable` where it is not to be written to. */
    const requireWritable = (version: Version | undefined): void => {
      const mark = findActiveMark(readMark(version), clock.now());
      const error = createMarkError(mark);
      if (error) throw mark!.state === "held" ? new Contended(error.message) : error;
    };
    const versions = async (keys: readonly Key[]): Promise<readonly (Version | undefined)[]> => {
      // Reads that began before the head was known may be older than it.
      if (head === undefined || head === known?.head) return attempt.versions(keys);
      const found = await attempt.versions([...keys, MARK_KEY]);
      const version = found[keys.length];
      requireWritable(version);
      known = { head, version };
      return found.slice(0, keys.length);
    };
    const readHead = async (): Promise<string> => {
      const now = await attempt.head;
      if (now === known?.head) requireWritable(known.version);
      return (head = now);
    };
    const checkedHead = readHead();
    return {
      head: checkedHead,
      versions,
      list: (collection, options) => attempt.list(collection, options),
      async commit(writes) {
        if ((await checkedHead) !== known?.head) await versions([]);
        const before = known!.version;
        // A holder that lost the hold notices it by the mark that is gone.
        const end = before?.json && writes.length > 0 ? { ...createMarkVersion(undefined, before), before } : undefined;
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
    retryContended(
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

  const commitChunk: Whole["commit"] = (writes, { from, to }) =>
    attempt(async (begun) => {
      const [version, ...found] = await begun.versions([MARK_KEY, ...writes]);
      requireMark(findActiveMark(readMark(version), pacing.clock.now()), from);
      const marking = { ...createMarkVersion(to, version), before: version };
      await begun.commit([...writes.map((write, index) => ({ ...write, before: found[index] })), marking]);
    });

  const whole: Whole = {
    ...reading,
    mark: () =>
      attempt(async (begun) => {
        const [version] = await begun.versions([MARK_KEY]);
        await begun.abandon();
        return findActiveMark(readMark(version), pacing.clock.now());
      }),
    async commit(writes, marking) {
      if (engine.check) writes.forEach(engine.check);
      const limits = { ...engine.most, writes: engine.most.writes - 1 };
      const chunks = splitForCommits(writes.map(stored), limits);
      for (const chunk of chunks.slice(0, -1)) await commitChunk(chunk, { from: marking.from, to: marking.from });
      await commitChunk(chunks.at(-1)!, marking);
    },
    clear: (loading) => clearLoaded(whole, loading),
  };
  return whole;
}

/** Versions in pieces that one commit takes; one piece at least. */
function splitForCommits(writes: readonly Version[], limits: Engine["most"]): Version[][] {
  const chunks: Version[][] = [[]];
  let bytes = 0;
  for (const version of writes) {
    const more = countBytes([version]);
    const chunk = chunks.at(-1)!;
    if (chunk.length > 0 && (chunk.length === limits.writes || bytes + more > limits.bytes)) {
      chunks.push([version]);
      bytes = more;
    } else {
      chunk.push(version);
      bytes += more;
    }
  }
  return chunks;
}
