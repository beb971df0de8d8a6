/** Remembers traces of the entries that this process appended, for notifications and exports. Traces are not in the log. */
import type { Trace } from "../kit/trace.ts";
import type { AuditEntry } from "./entry.ts";
import type { Integrity } from "./integrity.ts";

/** Only the newest traces are remembered; an entry that is sent later has none. */
const MAX_REMEMBERED_TRACES = 10_000;

/** Traces by entry hash. Each process has one `Integrity`. */
const tracesByProcess = new WeakMap<Integrity, Map<string, Trace>>();

/** Remembers the trace of an entry by its hash, which is unique even for entries that are never committed. */
export function rememberTrace(integrity: Integrity, { current_hash }: AuditEntry, trace: Trace | undefined): void {
  if (!trace) return;
  const traces = tracesByProcess.get(integrity) ?? new Map<string, Trace>();
  tracesByProcess.set(integrity, traces);
  traces.set(current_hash, trace);
  if (traces.size > MAX_REMEMBERED_TRACES) traces.delete(traces.keys().next().value!);
}

/** Returns the trace of an entry; undefined if none is remembered. */
export const findTrace = (integrity: Integrity, { current_hash }: AuditEntry): Trace | undefined =>
  tracesByProcess.get(integrity)?.get(current_hash);
