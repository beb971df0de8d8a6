/** Records an event of a mandate: its entry, and the mandate after it. */
import type { AuditEntry } from "../../audit/entry.ts";
import type { Json } from "../../store/json.ts";
import { agentKey } from "../records.ts";
import { evolveMandate, type MandateDetail, type MandateRecord } from "../rules/mandate_record.ts";
import type { MANDATE_EVENTS } from "../rules/mandate_record.ts";
import type { Transaction } from "../transaction.ts";
import { mandateEvent } from "./read_mandate.ts";

/** A recorded event. */
export interface RecordedMandate {
  mandate: MandateRecord;
  entry: Json<AuditEntry>;
}

/** Appends the entry of an event and stores the mandate after it. */
export function recordEvent(
  { append, tx, product }: Transaction,
  before: MandateRecord,
  event_type: (typeof MANDATE_EVENTS)[number],
  { mandate_id: _, ...detail }: MandateDetail & object,
): RecordedMandate {
  const { mandate_id } = before;
  const { manifest_hash } = product;
  const entry = append({ event_type, detail: { mandate_id, ...detail, manifest_hash } });
  const mandate = evolveMandate(before, mandateEvent(entry.value));
  if (!mandate) throw new Error(`${event_type} does not follow on ${mandate_id}`);
  tx.put("mandates", mandate_id, mandate);
  const key = agentKey(mandate.bounds.agent) + mandate_id;
  if (mandate.state === "ended") tx.delete("mandates_by_agent", key);
  else if (mandate.state !== "draft" && before.state === "draft") tx.put("mandates_by_agent", key, true);
  return { mandate, entry };
}
