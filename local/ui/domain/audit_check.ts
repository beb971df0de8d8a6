/**
 * Checks audit entries in the browser, with its own cryptography: the service's word is not taken for it.
 * hex SHA-256( "countersign-audit/v1\n" LP(origin) LP(previous_hash) LP(decimal id) LP(timestamp) LP(event_type)
 * LP(change_id) LP(tenant) LP(detail) ), LP(s) being the u32 big-endian byte length of UTF-8(s), then UTF-8(s).
 */
import type { AuditEntry } from "../core/api_types.ts";
import { toHex, sha256 } from "../core/sha256.ts";

const encoder = new TextEncoder();
const TAG = encoder.encode("countersign-audit/v1\n");
const FIRST_PREVIOUS = "0".repeat(64);

/** The hash that an entry should carry. */
export async function hashEntry(entry: AuditEntry): Promise<string> {
  const { origin, previous_hash, id, timestamp, event_type, change_id, tenant, detail } = entry;
  const fields = [origin, previous_hash, String(id), timestamp, event_type, change_id, tenant, detail].map((field) =>
    encoder.encode(field),
  );
  const bytes = new Uint8Array(fields.reduce((size, field) => size + 4 + field.length, TAG.length));
  const view = new DataView(bytes.buffer);
  bytes.set(TAG);
  let end = TAG.length;
  for (const field of fields) {
    view.setUint32(end, field.length);
    bytes.set(field, end + 4);
    end += 4 + field.length;
  }
  return toHex(await sha256(bytes));
}

/** The last entry that held. */
export interface Link {
  origin: string;
  id: number;
  hash: string;
}

/** Up to where entries hold; `fault` names the first that does not. */
export interface Checked {
  last: Link | undefined;
  count: number;
  fault: { id: number; reason: string } | undefined;
}

/** Checks entries in chain order, without gaps, on top of what was checked before. */
export async function checkRun(entries: readonly AuditEntry[], before: Link | undefined): Promise<Checked> {
  const hashes = await Promise.all(entries.map(hashEntry));
  let last = before;
  let count = 0;
  for (const [index, entry] of entries.entries()) {
    const reason = faultOf(entry, hashes[index]!, last);
    if (reason !== undefined) return { last, count, fault: { id: entry.id, reason } };
    last = { origin: entry.origin, id: entry.id, hash: entry.current_hash };
    count++;
  }
  return { last, count, fault: undefined };
}

function faultOf(entry: AuditEntry, hash: string, last: Link | undefined): string | undefined {
  if (hash !== entry.current_hash) return "its content does not give its hash";
  if (entry.id === 1 && entry.previous_hash !== FIRST_PREVIOUS) return "the first entry has something before it";
  if (last === undefined) return undefined;
  if (entry.id !== last.id + 1) return `it follows entry ${last.id}; entries are missing or out of order`;
  if (entry.origin !== last.origin) return "it belongs to another log";
  return entry.previous_hash === last.hash ? undefined : `it is not linked to entry ${last.id}`;
}

/** Whether each of some entries, not all of the log, carries the hash of its content. */
export async function checkEach(entries: readonly AuditEntry[]): Promise<Map<number, boolean>> {
  const hashes = await Promise.all(entries.map(hashEntry));
  return new Map(entries.map((entry, index) => [entry.id, hashes[index] === entry.current_hash]));
}
