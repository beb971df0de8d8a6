/** One audit entry and its hash. The encoding is frozen: `countersign-audit/v1`. */
import * as z from "zod";
import { once } from "../kit/once.ts";
import type { Sha256 } from "../kit/platform.ts";

export const EVENT_TYPES = [
  "kpi_refreshed",
  "change_proposed",
  "consent_decision",
  "change_applied",
  "change_rolled_back",
  "change_apply_failed",
  "change_rollback_failed",
  "change_drifted",
  "proposal_refused",
  "intent_in_force",
  "emergency_reviewed",
  "service_frozen",
  "service_unfrozen",
  "record_rebuilt",
  "clock_accepted",
  "content_erased",
  "note_added",
  "store_moved",
  "loss_accepted",
  "targets_in_force",
  "value_restored",
  "automation_stopped",
  "stage_advanced",
  "stage_held",
  "stage_resumed",
  "stage_stopped",
  "release_checked",
  "mandate_signed",
  "mandate_narrowed",
  "mandate_suspended",
  "mandate_resumed",
  "mandate_ended",
] as const;
export type EventType = (typeof EVENT_TYPES)[number];

/** As answered, exported and hashed: an absent change or tenant is `""`, `id` counts from 1 without gaps. */
export const entrySchema = once(() =>
  z
    .object({
      origin: z
        .string()
        .meta({ description: "Name of the log that it belongs to.", examples: ["acme-crm/audit/0f3a"] }),
      id: z.number().int().describe("Its place in the log: 1 upwards, without gaps."),
      timestamp: z
        .string()
        .meta({ description: "When it was written: RFC 3339, UTC.", examples: ["2026-11-20T09:30:00.000Z"] }),
      event_type: z.enum(EVENT_TYPES).describe("What happened."),
      change_id: z.string().describe("The change that it is about; empty when about none."),
      tenant: z
        .string()
        .meta({ description: "The tenant of that change; empty when about none.", examples: ["t-100"] }),
      detail: z.string().meta({
        description: "Facts about it, as JSON text, so that the hash covers them to the byte.",
        examples: ['{"approver":"ana@acme.example"}'],
      }),
      previous_hash: z.string().meta({
        description: "current_hash of the entry before; 64 zeros for the first.",
        examples: ["00000000…"],
      }),
      current_hash: z.string().meta({
        description: "SHA-256 (hex) over all fields above: the chain.",
        examples: ["3cea5977…"],
      }),
    })
    .describe("One entry of the audit log; as a receipt it is worth keeping."),
);
export type AuditEntry = z.infer<ReturnType<typeof entrySchema>>;

export const FIRST_PREVIOUS_HASH = "0".repeat(64);

/** In the order in which they are hashed. */
const FIELDS = ["origin", "previous_hash", "id", "timestamp", "event_type", "change_id", "tenant", "detail"] as const;

const encoder = new TextEncoder();
const TAG = "countersign-audit/v1\n";
const ROOM = "\0".repeat(4);

let scratch = new Uint8Array(16 * 1024);

/**
 * hex SHA-256( tag LP(origin) LP(previous_hash) LP(decimal id) LP(timestamp) LP(event_type) LP(change_id) LP(tenant)
 * LP(detail) ), where LP(s) is the u32 big-endian byte length of UTF-8(s), then UTF-8(s). The lengths keep the fields
 * apart: plain concatenation would let text move from one field to the next under the same hash.
 */
export function entryHash(entry: Omit<AuditEntry, "current_hash">, sha256: Sha256): string {
  const fields = FIELDS.map((field) => String(entry[field]));
  // Encoded in one go with room for the lengths: what that costs is the call, not the text.
  let text = TAG;
  for (const field of fields) text += ROOM + field;
  if (text.length * 3 > scratch.length) scratch = new Uint8Array(text.length * 3);
  const { written } = encoder.encodeInto(text, scratch);
  const isAscii = written === text.length;
  let end = TAG.length;
  for (const field of fields) {
    const length = isAscii ? field.length : encoder.encode(field).length;
    for (let place = 0; place < 4; place++) scratch[end + place] = length >>> (24 - 8 * place);
    end += 4 + length;
  }
  return sha256(scratch.subarray(0, end));
}

/** Returns whether an entry's hash is that of its fields. */
export const isSound = (entry: AuditEntry, sha256: Sha256): boolean => entryHash(entry, sha256) === entry.current_hash;

/** The same of entries that are asked about again and again: one that is frozen stays what it was when it was hashed. */
export function soundOnce(): typeof isSound {
  const sound = new WeakSet<AuditEntry>();
  return (entry, sha256) => {
    if (sound.has(entry)) return true;
    const isOne = isSound(entry, sha256);
    if (isOne && Object.isFrozen(entry)) sound.add(entry);
    return isOne;
  };
}

/**
 * The line of an entry, from its JSON text: characters that many readers take for the end of a line are escaped. The hash is
 * over the values, so it stays the same.
 */
export const entryLine = (text: string): string =>
  `${text.replace(/[\u0085\u2028\u2029]/g, (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`)}\n`;
