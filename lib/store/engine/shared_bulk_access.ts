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

/** Wraps an engine so that its commits obey the move state; one write of each commit is reserved for the move state. */
export function enforceMoveState(engine: Engine, clock: Clock): Engine {
  /** Record of the move state at the commit `head`. */
  let lastRead: { head: string; version: Version | undefined } | undefined;

  const begin = (lastCommit?: string): Attempt => {
    const attempt = engine.begin(lastCommit);
    let head: string | undefined;

    /** Errors: `Contended` during a hold, which is short; `StoreUnavailable` if the store must not be written to. */
    const requireWritable = (version: Version | undefined): void => {
      const state = findActiveMoveState(readMoveState(version), clock.now());
      const error = createMoveStateError(state);
      if (error) throw state!.state === "held" ? new Contended(error.message) : error;
    };
    const versions = async (keys: readonly Key[]): Promise<readonly (Version | undefined)[]> => {
      // Before the head is known, a read may return records of an earlier commit.
      if (head === undefined || head === lastRead?.head) return attempt.versions(keys);
      const found = await attempt.versions([...keys, MOVE_STATE_KEY]);
      const version = found[keys.length];
      requireWritable(version);
      lastRead = { head, version };
      return found.slice(0, keys.length);
    };
    const readHead = async (): Promise<string> => {
      const currentHead = await attempt.head;
      if (currentHead === lastRead?.head) requireWritable(lastRead.version);
      return (head = currentHead);
    };
    const checkedHead = readHead();
    return {
      head: checkedHead,
      versions,
      list: (collection, options) => attempt.list(collection, options),
      async commit(writes) {
        if ((await checkedHead) !== lastRead?.head) await versions([]);
        const before = lastRead!.version;
        // Only an expired hold can be left here. Its deletion shows its holder that the store was written to.
        const deletion =
          before?.json && writes.length > 0 ? { ...createMoveStateVersion(undefined, before), before } : undefined;
        const newHead = await attempt.commit(deletion ? [...writes, deletion] : writes);
        lastRead = { head: newHead, version: deletion ?? before };
        return newHead;
      },
      abandon: () => attempt.abandon(),
    };
  };
  return { ...engine, begin, limits: { ...engine.limits, writes: engine.limits.writes - 1 } };
}

/** Creates bulk access over an engine that ignores the move state. `stored` converts a version to the form that the engine stores. */
export function sharedBulkAccess(
  engine: Engine,
  pacing: Pacing,
  {
    stored = (version) => version,
    ...dumping
  }: Pick<BulkAccess, "dump" | "atOneMoment"> & { stored?: (version: Version) => Version },
): BulkAccess {
  const runAttempt = <T>(work: (attempt: Attempt) => Promise<T>): Promise<T> =>
    retryContended(
      async () => {
        const attempt = engine.begin();
        try {
          await attempt.head;
          return await work(attempt);
        } catch (error) {
          await attempt.abandon();
          throw error;
        }
      },
      pacing,
      engine.maxTries,
    );

  const commitChunk: BulkAccess["commit"] = (writes, { from, to }) =>
    runAttempt(async (attempt) => {
      const [version, ...found] = await attempt.versions([MOVE_STATE_KEY, ...writes]);
      requireMoveState(findActiveMoveState(readMoveState(version), pacing.clock.now()), from);
      const change = { ...createMoveStateVersion(to, version), before: version };
      await attempt.commit([...writes.map((write, index) => ({ ...write, before: found[index] })), change]);
    });

  const bulk: BulkAccess = {
    ...dumping,
    moveState: () =>
      runAttempt(async (attempt) => {
        const [version] = await attempt.versions([MOVE_STATE_KEY]);
        await attempt.abandon();
        return findActiveMoveState(readMoveState(version), pacing.clock.now());
      }),
    async commit(writes, change) {
      if (engine.check) writes.forEach(engine.check);
      const limits = { ...engine.limits, writes: engine.limits.writes - 1 };
      const chunks = splitForCommits(writes.map(stored), limits);
      // Only the last commit changes the move state.
      for (const chunk of chunks.slice(0, -1)) await commitChunk(chunk, { from: change.from, to: change.from });
      await commitChunk(chunks.at(-1)!, change);
    },
    clear: (loading) => clearLoaded(bulk, loading),
  };
  return bulk;
}

/** Splits versions into chunks that each fit in one commit; returns at least one chunk. */
function splitForCommits(writes: readonly Version[], limits: Engine["limits"]): Version[][] {
  const chunks: Version[][] = [[]];
  let bytes = 0;
  for (const version of writes) {
    const versionBytes = countBytes([version]);
    const chunk = chunks.at(-1)!;
    const isFull = chunk.length === limits.writes || bytes + versionBytes > limits.bytes;
    if (chunk.length > 0 && isFull) {
      chunks.push([version]);
      bytes = versionBytes;
    } else {
      chunk.push(version);
      bytes += versionBytes;
    }
  }
  return chunks;
}
