/** Keeps checkpoints coming, and keeps them where the holder of the store cannot change them. */
import type { CommitSignal } from "../kit/commit_signal.ts";
import { hasElapsed } from "../kit/age.ts";
import { runUntilStopped } from "../kit/time_limit.ts";
import { readHead } from "./chain.ts";
import { type CheckpointDeps, currentCheckpoint, lastCheckpoint } from "./checkpoint.ts";
import { holdAgainstAnchor } from "./hold_against_anchor.ts";
import { regrowTree } from "./tree.ts";
import { askWitness, type WitnessDeps } from "./witnessing.ts";

declare module "../store/store.ts" {
  interface Meta {
    anchor: Anchored;
  }
}

const MOST_BEHIND = 1024;
const LONGEST_BEHIND_MS = 1000;
const IDLE_MS = 60_000;
const ANCHOR_AGAIN_MS = 60_000;

/** `meta/anchor`: what was anchored last, and why the newest could not be. */
export interface Anchored {
  length: number;
  note: string;
  /** The anchor's name, if it has one. */
  where?: string;
  /** When the anchor was last tried. */
  at: string;
  last_error: string | null;
}

/** Runs until the signal is closed: while entries come, a checkpoint every second, or every 1,024 of them. */
export async function keepCheckpoints(
  deps: WitnessDeps,
  commits: Pick<CommitSignal, "count" | "wait" | "closed">,
): Promise<void> {
  const { witnesses = [] } = deps;
  const stopping = new AbortController();
  /** `run` tells whether there is more to do soon; "never": not before somebody commits. */
  const whileOpen = async (run: () => Promise<boolean | "never" | void>): Promise<void> => {
    while (!commits.closed) {
      const { count } = commits;
      const next = await run();
      const isMoved = () => commits.wait(count, next === true ? LONGEST_BEHIND_MS : IDLE_MS);
      while (!(await isMoved()) && next === "never");
    }
  };
  // Side by side: an anchor, or a witness, takes up to ten seconds to fail. Checkpoints must not fall behind meanwhile, nor a
  // stop wait.
  await Promise.all([
    whileOpen(() => makeWhenDue(deps).then((isBehind) => (isBehind === false ? "never" : isBehind))),
    whileOpen(async () => (deps.anchor ? tryAnchor(deps, stopping.signal) : "never")),
    ...witnesses.map((witness) => whileOpen(() => askWitness(deps, witness, stopping.signal))),
    whileOpen(async () => "never" as const).then(() => stopping.abort()),
  ]);
}

/**
 * Makes a checkpoint when one is due, anchors the newest and has it cosigned. It never rejects: what fails is logged and tried
 * again the next time.
 */
export async function maintainCheckpoint(deps: WitnessDeps): Promise<void> {
  await makeWhenDue(deps);
  await Promise.all([tryAnchor(deps), ...(deps.witnesses ?? []).map((witness) => askWitness(deps, witness))]);
}

/** Returns true while the log is ahead of its checkpoint and none is due yet. */
const makeWhenDue = (deps: CheckpointDeps): Promise<boolean | void> =>
  tried(deps.log, "no checkpoint could be made", async () => {
    const { store, clock, integrity } = deps;
    const log = await readHead(store);
    if (!log || integrity.breach) return false;
    if (integrity.isTreeIncomplete) await deps.mutex("checkpoint", () => regrowTree(deps));
    delete integrity.isTreeIncomplete;
    const last = await lastCheckpoint({ store });
    const behind = log.length - (last?.length ?? 0);
    const isDue = !last || behind >= MOST_BEHIND || hasElapsed(last.at, LONGEST_BEHIND_MS, clock.now());
    if (behind !== 0 && isDue) await currentCheckpoint(deps);
    return behind !== 0 && !isDue;
  });

const tryAnchor = (deps: CheckpointDeps, stopping?: AbortSignal): Promise<void> =>
  tried(deps.log, "the anchor was not looked after", () => deps.mutex("anchor", () => anchorNewest(deps, stopping)));

const tried = <T>(log: CheckpointDeps["log"], failure: string, run: () => Promise<T>): Promise<T | void> =>
  run().catch((error: unknown) => log.warn(failure, { error: String(error) }));

async function anchorNewest(deps: CheckpointDeps, stopping?: AbortSignal): Promise<void> {
  const { store, clock, log, anchor, integrity } = deps;
  if (!anchor) return;
  const now = clock.now();
  const before = (await store.get("meta", "anchor"))?.value ?? { length: 0, note: "", at: "", last_error: null };
  const again = hasElapsed(before.at, ANCHOR_AGAIN_MS, now);
  // Whatever failed may have replaced what was kept.
  const found = integrity.anchor?.at;
  const isUnsure = before.last_error !== null ? again : found !== undefined && hasElapsed(found, ANCHOR_AGAIN_MS, now);
  if (isUnsure) await holdAgainstAnchor(deps);
  if (integrity.anchor?.lost) return;
  // The last checkpoint of a log that was set back is an old one: behind the newest it would hide what was done.
  const checkpoint = !integrity.breach && (await lastCheckpoint({ store }));
  if (!checkpoint) return;
  const { note, length } = checkpoint;
  const waits = before.last_error === null ? before.note === note : !again;
  if (waits) return;
  const at = new Date(now).toISOString();
  const problem = await runUntilStopped(stopping, (signal) => anchor.keep(note, signal)).then(() => null, messageOf);
  // Given up, not failed: the next start tries it at once.
  if (problem !== null && stopping?.aborted) return;
  if (problem !== null) log.warn("the checkpoint could not be anchored; it is tried again", { length, error: problem });
  const after: Anchored =
    problem === null
      ? { length, note, ...(anchor.name !== undefined && { where: anchor.name }), at, last_error: null }
      : { ...before, at, last_error: problem };
  await store.transact((tx) => tx.put("meta", "anchor", after));
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));
