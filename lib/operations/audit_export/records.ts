/** Converts audit entries to log records of OpenTelemetry (OTLP/HTTP, JSON). */
import type { AuditEntry, EventType } from "../../audit/entry.ts";
import type { Trace } from "../../kit/trace.ts";
import { describe } from "../../wording/describe.ts";
import { capitalize, joinParts } from "../../wording/part.ts";

/** Severity numbers of OpenTelemetry. */
const [INFO, WARN, ERROR] = [9, 13, 17] as const;

/** Severities other than INFO. */
const SEVERITIES: Partial<Record<EventType, number>> = {
  change_apply_failed: ERROR,
  change_rollback_failed: ERROR,
  loss_accepted: ERROR,
  automation_stopped: WARN,
  change_drifted: WARN,
  change_rolled_back: WARN,
  clock_accepted: WARN,
  mandate_suspended: WARN,
  proposal_refused: WARN,
  record_rebuilt: WARN,
  service_frozen: WARN,
  stage_held: WARN,
  stage_stopped: WARN,
};

/** The service that the records come from. */
export interface ExportSource {
  version: string;
  product_id: string;
  instance_id: string;
}

const toNanoseconds = (ms: number): string => `${BigInt(ms) * 1_000_000n}`;

/** Lists the attributes that are not empty; 64-bit numbers are text in OTLP's JSON. */
const listAttributes = (values: Readonly<Record<string, string | number>>): object[] =>
  Object.entries(values).flatMap(([key, value]) =>
    value === ""
      ? []
      : { key, value: typeof value === "number" ? { intValue: String(value) } : { stringValue: value } },
  );

/** Returns the record of an entry as JSON; `observed` is now, in milliseconds; `trace`: of the request that caused it, if known. */
export function logRecord(entry: AuditEntry, observed: number, trace?: Trace): string {
  const { id, origin, timestamp, event_type, change_id, tenant, detail, current_hash } = entry;
  return JSON.stringify({
    timeUnixNano: toNanoseconds(Date.parse(timestamp)),
    observedTimeUnixNano: toNanoseconds(observed),
    severityNumber: SEVERITIES[event_type] ?? INFO,
    eventName: `countersign.${event_type}`,
    body: { stringValue: joinParts(capitalize(describe(entry).event)) },
    attributes: listAttributes({
      "countersign.entry.id": id,
      "countersign.entry.origin": origin,
      "countersign.entry.hash": current_hash,
      "countersign.change.id": change_id,
      "countersign.tenant": tenant,
      "countersign.entry.detail": detail,
    }),
    ...(trace && { flags: trace.flags, traceId: trace.traceId, spanId: trace.spanId }),
  });
}

/** Returns the body of a request that has these records, which are JSON already. */
export function exportBody(records: readonly string[], { version, product_id, instance_id }: ExportSource): string {
  const resource = {
    attributes: listAttributes({
      "service.name": "countersign",
      "service.version": version,
      "service.instance.id": instance_id,
      "countersign.product.id": product_id,
    }),
  };
  const scopeLogs = `[{"scope":{"name":"countersign.audit"},"logRecords":[${records.join()}]}]`;
  return `{"resourceLogs":[{"resource":${JSON.stringify(resource)},"scopeLogs":${scopeLogs}}]}`;
}
