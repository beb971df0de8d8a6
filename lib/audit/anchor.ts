/** Makes checkpoints while the log grows, and stores them in an anchor, where the holder of the store cannot change them. */
import type { CommitSignal } from "../kit/commit_signal.ts";
import { hasElapsed } from "../kit/age.ts";
import { runUntilStopped } from "../kit/time_limit.ts";
import { readHead } from "./chain.ts";
import { type CheckpointDeps, storeCurrentCheckpoint, readLastCheckpoint } from "./checkpoint.ts";
import { verifyAgainstAnchor } from "./verify_against_anchor.ts";
import { rebuildTree } from "./tree.ts";
import { requestCosignature, type WitnessDeps } from "./request_cosignatures.ts";

declare module "../store/store.ts" {
  interface Meta {
    anchor: AnchorState;
  }
}

const MAX_ENTRIES_BEHIND = 1024;
const MAX_BEHIND_MS = 1000;
const IDLE_MS = 60_000;
const ANCHOR_RETRY_MS = 60_000;

/** `meta/anchor`: the checkpoint that was anchored last, and the error of the last attempt. */
export interface AnchorState {
  length: number;
  note: string;
  /** The anchor's name, if it has one. */
  where?: string;
  /** Time of the last attempt. */
  at: string;
  last_error: string | null;
}

/** Runs until the signal is closed: while entries are appended, makes a checkpoint every second or every 1,024 entries. */
export async function runCheckpointLoop(
  deps: WitnessDeps,
  commits: Pick<CommitSignal, "count" | "wait" | "closed">,
): Promise<void> {
  const { witnesses = [] } = deps;
  const stopping = new AbortController();
  /** `run` resolves with true where more is due soon, and with "never" where nothing is due until the next commit. */
  const repeatUntilClosed = async (run: () => Promise<boolean | "never" | void>): Promise<void> => {
    while (!commits.closed) {
      const { count } = commits;
      const next = await run();
      const waitForCommit = () => commits.wait(count, next === true ? MAX_BEHIND_MS : IDLE_MS);
      while (!(await waitForCommit()) && next === "never");
    }
  };
  // Concurrently: an anchor or a witness takes up to ten seconds to fail, which must delay neither checkpoints nor a stop.
  await Promise.all([
    repeatUntilClosed(() => makeCheckpointIfDue(deps).then((isBehind) => (isBehind === false ? "never" : isBehind))),
    repeatUntilClosed(async () => (deps.anchor ? anchorBestEffort(deps, stopping.signal) : "never")),
    ...witnesses.map((witness) => repeatUntilClosed(() => requestCosignature(deps, witness, stopping.signal))),
    repeatUntilClosed(async () => "never" as const).then(() => stopping.abort()),
  ]);
}

/**
 * Makes a checkpoint when one is due, anchors the newest and has it cosigned. Never rejects: a failure is logged and tried again
 * by the next call.
 */
export async function maintainCheckpoint(deps: WitnessDeps): Promise<void> {
  await makeCheckpointIfDue(deps);
  await Promise.all([
    anchorBestEffort(deps),
    ...(deps.witnesses ?? []).map((witness) => requestCosignature(deps, witness)),
  ]);
}

/** Makes a checkpoint if one is due; returns true while the log is ahead of its checkpoint and none is due yet. */
const makeCheckpointIfDue = (deps: CheckpointDeps): Promise<boolean | void> =>
  warnOnFailure(deps.log, "no checkpoint could be made", async () => {
    const { store, clock, integrity } = deps;
    const log = await readHead(store);
    if (!log || integrity.breach) return false;
    if (integrity.isTreeIncomplete) await deps.mutex("checkpoint", () => rebuildTree(deps));
    delete integrity.isTreeIncomplete;
    const last = await readLastCheckpoint({ store });
    const behind = log.length - (last?.length ?? 0);
    const isDue = !last || behind >= MAX_ENTRIES_BEHIND || hasElapsed(last.at, MAX_BEHIND_MS, clock.now());
    if (behind !== 0 && isDue) await storeCurrentCheckpoint(deps);
    return behind !== 0 && !isDue;
  });

const anchorBestEffort = (deps: CheckpointDeps, stopping?: AbortSignal): Promise<void> =>
  warnOnFailure(deps.log, "the anchor was not looked after", () =>
    deps.mutex("anchor", () => anchorNewest(deps, stopping)),
  );

const warnOnFailure = <T>(log: CheckpointDeps["log"], failure: string, run: () => Promise<T>): Promise<T | void> =>
  run().catch((error: unknown) => log.warn(failure, { error: String(error) }));

async function anchorNewest(deps: CheckpointDeps, stopping?: AbortSignal): Promise<void> {
  const { store, clock, log, anchor, integrity } = deps;
  if (!anchor) return;
  const now = clock.now();
  const previous = (await store.get("meta", "anchor"))?.value ?? { length: 0, note: "", at: "", last_error: null };
  const isRetryDue = hasElapsed(previous.at, ANCHOR_RETRY_MS, now);
  // After a failure the anchor may hold something else than was stored there.
  const problemSince = integrity.anchor?.at;
  const mustVerify =
    previous.last_error !== null
      ? isRetryDue
      : problemSince !== undefined && hasElapsed(problemSince, ANCHOR_RETRY_MS, now);
  if (mustVerify) await verifyAgainstAnchor(deps);
  if (integrity.anchor?.lost) return;
  // A log that was set back has an old checkpoint: anchored after the newest, it would hide that.
  const checkpoint = !integrity.breach && (await readLastCheckpoint({ store }));
  if (!checkpoint) return;
  const { note, length } = checkpoint;
  const isNothingDue = previous.last_error === null ? previous.note === note : !isRetryDue;
  if (isNothingDue) return;
  const at = new Date(now).toISOString();
  const problem = await runUntilStopped(stopping, (signal) => anchor.append(note, signal)).then(() => null, messageOf);
  // A stop is no failure: the next start tries again immediately.
  if (problem !== null && stopping?.aborted) return;
  if (problem !== null) log.warn("the checkpoint could not be anchored; it is tried again", { length, error: problem });
  const next: AnchorState =
    problem === null
      ? { length, note, ...(anchor.name !== undefined && { where: anchor.name }), at, last_error: null }
      : { ...previous, at, last_error: problem };
  await store.transact((tx) => tx.put("meta", "anchor", next));
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
