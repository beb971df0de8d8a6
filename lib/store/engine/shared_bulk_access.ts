/**
 * Bulk access to a store that many processes write to. The move state is a record like any other: each attempt reads it with
 * its first records, and its commit is rejected if that record has changed. So no process writes past a move state.
 */
import type { Clock } from "../../kit/platform.ts";
import type { Key, Version } from "../version.ts";
import type { BulkAccess } from "../bulk_access.ts";
import { type Attempt, Contended, type Engine } from "./attempt.ts";
import {
  clearLoaded,
  requireMoveState,
  MOVE_STATE_KEY,
  readMoveState,
  createMoveStateVersion,
  createMoveStateError,
  findActiveMoveState,
} from "./move_state.ts";
import { type Pacing, retryContended } from "./pacing.ts";
import { countBytes } from "./write_set.ts";

/** Wraps an engine so that its commits obey the move state; a commit takes one write less. */
export function enforceMoveState(engine: Engine, clock: Clock): Engine {
  /** Record of the move state at the commit `head`. */
  let known: { head: string; version: Version | undefined } | undefined;

  const begin = (last?: string): Attempt => {
    const attempt = engine.begin(last);
    let head: string | undefined;

    /** Errors: `Contended` during a hold, which is short; `StoreUnavailable` where the store must not be written to. */
    const requireWritable = (version: Version | undefined): void => {
      const state = findActiveMoveState(readMoveState(version), clock.now());
      const error = createMoveStateError(state);
      if (error) throw state!.state === "held" ? new Contended(error.message) : error;
    };
    const versions = async (keys: readonly Key[]): Promise<readonly (Version | undefined)[]> => {
      // Reads that began before the head was known may be older than it.
      if (head === undefined || head === known?.head) return attempt.versions(keys);
      const found = await attempt.versions([...keys, MOVE_STATE_KEY]);
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
        // The holder of an expired hold notices the loss, since its move state is gone.
        const end =
          before?.json && writes.length > 0 ? { ...createMoveStateVersion(undefined, before), before } : undefined;
        const next = await attempt.commit(end ? [...writes, end] : writes);
        known = { head: next, version: end ?? before };
        return next;
      },
      abandon: () => attempt.abandon(),
    };
  };
  return { ...engine, begin, most: { ...engine.most, writes: engine.most.writes - 1 } };
}

/** Makes bulk access over an engine that ignores the move state. `stored` returns a version as the engine stores it. */
export function sharedBulkAccess(
  engine: Engine,
  pacing: Pacing,
  {
    stored = (version) => version,
    ...reading
  }: Pick<BulkAccess, "dump" | "atOneMoment"> & { stored?: (version: Version) => Version },
): BulkAccess {
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

  const commitChunk: BulkAccess["commit"] = (writes, { from, to }) =>
    attempt(async (begun) => {
      const [version, ...found] = await begun.versions([MOVE_STATE_KEY, ...writes]);
      requireMoveState(findActiveMoveState(readMoveState(version), pacing.clock.now()), from);
      const change = { ...createMoveStateVersion(to, version), before: version };
      await begun.commit([...writes.map((write, index) => ({ ...write, before: found[index] })), change]);
    });

  const bulk: BulkAccess = {
    ...reading,
    moveState: () =>
      attempt(async (begun) => {
        const [version] = await begun.versions([MOVE_STATE_KEY]);
        await begun.abandon();
        return findActiveMoveState(readMoveState(version), pacing.clock.now());
      }),
    async commit(writes, change) {
      if (engine.check) writes.forEach(engine.check);
      const limits = { ...engine.most, writes: engine.most.writes - 1 };
      const chunks = splitForCommits(writes.map(stored), limits);
      for (const chunk of chunks.slice(0, -1)) await commitChunk(chunk, { from: change.from, to: change.from });
      await commitChunk(chunks.at(-1)!, change);
    },
    clear: (loading) => clearLoaded(bulk, loading),
  };
  return bulk;
}

/** Splits versions into chunks that fit in one commit; returns one chunk at least. */
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
