/** The hash of an audit entry. The encoding is frozen: `countersign-audit/v1`. */
import type { Sha256 } from "../kit/platform.ts";
import type { AuditEntry } from "./entry.ts";

/** The `previous_hash` of the first entry of a log. */
export const FIRST_PREVIOUS_HASH = "0".repeat(64);

/** Fields in the order in which they are hashed. */
const FIELDS = ["origin", "previous_hash", "id", "timestamp", "event_type", "change_id", "tenant", "detail"] as const;

const encoder = new TextEncoder();
const TAG = "countersign-audit/v1\n";
const LENGTH_PLACEHOLDER = "\0".repeat(4);

/** Buffer that all calls share. */
let scratch = new Uint8Array(16 * 1024);

/**
 * Computes hex SHA-256( tag LP(origin) LP(previous_hash) LP(decimal id) LP(timestamp) LP(event_type) LP(change_id) LP(tenant)
 * LP(detail) ), where LP(s) is the u32 big-endian byte length of UTF-8(s), then UTF-8(s). Without the lengths, text could move
 * from one field to the next and leave the hash unchanged.
 */
export function entryHash(entry: Omit<AuditEntry, "current_hash">, sha256: Sha256): string {
  const fields = FIELDS.map((field) => String(entry[field]));
  // One call encodes all fields with placeholders for their lengths, since each call is expensive.
  let text = TAG;
  for (const field of fields) text += LENGTH_PLACEHOLDER + field;
  // A UTF-16 code unit has three bytes in UTF-8 at most.
  if (text.length * 3 > scratch.length) scratch = new Uint8Array(text.length * 3);
  const { written } = encoder.encodeInto(text, scratch);
  const isAscii = written === text.length;
  let end = TAG.length;
  for (const field of fields) {
    const length = isAscii ? field.length : encoder.encode(field).length;
    for (let byteIndex = 0; byteIndex < 4; byteIndex++) scratch[end + byteIndex] = length >>> (24 - 8 * byteIndex);
    end += 4 + length;
  }
  return sha256(scratch.subarray(0, end));
}

/** Returns true for an entry whose `current_hash` is the hash of its fields. */
export const hasValidHash = (entry: AuditEntry, sha256: Sha256): boolean =>
  entryHash(entry, sha256) === entry.current_hash;

/** Creates a hash check that remembers valid frozen entries, which cannot have changed since they were hashed. */
export function createCachedHashCheck(): typeof hasValidHash {
  const validEntries = new WeakSet<AuditEntry>();
  return (entry, sha256) => {
    if (validEntries.has(entry)) return true;
    const isValid = hasValidHash(entry, sha256);
    if (isValid && Object.isFrozen(entry)) validEntries.add(entry);
    return isValid;
  };
}
