/**
 * Sends each audit entry to an OpenTelemetry collector, in order and at least once. The cursor is in the store and moves only
 * over entries that the receiver has taken: one that rejects entries gets them again.
 */
import * as z from "zod";
import { readHead } from "../../audit/chain.ts";
import type { AuditEntry } from "../../audit/entry.ts";
import { entriesAfter } from "../../audit/page.ts";
import { cappedText } from "../../kit/capped_text.ts";
import { causeOf } from "../../kit/fetch_failure.ts";
import { once } from "../../kit/once.ts";
import { stoppable } from "../../kit/time_limit.ts";
import { version } from "../../kit/version.ts";
import type { OperationsDeps } from "../deps.ts";
import { keepSending, SEND_TIMES, type Sender, type Sending, type SendTimes } from "../keep_sending.ts";
import { type Failed, requestedPause } from "../notify/post.ts";
import { promptedSending, type PromptedSending } from "../prompted_sending.ts";
import { exportBody } from "./records.ts";

declare module "../../store/store.ts" {
  interface Meta {
    audit_export: AuditExportCursor;
  }
}

/** `meta/audit_export`: the id of the last entry that the receiver has taken. */
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

const MAX_ENTRIES = 100;
const MAX_BODY_LENGTH = 1_000_000;
const MAX_ANSWER_BYTES = 64 * 1024;
const NO_STORE = "the store cannot be used";

/** Exports for as long as the process lives. */
export const startAuditExport = (deps: OperationsDeps, options: AuditExportOptions): Sending =>
  keepSending(deps, (ended) => auditSender(deps, options, ended), {
    times: options.times ?? SEND_TIMES,
    random: options.random,
  });

/** Exports on demand, on a host that runs only when it is called. */
export const promptedAuditExport = (deps: OperationsDeps, options: AuditExportOptions): PromptedSending =>
  promptedSending(deps, auditSender(deps, options, new AbortController().signal), options.times ?? SEND_TIMES, true);

function auditSender(
  deps: OperationsDeps,
  { url, headers, times = SEND_TIMES, fetch: send = fetch }: AuditExportOptions,
  ended: AbortSignal,
): Sender<AuditEntry[]> {
  const { store, clock, log } = deps;
  let problem: string | null = null;
  /** Delivered and not stored yet. A store that takes no writes must not have it sent over and over. */
  let unstored: number | undefined;

  const moveTo = async (after: number): Promise<void> => {
    unstored = after;
    await store.transact((tx) => tx.put("meta", "audit_export", { after }));
    unstored = undefined;
  };

  return {
    problem: () => problem,

    async attempt(entries) {
      const { product_id = "", instance_id = "" } = deps.product?.identity ?? {};
      const now = clock.now();
      const body = exportBody(entries, { version, product_id, instance_id }, now);
      const failed = await postLogs({ url, headers, body, send, ended, now, timeout: times.timeout });
      if (ended.aborted) return failed;
      const failure = failed?.failure ?? null;
      const range = { first: entries[0]!.id, last: entries.at(-1)!.id };
      if (failure === null && problem !== null) log.info("audit entries are exported again", range);
      if (failure !== null && failure !== problem)
        log.warn("audit entries could not be exported; they are sent again", { ...range, failure });
      problem = failure;
      return failed;
    },

    async sendNext(deliver) {
      if (unstored !== undefined) await moveTo(unstored);
      const { length } = (await readHead(store)) ?? { length: 0 };
      // A log that lost its end is exported from there.
      const after = Math.min((await store.get("meta", "audit_export"))?.value.after ?? 0, length);
      if (problem === NO_STORE) problem = null;
      if (after === length) return false;
      const entries = cutBatch(await entriesAfter(store, after, Math.min(MAX_ENTRIES, length - after)));
      if (!(await deliver(entries))) return false;
      await moveTo(after + entries.length);
      return true;
    },

    storeFailed(error) {
      if (problem === null) log.warn("the export of audit entries waits for the store", { error: String(error) });
      problem = NO_STORE;
    },
  };
}

/** Cuts a batch off where its body would be too long for a receiver; one entry is always sent. */
function cutBatch(entries: AuditEntry[]): AuditEntry[] {
  let length = 0;
  const end = entries.findIndex(
    ({ detail }, index) => (length += detail.length + 1_000) > MAX_BODY_LENGTH && index > 0,
  );
  return end === -1 ? entries : entries.slice(0, end);
}

interface Attempt {
  url: string;
  headers: Readonly<Record<string, string>> | undefined;
  body: string;
  send: typeof fetch;
  ended: AbortSignal;
  now: number;
  timeout: number;
}

/** Sends once; resolves with nothing when all records were taken. */
async function postLogs({ url, headers, body, send, ended, now, timeout }: Attempt): Promise<Failed | undefined> {
  try {
    return await stoppable(
      ended,
      async (signal) => {
        const response = await send(url, {
          method: "POST",
          body,
          redirect: "manual",
          headers: { "user-agent": "countersign", ...headers, "content-type": "application/json" },
          signal,
        });
        const text = await cappedText(response, MAX_ANSWER_BYTES);
        if (!response.ok)
          return { failure: `the receiver answered ${response.status}`, after: requestedPause(response, now) };
        const refusal = refusalIn(text);
        return refusal === undefined ? undefined : { failure: `the receiver ${refusal}` };
      },
      timeout,
    );
  } catch (error) {
    return { failure: `the receiver could not be reached: ${causeOf(error)}` };
  }
}

/** The answer of a receiver that took the request; 64-bit numbers may be text in OTLP's JSON. */
const answerSchema = once(() => {
  const count = z.union([z.number(), z.string().regex(/^\d+$/)]).transform(Number);
  return z.strictObject({ partialSuccess: z.looseObject({ rejectedLogRecords: count.nullish() }).nullish() });
});

/**
 * Returns why a 2xx answer is no acceptance, or `undefined`: an acceptance is empty, or JSON with nothing but a `partialSuccess`
 * that rejects no record. A log-in page or an error is none, and neither is an answer too long to be read.
 */
function refusalIn(text: string | undefined): string | undefined {
  if (text === undefined) return `answered more than ${MAX_ANSWER_BYTES} bytes`;
  if (text.trim() === "") return undefined;
  const { data } = answerSchema().safeParse(jsonOf(text));
  if (!data) return "answered something other than OTLP: check the address of --audit-otlp";
  const rejected = data.partialSuccess?.rejectedLogRecords ?? 0;
  return rejected === 0 ? undefined : `rejected ${rejected} records`;
}

function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
