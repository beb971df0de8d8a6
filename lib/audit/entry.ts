/** The schema of audit entries, as they are answered and exported. */
import * as z from "zod";
import { once } from "../kit/once.ts";

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

/** An audit entry: an absent change or tenant is `""`; `id` counts from 1 without gaps. */
export const entrySchema = once(() =>
  z
    .object({
      origin: z.string().meta({ description: "Name of the log.", examples: ["acme-crm/audit/0f3a"] }),
      id: z.number().int().describe("Number of the entry, from 1 without gaps."),
      timestamp: z
        .string()
        .meta({ description: "Time of the entry: RFC 3339, UTC.", examples: ["2026-11-20T09:30:00.000Z"] }),
      event_type: z.enum(EVENT_TYPES).describe("The event."),
      change_id: z.string().describe("Id of the change; empty if none."),
      tenant: z.string().meta({ description: "Tenant of the change; empty if none.", examples: ["t-100"] }),
      detail: z.string().meta({
        description: "Facts of the event as JSON text, whose bytes the hash covers.",
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
    .describe("An entry of the audit log; keep it as a receipt."),
);
export type AuditEntry = z.infer<ReturnType<typeof entrySchema>>;

/**
 * Formats the line of an entry from its JSON text: characters that many programs treat as line ends are escaped. The hash covers
 * the values, so it stays the same.
 */
export const entryLine = (text: string): string =>
  `${text.replace(/[\u0085\u2028\u2029]/g, (character) => `\\u${character.charCodeAt(0).toString(16).padStart(4, "0")}`)}\n`;
