/** Appends entries to the chain, inside the transaction that records them. */
import type { AuditDeps } from "./deps.ts";
import type { Store, Tx } from "../store/store.ts";
import type { AuditEntry, EventType } from "./entry.ts";
import { FIRST_PREVIOUS_HASH, entryHash } from "./entry_hash.ts";
import type { LogEnd } from "./log_index.ts";

declare module "../store/store.ts" {
  interface Collections {
    audit: AuditEntry;
  }
  interface Meta {
    chain: ChainHead;
  }
}

/** The end of the chain, which every governed decision reads first. */
export interface ChainHead {
  /** Name of this log, part of every entry, so that entries of another log cannot be inserted. */
  origin: string;
  length: number;
  /** `current_hash` of the last entry, 64 zeros before the first. */
  head: string;
  /** Timestamp of the last entry, `""` before the first. */
  at: string;
  /** Id and hash of the last entry `loss_accepted`; absent without one. */
  loss?: LogEnd | undefined;
}

/** An event before it gets its entry in the chain. `detail` that is not text becomes JSON text. */
export interface AuditEvent {
  event_type: EventType;
  change_id?: string;
  tenant?: string;
  detail: unknown;
}

/** Maximum lag of a clock behind the last entry with which it may still write. */
export const MAX_CLOCK_LAG_MS = 24 * 3600 * 1000;

/** The record id of an entry: 16 digits, so that ids sort as numbers do. */
export const entryKey = (id: number): string => String(id).padStart(16, "0");

/** Reads the chain's head as the transaction sees it; undefined before the log is created. */
export async function readHead(reader: Pick<Store | Tx, "get">): Promise<ChainHead | undefined> {
  return (await reader.get("meta", "chain"))?.value;
}

/** Reads the chain's head, only once for each request if there is a request cache. */
export const readCurrentHead = ({
  store,
  requestCache,
}: Pick<AuditDeps, "store" | "requestCache">): Promise<ChainHead | undefined> =>
  requestCache ? requestCache.once("head", () => readHead(store)) : readHead(store);

/** Creates the chain's head with the log's origin, `<product_id>/audit/<random hex>`. */
export function createChain(
  tx: Tx,
  productId: string,
  { ids, sha256 }: Pick<AuditDeps, "ids" | "sha256">,
  now: number,
): ChainHead {
  const random = sha256(`${ids.uuid(now)}${crypto.randomUUID()}`).slice(0, 32);
  const head: ChainHead = { origin: `${productId}/audit/${random}`, length: 0, head: FIRST_PREVIOUS_HASH, at: "" };
  // Revision 0: the commit fails if another process has created the chain meanwhile.
  tx.put("meta", "chain", head, 0);
  return head;
}

/** Computes the lag of a clock behind the last entry, in milliseconds; negative if the clock is ahead. */
export const clockLag = ({ at }: Pick<ChainHead, "at">, now: number): number => (at === "" ? 0 : Date.parse(at)) - now;

/** Returns the timestamp of an entry that is written now; never before that of the last entry. */
export const entryTimestamp = (head: ChainHead, now: number): string =>
  new Date(now + Math.max(0, clockLag(head, now))).toISOString();

/** Returns an error text for a clock more than 24 h behind the last entry, which would date consent wrongly; else undefined. */
export const findClockProblem = (head: ChainHead, now: number): string | undefined =>
  clockLag(head, now) > MAX_CLOCK_LAG_MS
    ? `this machine's clock, ${new Date(now).toISOString()}, is more than 24 h behind the last audit entry, ${head.at}: set the clock right; where it is right and the entry was dated by one that was ahead, POST /api/product/audit/accept-clock`
    : undefined;

/** Returns whether an entry may have an earlier timestamp than its predecessor: only `clock_accepted` may. */
export const allowsEarlierTimestamp = (event_type: string): boolean => event_type === "clock_accepted";

/** Makes the next entry, and the head after it. */
export function nextEntry(
  head: ChainHead,
  event: AuditEvent,
  timestamp: string,
  sha256: AuditDeps["sha256"],
): { entry: AuditEntry; head: ChainHead } {
  const withoutHash = {
    origin: head.origin,
    id: head.length + 1,
    timestamp,
    event_type: event.event_type,
    change_id: event.change_id ?? "",
    tenant: event.tenant ?? "",
    detail: typeof event.detail === "string" ? event.detail : JSON.stringify(event.detail),
    previous_hash: head.head,
  };
  const entry = { ...withoutHash, current_hash: entryHash(withoutHash, sha256) };
  const end = { length: entry.id, head: entry.current_hash };
  const loss = event.event_type === "loss_accepted" ? end : head.loss;
  return { entry, head: { origin: head.origin, ...end, at: timestamp, ...(loss && { loss }) } };
}
