/** Checking the chain: in slices, so that requests go on meanwhile, and never twice at once. */
import { once } from "../kit/once.ts";
import type { AuditDeps } from "./deps.ts";
import { yieldToEventLoop } from "../kit/event_loop.ts";
import type { Store } from "../store/store.ts";
import { type ChainHead, entryKey, mayStepBack, readHead } from "./chain.ts";
import { type AuditEntry, entrySchema } from "./entry.ts";
import { FIRST_PREVIOUS_HASH, entryHash } from "./entry_hash.ts";
import type { Link, Loss, Verified } from "./integrity.ts";
import { requireKnownEnd } from "./known_end.ts";
import { readSlice } from "./read_slice.ts";
import { reportBreach } from "./report_breach.ts";
import { broken, type LogBroken, rewritten, wentBack } from "./tree.ts";
import { type End, createOutline } from "./outline.ts";
import type { FindSubjects } from "./outline_piece.ts";

/** Rejects fields that the hash does not cover: they must not pass for a part of the record. */
const strictEntry = once(() => entrySchema().strict());

/** Entries between two turns of the event loop: some ten milliseconds. */
const SLICE = 250;
/** A pass that ended this recently is extended by later entries; an older one is repeated, in milliseconds. */
const FRESH_MS = 5000;

/** Before the first entry. */
export const BEGINNING: Link = { length: 0, head: FIRST_PREVIOUS_HASH, at: "" };

/** Checks the whole chain up to the head it has now, or shares the pass that is already running. */
export function verifyChain(deps: Omit<AuditDeps, "ids" | "mutex">): Promise<Verified> {
  const { integrity } = deps;
  return (integrity.running ??= pass(deps).finally(() => delete integrity.running));
}

async function pass({ store, sha256, clock, integrity, log }: Omit<AuditDeps, "ids" | "mutex">): Promise<Verified> {
  const started = clock.now();
  const loss = (await readHead(store))?.loss;
  // A log that goes on from an accepted loss need not continue what was verified before it.
  const last = loss && loss.head !== integrity.last?.loss?.head ? undefined : integrity.last;
  const age = last ? started - last.ended : Infinity;
  const fresh = last && !integrity.breach && age >= 0 && age < Math.max(FRESH_MS, 10 * last.took);
  const { outline } = integrity;
  const { after } = outline ?? {};
  const fill = fresh ? undefined : outline?.fill;
  const verified = await verifyFrom(store, sha256, {
    from: fresh ? last.verified : BEGINNING,
    losses: fresh ? last.verified.losses : [],
    known: last?.verified,
    fill,
  });
  // Entries from the beginning up to the index were read: they are indexed now too.
  if (fill && !verified.breach && outline!.after === after && verified.length >= after!) outline!.reachTo(0);
  const head = verified.breach && (await readHead(store));
  // It was accepted during the pass that the log lost its end.
  if (head?.loss && head.loss.head !== loss?.head) return pass({ store, sha256, clock, integrity, log });
  if (verified.breach) await reportBreach({ store, integrity, log }, verified.breach);
  else {
    const ended = clock.now();
    integrity.last = { verified, loss, ended, took: fresh ? last.took : ended - started };
  }
  return verified;
}

/** Checks the whole log as it is now, whatever was known of it before; resolves to where it does not hold. */
export const verifyAsItIs = async ({ store, sha256 }: Pick<AuditDeps, "store" | "sha256">) =>
  (await verifyFrom(store, sha256, { from: BEGINNING })).breach;

/**
 * Checks the newest `count` entries at start, before anything is served; the entry before them is taken as it is. What is read
 * is outlined from here on.
 */
export async function verifyTail(
  deps: Omit<AuditDeps, "ids" | "mutex" | "clock">,
  { count, subjectsOf }: { count: number; subjectsOf: FindSubjects },
): Promise<void> {
  const start = Math.max(0, ((await readHead(deps.store))?.length ?? 0) - count);
  const before = start === 0 ? undefined : (await deps.store.get("audit", entryKey(start)))?.value;
  const from = before ? { length: start, head: before.current_hash, at: before.timestamp } : BEGINNING;
  const outline = createOutline(from, subjectsOf);
  const { breach } = await verifyFrom(deps.store, deps.sha256, { from, fill: outline.append });
  outline.settle(outline.seen);
  deps.integrity.outline = outline;
  if (breach) await reportBreach(deps, breach, { isCurrent: true });
}

/**
 * Checks on from a link that holds; `known` is what this process saw earlier, which no honest log takes back. `fill` is given
 * each entry that holds.
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
    from: Link;
    losses?: readonly Loss[];
    known?: Link | undefined;
    fill?: ((entry: AuditEntry) => void) | undefined;
  },
): Promise<Verified> {
  const head = await readHead(store);
  if (!head) return withoutHead(store);
  let link = from;
  const found = ({ breach }: LogBroken): Verified => ({ origin: head.origin, ...link, losses, breach });
  // The rest of a log that went back is verified all the same: a person accepts the loss by its end.
  let back = known && head.length < known.length ? wentBack(known, head) : undefined;
  while (link.length < head.length) {
    const slice = await readSlice(store, link.length, Math.min(SLICE, head.length - link.length));
    for (const entry of slice) {
      const reason = whyInvalid(entry, link, head, sha256);
      if (reason) return found(broken(link.length + 1, reason));
      link = { length: entry!.id, head: entry!.current_hash, at: entry!.timestamp };
      fill?.(entry!);
      if (entry!.event_type === "loss_accepted") losses = [...losses, lossIn(entry!)];
      if (link.length === known?.length && link.head !== known.head) back = rewritten(link.length);
    }
    await yieldToEventLoop();
  }
  if (link.length === head.length && link.head !== head.head)
    return found(broken(head.length, "the last entry is not the one the head was made for"));
  if (await hasMore(store, head)) return found(beyondEnd(head));
  return back ? found(back) : { origin: head.origin, ...link, losses };
}

/**
 * Checks a slice of the log where it is kept, each entry against the one before it and against what this process read of it
 * before, and gives its entries. Errors: `LogBroken`.
 */
export async function verifySlice(
  { store, sha256, integrity }: Pick<AuditDeps, "store" | "sha256" | "integrity">,
  { after, limit }: { after: number; limit: number },
): Promise<AuditEntry[]> {
  const head = await readHead(store);
  if (!head) throw broken(1, "the record of the log's end is missing");
  const { outline } = integrity;
  const before = after === 0 ? undefined : (await readSlice(store, after - 1, 1))[0];
  if (after > 0 && !before) throw broken(after, "the entry is missing or cannot be read");
  let link: Link = before ? { length: after, head: before.current_hash, at: before.timestamp } : BEGINNING;
  const entries: AuditEntry[] = [];
  for (const entry of await readSlice(store, after, limit)) {
    const reason = whyInvalid(entry, link, head, sha256);
    if (reason) throw broken(link.length + 1, reason);
    if (entry!.id > (outline?.after ?? Infinity) && entry!.id <= outline!.durable.length && !outline!.isAsRead(entry!))
      throw rewritten(entry!.id);
    link = { length: entry!.id, head: entry!.current_hash, at: entry!.timestamp };
    entries.push(entry!);
  }
  return entries;
}

/** The loss that an entry states. */
function lossIn({ id, timestamp, detail }: AuditEntry): Loss {
  const { actor, note, known, length, head, message } = statedIn(detail);
  const end = (stated: { length?: unknown; head?: unknown } = {}): End => ({
    length: Number(stated.length ?? 0),
    head: String(stated.head),
  });
  const [by, why, lost] = [actor, note, message].map(String) as [string, string, string];
  return {
    entry: id,
    at: timestamp,
    actor: by,
    note: why,
    known: { ...end(known), ...(known?.head === null && { head: null }) },
    continues: end({ length, head }),
    message: lost,
  };
}

/** A detail that somebody else wrote into the store may be any text. */
function statedIn(detail: string): Partial<Omit<Loss, "continues"> & End> {
  try {
    return Object(JSON.parse(detail)) as Partial<Loss>;
  } catch {
    return {};
  }
}

/** A log without its head is damaged, unless it was never begun. */
async function withoutHead(store: Store): Promise<Verified> {
  const none = { origin: "", ...BEGINNING, losses: [] };
  const [first] = await store.list("audit", { limit: 1, uncached: true });
  return first ? { ...none, breach: { first_invalid: 1, reason: "the record of the log's end is missing" } } : none;
}

/** Errors: `LogBroken` where the log ends before what was read of it, or there are entries beyond its end. */
export async function requireEnd({ store, integrity }: Pick<AuditDeps, "store" | "integrity">): Promise<void> {
  await requireKnownEnd(store, integrity);
  const head = await readHead(store);
  if (head && (await hasMore(store, head))) throw beyondEnd(head);
}

const beyondEnd = ({ length }: ChainHead): LogBroken => broken(length + 1, "it lies beyond the end of the log");

/** Returns whether there are entries beyond a head that has not moved on meanwhile. */
async function hasMore(store: Store, { length }: ChainHead): Promise<boolean> {
  const next = await store.get("audit", entryKey(length + 1));
  return next !== undefined && (await readHead(store))?.length === length;
}

/** Why an entry does not follow a link, if so. */
export function whyInvalid(
  entry: AuditEntry | undefined,
  link: Link,
  head: Pick<ChainHead, "origin">,
  sha256: AuditDeps["sha256"],
): string | undefined {
  if (!entry) return "the entry is missing or cannot be read";
  if (!strictEntry().safeParse(entry).success)
    return "it is not an entry: a field is missing, added or of another type";
  if (entry.id !== link.length + 1) return `its id is ${entry.id}`;
  if (entry.origin !== head.origin) return "it belongs to another log";
  if (entry.previous_hash !== link.head) return "its previous_hash is not the hash of the entry before it";
  if (entry.timestamp < link.at && !mayStepBack(entry.event_type))
    return "its timestamp is before that of the entry before it";
  if (entry.current_hash !== entryHash(entry, sha256)) return "its current_hash does not cover its fields";
  return undefined;
}
