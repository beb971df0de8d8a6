/** Verifies the log against the checkpoints in its anchor: detects a store that was rewritten or set back to an older copy. */
import { runWithTimeLimit } from "../kit/time_limit.ts";
import { type ChainHead, entryKey, readHead } from "./chain.ts";
import {
  type CheckpointAnchor,
  type CheckpointDeps,
  computeTreeHead,
  parseCheckpoint,
  type TreeHead,
} from "./checkpoint.ts";
import { hasValidHash } from "./entry_hash.ts";
import type { AnchorProblem } from "./integrity.ts";
import { LogBroken } from "./tree.ts";
import { reportBreach } from "./report_breach.ts";

/** Number of newest checkpoints that are verified with the longest, since a rewritten log may have anchored the longest. */
const NEWEST_COUNT = 16;

/** Summary of an anchor's checkpoints, of bounded size. */
interface AnchorContent {
  longest: TreeHead | undefined;
  newest: TreeHead[];
  /** Number of the first unreadable checkpoint, from 1. */
  unreadable: number | undefined;
  /** Note of the newest readable checkpoint. */
  last: string;
}

/** The store is empty, but its anchor has checkpoints of a log. */
export class LogMissing extends Error {
  override readonly name = "LogMissing";
}

/**
 * Verifies the log against the longest and the newest checkpoints in its anchor, before the service starts to answer. A mismatch
 * is reported as a breach, so that writes are rejected; an unreadable anchor is reported as a problem.
 */
export async function verifyAgainstAnchor(deps: CheckpointDeps): Promise<void> {
  const { anchor, store, integrity, log } = deps;
  const head = await readHead(store);
  if (!anchor || !head || integrity.breach) return;
  const content = await readAnchor(deps, anchor);
  if (!content) return;
  const { longest, newest } = content;
  const isAcceptedLoss = await createLossCheck(deps, head);
  const checkpoints = longest ? [longest, ...newest] : [];
  for (const checkpoint of checkpoints)
    try {
      await computeTreeHead(deps, head, checkpoint);
    } catch (error) {
      if (!(error instanceof LogBroken)) throw error;
      if (isAcceptedLoss(checkpoint)) {
        log.warn("the anchor has a checkpoint over entries whose loss was accepted", { length: checkpoint.length });
        continue;
      }
      const breach = { ...error.breach, reason: `against the anchor: ${error.message}` };
      // Only a checkpoint beyond the log's end shows a lost end. It does not contain the hash of its last entry.
      const known = { length: checkpoint.length, head: "", root: checkpoint.root };
      return reportBreach({ store, integrity, log }, breach, {
        known: checkpoint.length > head.length ? known : undefined,
      });
    }
  await compareWithLastAnchored(deps, anchor, content).catch((error: unknown) =>
    log.warn("the anchor could not be compared with the last anchored checkpoint", { error: String(error) }),
  );
}

/** Creates a predicate that is true for checkpoints that end within the entries whose loss was accepted last. */
async function createLossCheck(
  { store, sha256 }: CheckpointDeps,
  head: ChainHead,
): Promise<(checkpoint: TreeHead) => boolean> {
  const entry = head.loss && (await store.get("audit", entryKey(head.loss.length)))?.value;
  if (entry?.current_hash !== head.loss?.head || !entry || !hasValidHash(entry, sha256)) return () => false;
  // The log continues after `length` entries; `known` is the end that was lost.
  const { length: continues, known } = JSON.parse(entry.detail) as { length: number; known: { length: number } };
  return ({ length }) => length > continues && length <= known.length;
}

/**
 * Requires that the anchor of an empty store is empty: otherwise the store was lost. An anchor that only takes checkpoints counts
 * as empty, one that fails does not. Errors: `LogMissing`.
 */
export async function requireEmptyAnchor(deps: CheckpointDeps): Promise<void> {
  const { longest } = (deps.anchor && (await readAnchor(deps, deps.anchor))) ?? {};
  const { anchor: problem } = deps.integrity;
  if (!longest && problem)
    throw new LogMissing(
      `the store is empty, and its log may have been lost: ${problem.reason}; make the anchor readable, or start without it to begin a new log`,
    );
  if (!longest) return;
  const { origin, length } = longest;
  throw new LogMissing(
    `the store is empty, and the anchor ${deps.anchor?.name ?? ""} keeps a checkpoint of ${length} entries of the log ${origin}: restore the store from a backup, or name another anchor to begin a new log`,
  );
}

/** Reads the anchor's content and reports a problem with it; undefined if it cannot be read. */
async function readAnchor(deps: CheckpointDeps, anchor: CheckpointAnchor): Promise<AnchorContent | undefined> {
  delete deps.integrity.anchor;
  try {
    const pages = anchor.readAll();
    const content = pages && (await summarizeNotes(pages));
    if (content?.unreadable !== undefined)
      reportProblem(deps, {
        reason: `what the anchor keeps at place ${content.unreadable} is no checkpoint: it was damaged; mend it, or name another anchor`,
        lost: false,
      });
    return content;
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    reportProblem(deps, {
      reason: `the anchor cannot be read, so the log was not verified against it: ${message}`,
      lost: false,
    });
    return undefined;
  }
}

function reportProblem({ integrity, log, clock }: CheckpointDeps, problem: Omit<AnchorProblem, "at">): void {
  log.warn(problem.reason);
  integrity.anchor = { ...problem, at: new Date(clock.now()).toISOString() };
}

async function summarizeNotes(pages: AsyncIterable<readonly string[]>): Promise<AnchorContent> {
  const content: AnchorContent = { longest: undefined, newest: [], unreadable: undefined, last: "" };
  const iterator = pages[Symbol.asyncIterator]();
  for (let position = 1; ;) {
    const { done, value } = await runWithTimeLimit(() => iterator.next());
    if (done) return content;
    for (const note of value) addNote(content, note, position++);
  }
}

function addNote(content: AnchorContent, note: string, position: number): void {
  const head = parseCheckpoint(note);
  if (!head) return void (content.unreadable ??= position);
  if (!content.longest || head.length > content.longest.length) content.longest = head;
  content.newest.push(head);
  if (content.newest.length > NEWEST_COUNT) content.newest.shift();
  content.last = note;
}

/** Reports an anchor that lost checkpoints; a newly configured anchor gets the newest checkpoint again. */
async function compareWithLastAnchored(
  deps: CheckpointDeps,
  anchor: CheckpointAnchor,
  content: AnchorContent,
): Promise<void> {
  const { store } = deps;
  const lastAnchored = (await store.get("meta", "anchor"))?.value;
  if (!lastAnchored || lastAnchored.note === "") return;
  const isSameAnchor = lastAnchored.where === undefined || lastAnchored.where === anchor.name;
  const length = content.longest?.length ?? 0;
  if (isSameAnchor && length < lastAnchored.length)
    return reportProblem(deps, {
      reason: `the anchor keeps checkpoints of ${length} entries at most, and one of ${lastAnchored.length} was kept there: it lost what it kept; put it back, or name another anchor`,
      lost: true,
    });
  if (!isSameAnchor && lastAnchored.note !== content.last)
    await store.transact((tx) => tx.put("meta", "anchor", { ...lastAnchored, length: 0, note: "" }));
}
