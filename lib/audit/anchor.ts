/** Makes checkpoints while the log grows, and stores them in an anchor, which an attacker on the store cannot change. */
import type { CommitSignal } from "../kit/commit_signal.ts";
import { hasElapsed } from "../kit/age.ts";
import { runUntilStopped } from "../kit/time_limit.ts";
import { readHead } from "./chain.ts";
import { type CheckpointDeps, storeCurrentCheckpoint, readLastCheckpoint } from "./checkpoint.ts";
import { verifyAgainstAnchor } from "./verify_against_anchor.ts";
import { rebuildTree } from "./tree.ts";
import { requestCosignature, type WitnessDeps } from "./request_cosignatures.ts";
import type { Witness } from "./witness.ts";

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
  /** Text of the checkpoint. */
  note: string;
  /** The anchor's name, if it has one. */
  where?: string;
  /** Time of the last attempt. */
  at: string;
  last_error: string | null;
}

/** When a step runs again: at the next commit; without one after a second (`soon`), a minute (`later`) or never (`at_commit`). */
type NextRun = "soon" | "later" | "at_commit";

/** Runs until the signal is closed: while entries are appended, makes a checkpoint every second or every 1,024 entries. */
export async function runCheckpointLoop(
  deps: WitnessDeps,
  commits: Pick<CommitSignal, "count" | "wait" | "closed">,
): Promise<void> {
  const { witnesses = [] } = deps;
  const stopping = new AbortController();
  const repeatUntilClosed = async (run: () => Promise<NextRun>): Promise<void> => {
    while (!commits.closed) {
      // Read before the run, so that a commit during it ends the wait immediately.
      const { count } = commits;
      const nextRun = await run();
      const maxWaitMs = nextRun === "soon" ? MAX_BEHIND_MS : IDLE_MS;
      let isCommitted = await commits.wait(count, maxWaitMs);
      while (!isCommitted && nextRun === "at_commit") isCommitted = await commits.wait(count, maxWaitMs);
    }
  };
  const makeCheckpoint = async (): Promise<NextRun> => {
    const isBehind = await makeCheckpointIfDue(deps);
    // Undefined after a failure, which was logged.
    if (isBehind === undefined) return "later";
    return isBehind ? "soon" : "at_commit";
  };
  const updateAnchor = async (): Promise<NextRun> => {
    if (!deps.anchor) return "at_commit";
    await anchorBestEffort(deps, stopping.signal);
    return "later";
  };
  const askWitness = async (witness: Witness): Promise<NextRun> =>
    (await requestCosignature(deps, witness, stopping.signal)) ? "soon" : "later";
  const waitUntilClosed = (): Promise<void> => repeatUntilClosed(async () => "at_commit");
  // Concurrently: an anchor or a witness takes up to ten seconds to fail, which must delay neither checkpoints nor a stop.
  await Promise.all([
    repeatUntilClosed(makeCheckpoint),
    repeatUntilClosed(updateAnchor),
    ...witnesses.map((witness) => repeatUntilClosed(() => askWitness(witness))),
    waitUntilClosed().then(() => stopping.abort()),
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

/** Makes a checkpoint if one is due; true if the log is ahead of its checkpoint and none is due yet, undefined after a failure. */
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
  warnOnFailure(deps.log, "the anchor could not be updated", () =>
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
  const problemSince = integrity.anchor?.at;
  const isProblemRecheckDue = problemSince !== undefined && hasElapsed(problemSince, ANCHOR_RETRY_MS, now);
  // After a failed append the content of the anchor is unknown, so it is verified before the retry.
  const mustVerify = previous.last_error === null ? isProblemRecheckDue : isRetryDue;
  if (mustVerify) await verifyAgainstAnchor(deps);
  if (integrity.anchor?.lost) return;
  // A broken log is not anchored: if it was set back, its older checkpoint at the end of the anchor would hide that.
  const checkpoint = !integrity.breach && (await readLastCheckpoint({ store }));
  if (!checkpoint) return;
  const { note, length } = checkpoint;
  const isNothingDue = previous.last_error === null ? previous.note === note : !isRetryDue;
  if (isNothingDue) return;
  const at = new Date(now).toISOString();
  const appended = runUntilStopped(stopping, (signal) => anchor.append(note, signal));
  const problem = await appended.then(() => null, errorMessage);
  // A stop is no failure: the next start tries again immediately.
  if (problem !== null && stopping?.aborted) return;
  if (problem !== null) log.warn("the checkpoint could not be anchored; it is tried again", { length, error: problem });
  const next: AnchorState =
    problem === null
      ? { length, note, ...(anchor.name !== undefined && { where: anchor.name }), at, last_error: null }
      : { ...previous, at, last_error: problem };
  await store.transact((tx) => tx.put("meta", "anchor", next));
}

const errorMessage = (error: unknown): string => (error instanceof Error ? error.message : String(error));
