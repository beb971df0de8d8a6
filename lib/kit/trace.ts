/** W3C Trace Context: passes the trace of a request on to the calls that the request causes. */

/** A trace, and the span of this request or cycle. */
export interface Trace {
  /** 32 lower-case hex digits. */
  traceId: string;
  /** 16 lower-case hex digits. */
  spanId: string;
  /** Bits; 1: sampled. */
  flags: number;
}

const SAMPLED = 1;
const FIELDS = /^(?!ff)([0-9a-f]{2})-(?!0{32})([0-9a-f]{32})-(?!0{16})([0-9a-f]{16})-([0-9a-f]{2})(-.*)?$/;

/** Parses a `traceparent` header, with a new span for this service; undefined if it is absent or malformed. */
export function parseTraceparent(header: string | null | undefined): Trace | undefined {
  if (!header) return undefined;
  const [, version, traceId, , flags, rest] = FIELDS.exec(header) ?? [];
  // Later versions may have more fields.
  if (traceId === undefined || (version === "00" && rest !== undefined)) return undefined;
  return { traceId, spanId: randomHex(8), flags: Number.parseInt(flags!, 16) & SAMPLED };
}

/** Starts a trace for work without a request. */
export const newTrace = (): Trace => ({ traceId: randomHex(16), spanId: randomHex(8), flags: SAMPLED });

/** Returns the headers by which another system continues a trace; none outside of a trace. */
export const traceHeaders = (trace = currentTrace()): { traceparent?: string } =>
  trace ? { traceparent: `00-${trace.traceId}-${trace.spanId}-0${trace.flags}` } : {};

/** Undefined on platforms without it, which do not pass traces on. */
const AsyncLocalStorage = globalThis.process?.getBuiltinModule?.("node:async_hooks")?.AsyncLocalStorage;
const storage = AsyncLocalStorage && new AsyncLocalStorage<Trace>();

/** Requests and cycles under way that have a trace. */
let activeTraces = 0;
/** Workers have a storage that costs nothing and cannot be disabled. */
const canDisable = globalThis.navigator?.userAgent !== "Cloudflare-Workers";

/**
 * Runs a request or a cycle as part of a trace. Between traces the storage is disabled: Node before version 24 otherwise
 * tracks each promise of the process, which takes a fifth of the time of a short request. Work that outlives its request has no trace.
 */
export function runInTrace<T>(trace: Trace | undefined, run: () => T): T {
  if (!trace || !storage) return run();
  activeTraces++;
  let isAwaited = false;
  try {
    const result = storage.run(trace, run);
    if (result instanceof Promise) {
      isAwaited = true;
      result.then(endTrace, endTrace);
    }
    return result;
  } finally {
    if (!isAwaited) endTrace();
  }
}

function endTrace(): void {
  if (--activeTraces === 0 && canDisable) storage!.disable();
}

/** Returns the trace of the request or cycle under way. */
export const currentTrace = (): Trace | undefined => storage?.getStore();

function randomHex(bytes: number): string {
  const randomBytes = crypto.getRandomValues(new Uint8Array(bytes));
  return Array.from(randomBytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}
