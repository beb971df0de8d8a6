/**
 * Parts of an exported log record, for the table of docs/telemetry.md, which test/docs/field_tables.test.ts generates. The table
 * sets each key in backticks, so a key for several names has backticks between them.
 */
export const RECORD_PARTS: Readonly<Record<string, string>> = {
  timeUnixNano: "the entry's `timestamp`",
  observedTimeUnixNano: "the time of sending",
  eventName: "`countersign.` and the entry's `event_type`",
  severityNumber:
    "9 (INFO); 13 (WARN) for drift, rollbacks, holds, suspensions and freezes; 17 (ERROR) for failures and losses",
  body: "the entry in a sentence, as the console shows it",
  "countersign.entry.id": "the entry's number",
  "countersign.entry.origin": "the name of the entry's log",
  "countersign.entry.hash": "the entry's `current_hash`, to compare with the [audit log](audit_log.md)",
  "countersign.entry.detail": "the entry's `detail`, unchanged",
  "countersign.change.id": "the entry's change, if it has one",
  "countersign.tenant": "the tenant of that change",
  "traceId`, `spanId`, `flags": "the [trace](#traces) of the request or cycle that caused the entry, if known",
  "service.name": "`countersign` (an attribute of the resource)",
  "service.version": "the version of Countersign (resource)",
  "service.instance.id": "the instance (resource)",
  "countersign.product.id": "the product (resource)",
};
