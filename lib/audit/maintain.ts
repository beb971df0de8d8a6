/** Keeps checkpoints coming, and keeps them where the holder of the store cannot change them. */
import type { Bell } from "../pulse/bell.ts";
import { step } from "../governance/host_run.ts";
import { readHead } from "./chain.ts";
import {
  type Checkpoint,
  type CheckpointDeps,
  currentCheckpoint,
  lastCheckpoint,
  parseCheckpoint,
  whyNotExtended,
} from "./checkpoint.ts";
import { rootOf } from "./merkle.ts";
import { noteLine } from "./note.ts";
import { growTree } from "./tree.ts";
import { reportBreach } from "./verify.ts";

const MOST_BEHIND = 64;
const LONGEST_BEHIND_MS = 60_000;
const ANCHOR_AGAIN_MS = 60_000;

/** `meta/anchor`: what was anchored last, and why the newest could not be. */
export interface Anchored {
  length: number;
  note: string;
  /** When the anchor was last tried. */
  at: string;
  last_error: string | null;
}

/** Runs until the bell is closed: a checkpoint is at most 64 entries and a minute behind the log. */
export async function keepCheckpoints(
  deps: CheckpointDeps,
  bell: Pick<Bell, "rings" | "wait" | "closed">,
): Promise<void> {
  while (!bell.closed) {
    const { rings } = bell;
    await maintainCheckpoint(deps);
    await bell.wait(rings, LONGEST_BEHIND_MS);
  }
}

/** Makes a checkpoint when one is due, and anchors the newest. It never rejects: what fails is logged and tried again the next time. */
export async function maintainCheckpoint(deps: CheckpointDeps): Promise<void> {
  const { log, turns } = deps;
  await tried(log, "no checkpoint could be made", async () => {
    if (await isDue(deps)) await currentCheckpoint(deps);
  });
  await tried(log, "the anchor was not looked after", () => turns("anchor", () => anchorNewest(deps)));
}

const tried = (log: CheckpointDeps["log"], failure: string, run: () => Promise<void>): Promise<void> =>
  run().catch((error: unknown) => log.warn(failure, { error: String(error) }));

async function isDue({ store, clock, integrity }: CheckpointDeps): Promise<boolean> {
  const log = await readHead(store);
  if (!log || integrity.breach) return false;
  const last = await lastCheckpoint({ store });
  const behind = log.length - (last?.length ?? 0);
  if (behind === 0) return false;
  return !last || behind >= MOST_BEHIND || clock.now() - Date.parse(last.at) >= LONGEST_BEHIND_MS;
}

async function anchorNewest({ store, clock, log, anchor }: CheckpointDeps): Promise<void> {
  const checkpoint = anchor && (await lastCheckpoint({ store }));
  if (!checkpoint) return;
  const before = (await store.get<Anchored>("meta", "anchor"))?.value ?? {
    length: 0,
    note: "",
    at: "",
    last_error: null,
  };
  const { note, length } = checkpoint;
  const now = clock.now();
  const waits = before.last_error === null ? before.note === note : now - Date.parse(before.at) < ANCHOR_AGAIN_MS;
  if (waits) return;
  const at = new Date(now).toISOString();
  const problem = await step((signal) => anchor.keep(note, signal)).then(() => null, messageOf);
  if (problem !== null) log.warn("the checkpoint could not be anchored; it is tried again", { length, error: problem });
  const after: Anchored =
    problem === null ? { length, note, at, last_error: null } : { ...before, at, last_error: problem };
  await store.transact((tx) => tx.put("meta", "anchor", after));
}

const messageOf = (error: unknown): string => (error instanceof Error ? error.message : String(error));

/**
 * Holds the log against the checkpoint its anchor kept last, before anything is served: a store that was rewritten or
 * set back to an older copy shows here. What does not hold is reported as a breach, so that writes are refused.
 */
export async function holdAgainstAnchor(deps: CheckpointDeps): Promise<void> {
  const { anchor, store, integrity, log, sha256 } = deps;
  const head = await readHead(store);
  if (!anchor || !head || integrity.breach) return;
  const kept = await lastAnchored(deps, anchor);
  if (!kept) return;
  const { tree, breach } = await growTree(deps);
  const origin = noteLine(head.origin);
  const problem =
    breach ?? (tree && (await whyNotExtended(deps, kept, { origin, length: tree.length, root: rootOf(tree, sha256) })));
  if (problem) reportBreach({ integrity, log }, { ...problem, reason: `against the anchor: ${problem.reason}` });
}

async function lastAnchored(
  { log }: CheckpointDeps,
  anchor: NonNullable<CheckpointDeps["anchor"]>,
): Promise<Pick<Checkpoint, "origin" | "length" | "root"> | undefined> {
  try {
    const note = await anchor.last();
    if (note === undefined) return undefined;
    const head = parseCheckpoint(note);
    if (!head) log.warn("the last line of the anchor is not a checkpoint; the log was not held against it");
    return head;
  } catch (error) {
    log.warn("the anchor cannot be read; the log was not held against it", { error: String(error) });
    return undefined;
  }
}
