/**
 * Sends each audit entry to an OpenTelemetry collector, in order and at least once. The cursor in the store moves only over
 * entries that the receiver has accepted; rejected entries are sent again.
 */
import * as z from "zod";
import { readHead } from "../../audit/chain.ts";
import { findTrace } from "../../audit/entry_traces.ts";
import { readLaterEntries } from "../../audit/page.ts";
import { readCappedText } from "../../kit/capped_text.ts";
import { describeCause } from "../../kit/fetch_failure.ts";
import { once } from "../../kit/once.ts";
import { readRetryDelay } from "../../kit/retry_delay.ts";
import { runUntilStopped } from "../../kit/time_limit.ts";
import { version } from "../../kit/version.ts";
import { countTextBytes } from "../../store/engine/write_set.ts";
import type { OperationsDeps } from "../deps.ts";
import { startSending, SEND_TIMES, type Sender, type Sending, type SendTimes } from "../send_loop.ts";
import type { FailedAttempt } from "../notify/post.ts";
import { createPromptedSending, type PromptedSending } from "../prompted_sending.ts";
import { exportBody, logRecord } from "./records.ts";

declare module "../../store/store.ts" {
  interface Meta {
    audit_export: AuditExportCursor;
  }
}

/** `meta/audit_export`: the id of the last entry that the receiver has accepted. */
export interface AuditExportCursor {
  after: number;
}

/** Address of the receiver, and the headers that carry credentials. */
export interface AuditExportOptions {
  url: string;
  headers?: Readonly<Record<string, string>> | undefined;
  times?: SendTimes;
  fetch?: typeof fetch;
  random?: () => number;
}

/** Limits of a request: its entries, and the bytes of its records. A single record may be larger. */
const MAX_ENTRIES = 100;
const MAX_BYTES = 1_000_000;
/** Entries of the first read, which fit in a request: an entry has 64 KiB at most. Each later read doubles the entries so far. */
const FIRST_READ = 10;
const MAX_ANSWER_BYTES = 64 * 1024;
const BACKS_OFF = true;
const NO_STORE = "the store cannot be used";

/** Exports continuously, in a long-running process. */
export const startAuditExport = (deps: OperationsDeps, options: AuditExportOptions): Sending =>
  startSending(deps, (stopped) => createAuditSender(deps, options, stopped), {
    times: options.times ?? SEND_TIMES,
    random: options.random,
  });

/** Exports on demand, on a host that runs only during requests. Each failure lengthens the pause before the next attempt. */
export const createPromptedAuditExport = (deps: OperationsDeps, options: AuditExportOptions): PromptedSending =>
  createPromptedSending(
    deps,
    createAuditSender(deps, options, new AbortController().signal),
    options.times ?? SEND_TIMES,
    BACKS_OFF,
  );

function createAuditSender(
  deps: OperationsDeps,
  { url, headers, times = SEND_TIMES, fetch: send = fetch }: AuditExportOptions,
  stopped: AbortSignal,
): Sender<Batch> {
  const { store, clock, log } = deps;
  let problem: string | null = null;
  /** The cursor that could not be stored after a delivery. It is stored before anything else is sent. */
  let unstoredCursor: number | undefined;

  const storeCursor = async (after: number): Promise<void> => {
    unstoredCursor = after;
    await store.transact((tx) => tx.put("meta", "audit_export", { after }));
    unstoredCursor = undefined;
  };

  return {
    problem: () => problem,

    async attempt({ records, first, last }) {
      const { product_id = "", instance_id = "" } = deps.product?.identity ?? {};
      const now = clock.now();
      const body = exportBody(records, { version, product_id, instance_id });
      const failed = await postLogs({ url, headers, body, send, stopped, now, timeout: times.timeout });
      if (stopped.aborted) return failed;
      const failure = failed?.failure ?? null;
      const range = { first, last };
      if (failure === null && problem !== null) log.info("audit entries are exported again", range);
      if (failure !== null && failure !== problem)
        log.warn("audit entries could not be exported; they are sent again", { ...range, failure });
      problem = failure;
      return failed;
    },

    async sendNext(deliver) {
      if (unstoredCursor !== undefined) await storeCursor(unstoredCursor);
      const { length } = (await readHead(store)) ?? { length: 0 };
      // A log that lost its end is exported from its new end on.
      const after = Math.min((await store.get("meta", "audit_export"))?.value.after ?? 0, length);
      if (problem === NO_STORE) problem = null;
      if (after === length) return false;
      const batch = await readBatch(deps, after, length);
      if (!(await deliver(batch))) return false;
      await storeCursor(batch.last);
      return true;
    },

    storeFailed(error) {
      if (problem === null) log.warn("the export of audit entries waits for the store", { error: String(error) });
      problem = NO_STORE;
    },
  };
}

/** Records of the entries from `first` to `last`. */
interface Batch {
  records: string[];
  first: number;
  last: number;
}

/** Reads as many entries as fit in a request, at least one; `after` must be below `length`. */
async function readBatch({ store, clock, integrity }: OperationsDeps, after: number, length: number): Promise<Batch> {
  const limit = Math.min(MAX_ENTRIES, length - after);
  const records: string[] = [];
  const batch = () => ({ records, first: after + 1, last: after + records.length });
  let bytes = 0;
  while (records.length < limit) {
    const count = Math.min(records.length || FIRST_READ, limit - records.length);
    for (const entry of await readLaterEntries(store, after + records.length, count)) {
      const record = logRecord(entry, clock.now(), findTrace(integrity, entry));
      // A comma separates records.
      bytes += countTextBytes(record) + 1;
      if (bytes > MAX_BYTES && records.length > 0) return batch();
      records.push(record);
    }
  }
  return batch();
}

/** One request: `now` and `timeout` in milliseconds. */
interface Attempt {
  url: string;
  headers: Readonly<Record<string, string>> | undefined;
  body: string;
  send: typeof fetch;
  stopped: AbortSignal;
  now: number;
  timeout: number;
}

/** Sends once; resolves with undefined if all records were accepted. */
async function postLogs({
  url,
  headers,
  body,
  send,
  stopped,
  now,
  timeout,
}: Attempt): Promise<FailedAttempt | undefined> {
  try {
    return await runUntilStopped(
      stopped,
      async (signal) => {
        const response = await send(url, {
          method: "POST",
          body,
          redirect: "manual",
          headers: { "user-agent": "countersign", ...headers, "content-type": "application/json" },
          signal,
        });
        const text = await readCappedText(response, MAX_ANSWER_BYTES);
        if (!response.ok)
          return { failure: `the receiver answered ${response.status}`, retryAfterMs: readRetryDelay(response, now) };
        const rejection = findRejection(text);
        return rejection === undefined ? undefined : { failure: `the receiver ${rejection}` };
      },
      timeout,
    );
  } catch (error) {
    return { failure: `the receiver could not be reached: ${describeCause(error)}` };
  }
}

/** The answer of a receiver that accepted the request; 64-bit numbers may be text in OTLP's JSON. */
const answerSchema = once(() => {
  const count = z.union([z.number(), z.string().regex(/^\d+$/)]).transform(Number);
  return z.strictObject({ partialSuccess: z.looseObject({ rejectedLogRecords: count.nullish() }).nullish() });
});

/**
 * Explains why a 2xx answer is no acceptance; undefined for an acceptance. An acceptance is empty, or JSON with only a
 * `partialSuccess` that rejects no record. A log-in page, an error or a very long answer is no acceptance.
 */
function findRejection(text: string | undefined): string | undefined {
  if (text === undefined) return `answered more than ${MAX_ANSWER_BYTES} bytes`;
  if (text.trim() === "") return undefined;
  const { data } = answerSchema().safeParse(tryParseJson(text));
  if (!data) return "answered something other than OTLP: check the address of --audit-otlp";
  const rejected = data.partialSuccess?.rejectedLogRecords ?? 0;
  return rejected === 0 ? undefined : `rejected ${rejected} records`;
}

function tryParseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
