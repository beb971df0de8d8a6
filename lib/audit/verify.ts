/** Checking the chain: in slices, so that requests go on meanwhile, and never twice at once. */
import type { Deps } from "../deps.ts";
import type { Store } from "../store/store.ts";
import { type ChainHead, entryKey, readHead } from "./chain.ts";
import { type AuditEntry, FIRST_PREVIOUS_HASH, entryHash } from "./entry.ts";
import type { Breach } from "./integrity.ts";

const SLICE = 1000;
/** A pass that ended this recently is extended by what came since; an older one is made anew. */
const FRESH_MS = 5000;

/** What holds up to which entry. */
interface Link {
  length: number;
  head: string;
  at: string;
}

const BEGINNING: Link = { length: 0, head: FIRST_PREVIOUS_HASH, at: "" };

/** The chain as far as it was checked. */
export interface Verified extends Link {
  origin: string;
  breach?: Breach;
}

/** Checks the whole chain up to the head it has now, or shares the pass that is already running. */
export function verifyChain(deps: Pick<Deps, "store" | "sha256" | "clock" | "integrity" | "log">): Promise<Verified> {
  const { integrity } = deps;
  integrity.running ??= pass(deps).finally(() => {
    delete integrity.running;
  });
  return integrity.running;
}

async function pass({
  store,
  sha256,
  clock,
  integrity,
  log,
}: Pick<Deps, "store" | "sha256" | "clock" | "integrity" | "log">): Promise<Verified> {
  const started = clock.now();
  const { last } = integrity;
  const fresh = last && !integrity.breach && started - last.ended < Math.max(FRESH_MS, 10 * last.took);
  const verified = await verifyFrom(store, sha256, fresh ? last.verified : BEGINNING);
  if (verified.breach) reportBreach({ integrity, log }, verified.breach);
  else {
    const ended = clock.now();
    integrity.last = { verified, ended, took: fresh ? last.took : ended - started };
  }
  return verified;
}

/** Keeps the breach, so that writes are refused from here on. */
export function reportBreach({ integrity, log }: Pick<Deps, "integrity" | "log">, breach: Breach): void {
  if (!integrity.breach) log.error("audit chain broken", { ...breach });
  integrity.breach = breach;
}

/** Checks the newest `count` entries at start, before anything is served; the entry before them is taken as it is. */
export async function verifyTail(
  deps: Pick<Deps, "store" | "sha256" | "integrity" | "log">,
  count: number,
): Promise<void> {
  const head = await readHead(deps.store);
  if (!head) return;
  const start = Math.max(0, head.length - count);
  const before = start === 0 ? undefined : (await deps.store.get<AuditEntry>("audit", entryKey(start)))?.value;
  const from = before ? { length: start, head: before.current_hash, at: before.timestamp } : BEGINNING;
  const { breach } = await verifyFrom(deps.store, deps.sha256, from);
  if (breach) reportBreach(deps, breach);
}

async function verifyFrom(store: Store, sha256: Deps["sha256"], from: Link): Promise<Verified> {
  const head = await readHead(store);
  if (!head) return { origin: "", ...BEGINNING };
  let link = from;
  while (link.length < head.length) {
    const slice = await readSlice(store, link.length, Math.min(SLICE, head.length - link.length));
    for (const entry of slice) {
      const reason = whyInvalid(entry, link, head, sha256);
      if (reason) return { origin: head.origin, ...link, breach: { first_invalid: link.length + 1, reason } };
      link = { length: entry!.id, head: entry!.current_hash, at: entry!.timestamp };
    }
    await new Promise((resolve) => setTimeout(resolve));
  }
  if (link.length === head.length && link.head !== head.head)
    return {
      origin: head.origin,
      ...link,
      breach: { first_invalid: head.length, reason: "the last entry is not the one the head was made for" },
    };
  return { origin: head.origin, ...link };
}

/** A damaged record must not hide where it lies: a page that cannot be read is read entry by entry. */
async function readSlice(store: Store, after: number, limit: number): Promise<(AuditEntry | undefined)[]> {
  try {
    const page = await store.list<AuditEntry>("audit", { after: entryKey(after), limit });
    if (page.length === limit) return page.map(({ value }) => value);
  } catch {
    // falls through to the single reads
  }
  const entries: (AuditEntry | undefined)[] = [];
  for (let id = after + 1; id <= after + limit; id++) {
    const entry = await store.get<AuditEntry>("audit", entryKey(id)).catch(() => undefined);
    entries.push(entry?.value);
    if (!entry) break;
  }
  return entries;
}

function whyInvalid(
  entry: AuditEntry | undefined,
  link: Link,
  head: ChainHead,
  sha256: Deps["sha256"],
): string | undefined {
  if (!entry) return "the entry is missing or cannot be read";
  if (entry.id !== link.length + 1) return `its id is ${entry.id}`;
  if (entry.origin !== head.origin) return "it belongs to another log";
  if (entry.previous_hash !== link.head) return "its previous_hash is not the hash of the entry before it";
  if (entry.timestamp < link.at) return "its timestamp is before that of the entry before it";
  if (entry.current_hash !== entryHash(entry, sha256)) return "its current_hash does not cover its fields";
  return undefined;
}
