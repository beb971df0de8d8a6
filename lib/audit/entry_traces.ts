/** Traces of entries that this process appended, for what is sent about them. They are not in the log. */
import type { Trace } from "../kit/trace.ts";
import type { AuditEntry } from "./entry.ts";
import type { Integrity } from "./integrity.ts";

/** The newest are remembered; an entry that is sent later is sent without its trace. */
const MAX_REMEMBERED_TRACES = 10_000;

const tracesByProcess = new WeakMap<Integrity, Map<string, Trace>>();

/** Notes the trace of an entry; one that is not committed in the end has a hash that no other entry has. */
export function rememberTrace(integrity: Integrity, { current_hash }: AuditEntry, trace: Trace | undefined): void {
  if (!trace) return;
  const traces = tracesByProcess.get(integrity) ?? new Map<string, Trace>();
  tracesByProcess.set(integrity, traces);
  traces.set(current_hash, trace);
  if (traces.size > MAX_REMEMBERED_TRACES) traces.delete(traces.keys().next().value!);
}

/** Returns the trace of an entry; undefined where none is remembered. */
export const findTrace = (integrity: Integrity, { current_hash }: AuditEntry): Trace | undefined =>
  tracesByProcess.get(integrity)?.get(current_hash);
