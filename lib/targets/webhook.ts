/** The adapter of a host product with a webhook: sends one signed HTTP request for each operation. */
import * as z from "zod";
import { type Clock, fastestSha256 } from "../kit/platform.ts";
import { readCappedText } from "../kit/capped_text.ts";
import { once } from "../kit/once.ts";
import { Unanswered } from "../kit/time_limit.ts";
import { traceHeaders } from "../kit/trace.ts";
import { parseWebhookKey, signWebhook } from "../kit/webhook_signature.ts";
import type { ProductAdapter } from "../changes/operations/adapter_port.ts";
import type { Change } from "../changes/rules/change.ts";
import { normalizeTarget } from "../changes/rules/target_key.ts";
import { reportCalls, type TargetReports } from "./observe_system.ts";
import { trackReachability } from "./reachability.ts";

/** Address of the host product, and the credentials of both sides. */
export interface WebhookAdapterOptions extends TargetReports {
  /** The name of the system; `webhook` when absent. */
  name?: string;
  /** Address of the webhook: `https://…`; `http://…` only on this machine. Never shown, since its path may be a secret. */
  url: string;
  /** The secret that signs requests: `whsec_` and base64, or any text of 16 characters or more. */
  secret: string;
  product_id: string;
  instance_id: string;
  clock: Clock;
  fetch?: typeof fetch;
  /** Waits between tries; milliseconds. */
  sleep?: (ms: number) => Promise<void>;
}

const MAX_ANSWER_BYTES = 64 * 1024;
/** Pauses before the retries of a request without an answer of the host product. */
const RETRY_PAUSES_MS = [100, 400, 1600];
/** Statuses of a proxy that cannot reach the host product, or is overloaded. */
const TRANSIENT_STATUSES = [429, 502, 503, 504];
/** Statuses of a proxy when the host product behind it is down. */
const UNREACHABLE_STATUSES = [502, 503, 504];

/** Schemas of a host product's answers by operation; unknown members are dropped. */
const answerSchemas = once(() => ({
  validate: z.discriminatedUnion("ok", [
    z.object({ ok: z.literal(true), preview: z.unknown().optional() }),
    z.object({ ok: z.literal(false), reason: z.string().min(1).max(1000) }),
  ]),
  apply: resultSchema().extend({ previous: z.object({ value: z.unknown() }).nullable().optional() }),
  rollback: resultSchema(),
  verify: z.object({
    state: z.enum(["applied", "rolled_back", "absent", "unknown"]),
    holds: z.object({ value: z.unknown() }).nullable().optional(),
  }),
}));
const resultSchema = () => z.object({ result: z.string().min(1).max(100), detail: z.unknown().optional() });

type AnswerSchemas = ReturnType<typeof answerSchemas>;

type Operation = keyof AnswerSchemas;
type AnswerOf<O extends Operation> = z.infer<AnswerSchemas[O]>;

/** Parses an answer; throws an error that lists its problems. */
function parseAnswer<O extends Operation>(operation: O, text: string): AnswerOf<O> {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    throw new Error(`the host product's answer to ${operation} is not JSON`);
  }
  const parsed = answerSchemas()[operation].safeParse(json);
  if (parsed.success) return parsed.data as AnswerOf<O>;
  const flaws = parsed.error.issues.map(({ path, message }) => `${path.join(".") || "it"}: ${message}`).join("; ");
  throw new Error(`the host product's answer to ${operation} is not as agreed: ${flaws}`);
}

const wait = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** Returns the origin of a webhook and a digest of its path, which identifies the path without showing it: it may be a secret. */
export function describeWebhook(url: string): string {
  const { origin, pathname, search } = new URL(url);
  const path = pathname + search;
  return path === "/" ? origin : `${origin} path ${fastestSha256()(path).slice(0, 32)}`;
}

/** Returns a valid address. Errors: `TypeError`, with a message for people, for one without encryption or with a password. */
export function checkWebhookUrl(url: string): string {
  if (!URL.canParse(url)) throw new TypeError("must be an https URL");
  const { protocol, hostname, username, password } = new URL(url);
  const isLocal = hostname === "localhost" || hostname === "[::1]" || /^127(\.\d+){3}$/.test(hostname);
  if (protocol !== "https:" && !(protocol === "http:" && isLocal))
    throw new TypeError("must be an https URL; http is for this machine only");
  if (username !== "" || password !== "")
    throw new TypeError("must hold no user and password: the signature shows who asks");
  return url;
}

/** The host product's answer was lost, or a proxy answered in its place; a retry may succeed. */
class AnswerLost extends Unanswered {}

/** Creates the adapter. Throws `TypeError` for an invalid address, and `SecretRejected` for an invalid secret. */
export function webhookAdapter(options: WebhookAdapterOptions): ProductAdapter {
  const { name = "webhook", secret, product_id, instance_id, clock, fetch: sendHttp = fetch, sleep = wait } = options;
  const { observer, log } = options;
  const connection = trackReachability(name, log);
  const signature = trackReachability(name, log);
  const report = reportCalls(name, observer);
  const url = checkWebhookUrl(options.url);
  const signingKey = parseWebhookKey(secret);

  /** Sends a request, and records whether the host product answers. Throws `AnswerLost`. */
  const sendRequest = async (init: RequestInit): Promise<Response> => {
    const headers = { "user-agent": "countersign", ...traceHeaders(), ...init.headers };
    const response = await sendHttp(url, { redirect: "manual", ...init, headers }).catch((error: unknown) => {
      const reason = `the host product cannot be reached (${errorCode(error)})`;
      connection.recordFailure(reason);
      throw new AnswerLost(reason);
    });
    if (UNREACHABLE_STATUSES.includes(response.status))
      connection.recordFailure(`the host product answered with status ${response.status}`);
    else connection.recordAnswer();
    return response;
  };

  const requestOnce = async <O extends Operation>(
    operation: O,
    change: Change,
    id: string,
    signal: AbortSignal,
  ): Promise<AnswerOf<O>> => {
    const body = JSON.stringify({ operation, product_id, instance_id, change });
    const seconds = Math.floor(clock.now() / 1000);
    const response = await sendRequest({
      method: "POST",
      body,
      signal,
      headers: {
        "content-type": "application/json",
        accept: "application/json",
        ...(isWrite(operation) && { "idempotency-key": id }),
        "webhook-id": id,
        "webhook-timestamp": String(seconds),
        "webhook-signature": signWebhook(signingKey, id, seconds, body),
      },
    });
    if (response.status === 401)
      signature.recordFailure("the host product rejects the signature (401): compare the secrets");
    else signature.recordAnswer();
    const text = await readCappedText(response, MAX_ANSWER_BYTES).catch((error: unknown) => {
      throw new AnswerLost(`the host product's answer broke off (${errorCode(error)})`);
    });
    if (text === undefined) throw new Error(`the host product's answer to ${operation} has more than 64 KiB`);
    if (response.ok) return parseAnswer(operation, text);
    throw createError(operation, response, text);
  };

  const request = async <O extends Operation>(
    operation: O,
    change: Change,
    signal: AbortSignal,
  ): Promise<AnswerOf<O>> => {
    const key = `${change.change_id}:${operation}:${change.revision}`;
    // Read-only operations get a new id for each request: a receiver may skip an id that it has seen before.
    const id = isWrite(operation) ? key : `${key}:${crypto.randomUUID()}`;
    for (let tries = 0; ; tries++) {
      try {
        return await report(isWrite(operation) ? "write" : "read", () => requestOnce(operation, change, id, signal));
      } catch (error) {
        if (signal.aborted) throw new Unanswered(`the host product did not answer ${operation} in time`);
        const pause = RETRY_PAUSES_MS[tries];
        if (!(error instanceof AnswerLost) || pause === undefined) throw error;
        await sleep(pause);
        observer?.retried(name);
      }
    }
  };

  const address = describeWebhook(url);

  return {
    name,
    locate: ({ tenant_id, target }) => ({
      system: name,
      place: `webhook ${address} ${JSON.stringify([tenant_id, normalizeTarget(target)])}`,
    }),
    validate: (change, signal) => request("validate", change, signal),
    apply: (change, signal) => request("apply", change, signal),
    verify: async (change, signal) => (await request("verify", change, signal)).state,
    held: async (change, signal) => (await request("verify", change, signal)).holds,
    rollback: (change, signal) => request("rollback", change, signal),
    // HEAD is not part of the protocol and changes nothing: any answer shows that the host product runs.
    async ping(signal) {
      const head = () => sendRequest({ method: "HEAD", signal });
      // `sendRequest` has recorded a failure, which `findProblem` reports.
      await report("ping", head).catch(() => undefined);
    },
    findProblem: async () => connection.problem() ?? signature.problem(),
  };
}

const isWrite = (operation: Operation): boolean => operation === "apply" || operation === "rollback";

/** Creates the error of an unsuccessful answer, with the text in `error` if the answer is JSON. */
function createError(operation: Operation, { status, type }: Response, text: string): Error {
  if (type === "opaqueredirect" || (status >= 300 && status < 400))
    return new Error(`the host product answered ${operation} with a redirect; give its final address`);
  const sentence = `the host product answered ${operation} with status ${status}${readErrorText(text)}`;
  return TRANSIENT_STATUSES.includes(status) ? new AnswerLost(sentence) : new Error(sentence);
}

function readErrorText(text: string): string {
  try {
    const { error } = JSON.parse(text) as { error?: unknown };
    return typeof error === "string" ? `: ${error.slice(0, 300).toWellFormed()}` : "";
  } catch {
    return "";
  }
}

/** Returns the code of an error, not its message, since messages of `fetch` contain addresses. */
function errorCode(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  if (typeof cause === "object" && cause !== null && "code" in cause && typeof cause.code === "string")
    return cause.code;
  return "connection lost";
}
