/** Verifies the chain in slices, so that other requests are answered in between; concurrent callers share one pass. */
import { once } from "../kit/once.ts";
import type { AuditDeps } from "./deps.ts";
import { yieldToEventLoop } from "../kit/event_loop.ts";
import type { Store } from "../store/store.ts";
import { type ChainHead, entryKey, allowsEarlierTimestamp, readHead } from "./chain.ts";
import { type AuditEntry, entrySchema } from "./entry.ts";
import { FIRST_PREVIOUS_HASH, entryHash } from "./entry_hash.ts";
import type { ChainLink, Loss, VerifiedChain } from "./integrity.ts";
import { requireKnownEnd } from "./known_end.ts";
import { readSlice } from "./read_slice.ts";
import { reportBreach } from "./report_breach.ts";
import { brokenLogError, type LogBroken, rewrittenLogError, shortenedLogError } from "./tree.ts";
import { type LogEnd, createLogIndex } from "./log_index.ts";
import type { FindSubjects } from "./log_segment.ts";

/** Rejects additional fields, since the hash does not cover them. */
const strictEntrySchema = once(() => entrySchema().strict());

/** Entries verified before yielding to the event loop, within some ten milliseconds. */
const ENTRIES_PER_SLICE = 250;
/** Maximum age of a pass that is extended by later entries, or ten times its duration if that is longer. */
const MAX_REUSED_AGE_MS = 5000;

/** The link before the first entry. */
export const LOG_START: ChainLink = { length: 0, head: FIRST_PREVIOUS_HASH, at: "" };

/** Verifies the complete chain up to its current head, or shares the pass that is already running. */
export function verifyChain(deps: Omit<AuditDeps, "ids" | "mutex">): Promise<VerifiedChain> {
  const { integrity } = deps;
  return (integrity.runningPass ??= runPass(deps).finally(() => delete integrity.runningPass));
}

async function runPass({
  store,
  sha256,
  clock,
  integrity,
  log,
}: Omit<AuditDeps, "ids" | "mutex">): Promise<VerifiedChain> {
  const started = clock.now();
  const loss = (await readHead(store))?.loss;
  // After an accepted loss the log need not continue the entries that were verified before.
  const last = loss && loss.head !== integrity.lastPass?.loss?.head ? undefined : integrity.lastPass;
  const age = last ? started - last.endedAtMs : Infinity;
  const isRecent = last && age >= 0 && age < Math.max(MAX_REUSED_AGE_MS, 10 * last.durationMs);
  const reused = isRecent && !integrity.breach ? last : undefined;
  const { logIndex } = integrity;
  const { after } = logIndex ?? {};
  // A reused pass does not read the entries before it again, so it cannot fill the index.
  const fill = reused ? undefined : logIndex?.fill;
  const verified = await verifyFrom(store, sha256, {
    from: reused?.verified ?? LOG_START,
    losses: reused?.verified.losses ?? [],
    known: last?.verified,
    fill,
  });
  // A pass from the first entry has also indexed all entries before the index, unless the index changed during the pass.
  if (fill && !verified.breach && logIndex!.after === after && verified.length >= after!) logIndex!.extendTo(0);
  const head = verified.breach && (await readHead(store));
  // A loss that was accepted during this pass may explain the breach.
  if (head?.loss && head.loss.head !== loss?.head) return runPass({ store, sha256, clock, integrity, log });
  if (verified.breach) await reportBreach({ store, integrity, log }, verified.breach);
  else {
    const ended = clock.now();
    integrity.lastPass = { verified, loss, endedAtMs: ended, durationMs: reused?.durationMs ?? ended - started };
  }
  return verified;
}

/** Verifies the complete stored log without earlier knowledge; resolves with the breach, undefined for a valid log. */
export const verifyStoredLog = async ({ store, sha256 }: Pick<AuditDeps, "store" | "sha256">) =>
  (await verifyFrom(store, sha256, { from: LOG_START })).breach;

/**
 * Verifies the newest `count` entries and indexes them, before the service starts to answer. The entry before them is not
 * verified.
 */
export async function verifyNewestEntries(
  deps: Omit<AuditDeps, "ids" | "mutex" | "clock">,
  { count, findSubjects }: { count: number; findSubjects: FindSubjects },
): Promise<void> {
  const start = Math.max(0, ((await readHead(deps.store))?.length ?? 0) - count);
  const before = start === 0 ? undefined : (await deps.store.get("audit", entryKey(start)))?.value;
  const from = before ? { length: start, head: before.current_hash, at: before.timestamp } : LOG_START;
  const logIndex = createLogIndex(from, findSubjects);
  const { breach } = await verifyFrom(deps.store, deps.sha256, { from, fill: logIndex.append });
  // The entries were read from the store outside a transaction, so all of them are durable.
  logIndex.confirmEnd(logIndex.tentative);
  deps.integrity.logIndex = logIndex;
  if (breach) await reportBreach(deps, breach, { isCurrent: true });
}

/**
 * Verifies the log after a valid link. `known`: an end that this process verified earlier, which a valid log still contains.
 * `fill` is called with each valid entry.
 */
async function verifyFrom(
  store: Store,
  sha256: AuditDeps["sha256"],
  {
    from,
    losses = [],
    known,
    fill,
  }: {
    from: ChainLink;
    losses?: readonly Loss[];
    known?: ChainLink | undefined;
    fill?: ((entry: AuditEntry) => void) | undefined;
  },
): Promise<VerifiedChain> {
  const head = await readHead(store);
  if (!head) return checkMissingHead(store);
  let link = from;
  const toBrokenChain = ({ breach }: LogBroken): VerifiedChain => ({ origin: head.origin, ...link, losses, breach });
  // The rest of a shortened or rewritten log is verified too: a person may accept the loss if the rest is valid.
  let knownEndError = known && head.length < known.length ? shortenedLogError(known, head) : undefined;
  while (link.length < head.length) {
    const slice = await readSlice(store, link.length, Math.min(ENTRIES_PER_SLICE, head.length - link.length));
    for (const entry of slice) {
      const reason = findEntryProblem(entry, link, head, sha256);
      if (reason) return toBrokenChain(brokenLogError(link.length + 1, reason));
      link = { length: entry!.id, head: entry!.current_hash, at: entry!.timestamp };
      fill?.(entry!);
      if (entry!.event_type === "loss_accepted") losses = [...losses, parseLoss(entry!)];
      if (link.length === known?.length && link.head !== known.head) knownEndError = rewrittenLogError(link.length);
    }
    await yieldToEventLoop();
  }
  if (link.length === head.length && link.head !== head.head)
    return toBrokenChain(brokenLogError(head.length, "the last entry is not the one the head was made for"));
  if (await hasEntriesBeyond(store, head)) return toBrokenChain(beyondEndError(head));
  return knownEndError ? toBrokenChain(knownEndError) : { origin: head.origin, ...link, losses };
}

/**
 * Reads a slice of the log from the store and verifies each entry against its predecessor and against the index of this process.
 * Errors: `LogBroken`.
 */
export async function verifySlice(
  { store, sha256, integrity }: Pick<AuditDeps, "store" | "sha256" | "integrity">,
  { after, limit }: { after: number; limit: number },
): Promise<AuditEntry[]> {
  const head = await readHead(store);
  if (!head) throw brokenLogError(1, "the record of the log's end is missing");
  const { logIndex } = integrity;
  const before = after === 0 ? undefined : (await readSlice(store, after - 1, 1))[0];
  if (after > 0 && !before) throw brokenLogError(after, "the entry is missing or cannot be read");
  let link: ChainLink = before ? { length: after, head: before.current_hash, at: before.timestamp } : LOG_START;
  const entries: AuditEntry[] = [];
  for (const entry of await readSlice(store, after, limit)) {
    const reason = findEntryProblem(entry, link, head, sha256);
    if (reason) throw brokenLogError(link.length + 1, reason);
    const isIndexed = logIndex && entry!.id > logIndex.after && entry!.id <= logIndex.durable.length;
    if (isIndexed && !logIndex.hasEntry(entry!)) throw rewrittenLogError(entry!.id);
    link = { length: entry!.id, head: entry!.current_hash, at: entry!.timestamp };
    entries.push(entry!);
  }
  return entries;
}

/** Parses the accepted loss that an entry states. */
function parseLoss({ id, timestamp, detail }: AuditEntry): Loss {
  const { actor, note, known, length, head, message } = parseDetail(detail);
  const toEnd = (stated: { length?: unknown; head?: unknown } = {}): LogEnd => ({
    length: Number(stated.length ?? 0),
    head: String(stated.head),
  });
  return {
    entry: id,
    at: timestamp,
    actor: String(actor),
    note: String(note),
    known: { ...toEnd(known), ...(known?.head === null && { head: null }) },
    continues: toEnd({ length, head }),
    message: String(message),
  };
}

/** Parses a detail, which may be any text if somebody edited the store. */
function parseDetail(detail: string): Partial<Omit<Loss, "continues"> & LogEnd> {
  try {
    // `Object` turns null, a number or a text into an object, which lacks the members of a loss.
    return Object(JSON.parse(detail)) as Partial<Loss>;
  } catch {
    return {};
  }
}

/** Returns the breach of a log without its head record; a log without entries has none. */
async function checkMissingHead(store: Store): Promise<VerifiedChain> {
  const none = { origin: "", ...LOG_START, losses: [] };
  const [first] = await store.list("audit", { limit: 1, uncached: true });
  return first ? { ...none, breach: { first_invalid: 1, reason: "the record of the log's end is missing" } } : none;
}

/** Requires that the log contains its known end, and has no entries beyond its head. Errors: `LogBroken`. */
export async function requireLogEnd({ store, integrity }: Pick<AuditDeps, "store" | "integrity">): Promise<void> {
  await requireKnownEnd(store, integrity);
  const head = await readHead(store);
  if (head && (await hasEntriesBeyond(store, head))) throw beyondEndError(head);
}

const beyondEndError = ({ length }: ChainHead): LogBroken =>
  brokenLogError(length + 1, "it lies beyond the end of the log");

/** Returns whether there are entries beyond a head. If the head has moved meanwhile, they belong to the log. */
async function hasEntriesBeyond(store: Store, { length }: ChainHead): Promise<boolean> {
  const next = await store.get("audit", entryKey(length + 1));
  return next !== undefined && (await readHead(store))?.length === length;
}

/** Explains why an entry is not a valid successor of a link; undefined for a valid one. */
export function findEntryProblem(
  entry: AuditEntry | undefined,
  link: ChainLink,
  head: Pick<ChainHead, "origin">,
  sha256: AuditDeps["sha256"],
): string | undefined {
  if (!entry) return "the entry is missing or cannot be read";
  if (!strictEntrySchema().safeParse(entry).success)
    return "it is not an entry: a field is missing, added or of another type";
  if (entry.id !== link.length + 1) return `its id is ${entry.id}`;
  if (entry.origin !== head.origin) return "it belongs to another log";
  if (entry.previous_hash !== link.head) return "its previous_hash is not the hash of the entry before it";
  if (entry.timestamp < link.at && !allowsEarlierTimestamp(entry.event_type))
    return "its timestamp is before that of the entry before it";
  if (entry.current_hash !== entryHash(entry, sha256)) return "its current_hash does not cover its fields";
  return undefined;
}
