/** Records an event of a mandate: its entry, and the mandate after it. */
import type { AuditEntry } from "../../audit/entry.ts";
import type { Json } from "../../store/json.ts";
import { storeMandate } from "./collections.ts";
import { evolveMandate, type MandateDetail, type MandateRecord } from "../rules/mandate_record.ts";
import type { MANDATE_EVENTS } from "../rules/mandate_record.ts";
import type { Transaction } from "../transaction.ts";
import { parseMandateEvent } from "./read_mandate.ts";

/** A recorded event. */
export interface RecordedMandate {
  mandate: MandateRecord;
  entry: Json<AuditEntry>;
}

/** Appends the entry of an event and stores the mandate after it. A `mandate_id` in the detail is ignored: that of `before` counts. */
export function recordEvent(
  { append, tx, product }: Transaction,
  before: MandateRecord,
  event_type: (typeof MANDATE_EVENTS)[number],
  { mandate_id: _, ...detail }: MandateDetail & object,
): RecordedMandate {
  const { mandate_id } = before;
  const { manifest_hash } = product;
  const entry = append({ event_type, detail: { mandate_id, ...detail, manifest_hash } });
  const mandate = evolveMandate(before, parseMandateEvent(entry.value));
  if (!mandate) throw new Error(`${event_type} does not follow on ${mandate_id}`);
  storeMandate(tx, mandate);
  return { mandate, entry };
}
