/** A second implementation of the chain's rules, so that tests do not depend on the code under test. */
import { createHash } from "node:crypto";
import type { AuditEntry } from "../../lib/audit/entry.ts";

/** Returns the first fault of a complete chain with the id of its entry, or `null`. */
export function chainFault(entries: readonly AuditEntry[]): string | null {
  let previous = "0".repeat(64);
  for (const [index, entry] of entries.entries()) {
    if (entry.id !== index + 1) return `entry ${index + 1} has the id ${entry.id}`;
    if (entry.origin !== entries[0]!.origin) return `entry ${entry.id} is of another log`;
    if (entry.previous_hash !== previous) return `entry ${entry.id} does not follow the entry before it`;
    if (entry.current_hash !== hashEntry(entry)) return `entry ${entry.id} does not match its hash`;
    // An entry that accepts a corrected clock may be older than the one before it.
    if (index > 0 && entry.timestamp < entries[index - 1]!.timestamp && entry.event_type !== "clock_accepted")
      return `entry ${entry.id} is older than the entry before it`;
    previous = entry.current_hash;
  }
  return null;
}

/** Computes `current_hash` from the specification's encoding. */
export function hashEntry(entry: Omit<AuditEntry, "current_hash">): string {
  const hash = createHash("sha256").update("countersign-audit/v1\n");
  const { origin, previous_hash, id, timestamp, event_type, change_id, tenant, detail } = entry;
  for (const field of [origin, previous_hash, String(id), timestamp, event_type, change_id, tenant, detail]) {
    const bytes = Buffer.from(field, "utf8");
    const length = Buffer.alloc(4);
    length.writeUInt32BE(bytes.length);
    hash.update(length).update(bytes);
  }
  return hash.digest("hex");
}
