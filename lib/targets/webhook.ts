/** Carries changes to a host product over HTTP: one signed request for each step. */
import * as z from "zod";
import { type Clock, fastestSha256 } from "../kit/platform.ts";
import { cappedText } from "../kit/capped_text.ts";
import { once } from "../kit/once.ts";
import { Unanswered } from "../kit/time_limit.ts";
import { traceHeaders } from "../kit/trace.ts";
import { webhookKey, signWebhook } from "../kit/webhook_signature.ts";
import type { ProductAdapter } from "../changes/operations/adapter_port.ts";
import type { Change } from "../changes/rules/change.ts";
import { normalizeTarget } from "../changes/rules/target_key.ts";
import { reportCalls, type TargetReports } from "./observed.ts";
import { reachability } from "./reachability.ts";

/** Address of the host product, and the credentials of both sides. */
export interface WebhookAdapterOptions extends TargetReports {
  /** The name of the system; `webhook` when absent. */
  name?: string;
  /** `https://…`; `http://…` only on this machine. Never shown, since its path may be a secret. */
  url: string;
  /** Signs the requests: `whsec_` and base64, or any text of 16 characters or more. */
  secret: string;
  product_id: string;
  instance_id: string;
  clock: Clock;
  fetch?: typeof fetch;
  /** Waits between tries; milliseconds. */
  sleep?: (ms: number) => Promise<void>;
}

const ANSWER_LIMIT = 64 * 1024;
/** The waits before a step is asked for again whose answer was lost; milliseconds. */
const PAUSES = [100, 400, 1600];
/** Statuses of a proxy that cannot reach the host product, or is overloaded. */
const PASSING = [429, 502, 503, 504];
/** A proxy's answers when the host product behind it does not run. */
const DOWN = [502, 503, 504];

/** Answers of a host product to each operation; further members are left out. */
const answers = once(() => ({
  validate: z.discriminatedUnion("ok", [
    z.object({ ok: z.literal(true), preview: z.unknown().optional() }),
    z.object({ ok: z.literal(false), reason: z.string().min(1).max(1000) }),
  ]),
  apply: result().extend({ previous: z.object({ value: z.unknown() }).nullable().optional() }),
  rollback: result(),
  verify: z.object({
    state: z.enum(["applied", "rolled_back", "absent", "unknown"]),
    holds: z.object({ value: z.unknown() }).nullable().optional(),
  }),
}));
const result = () => z.object({ result: z.string().min(1).max(100), detail: z.unknown().optional() });

type Answers = ReturnType<typeof answers>;

/** The four operations of the port. */
type Operation = keyof Answers;
type AnswerOf<O extends Operation> = z.infer<Answers[O]>;

/** Reads an answer; throws an error that says what is wrong with it. */
function parseAnswer<O extends Operation>(operation: O, text: string): AnswerOf<O> {
  let json: unknown;
  try {
    json = JSON.parse(text);
  } catch {
    throw new Error(`the host product's answer to ${operation} is not JSON`);
  }
  const parsed = answers()[operation].safeParse(json);
  if (parsed.success) return parsed.data as AnswerOf<O>;
  const flaws = parsed.error.issues.map(({ path, message }) => `${path.join(".") || "it"}: ${message}`).join("; ");
  throw new Error(`the host product's answer to ${operation} is not as agreed: ${flaws}`);
}

const timer = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/**
 * Returns the address of a webhook without its path, which may be a secret: of that a digest, since another path is another
 * place.
 */
export function describeWebhook(url: string): string {
  const { origin, pathname, search } = new URL(url);
  const path = pathname + search;
  return path === "/" ? origin : `${origin} path ${fastestSha256()(path).slice(0, 32)}`;
}

/** Refuses an address that would let others read along, or that holds a password; throws an error for people. */
export function checkWebhookUrl(url: string): string {
  if (!URL.canParse(url)) throw new TypeError("must be an https URL");
  const { protocol, hostname, username, password } = new URL(url);
  const near = hostname === "localhost" || hostname === "[::1]" || /^127(\.\d+){3}$/.test(hostname);
  if (protocol !== "https:" && !(protocol === "http:" && near))
    throw new TypeError("must be an https URL; http is for this machine only");
  if (username !== "" || password !== "")
    throw new TypeError("must hold no user and password: the signature shows who asks");
  return url;
}

/** The answer may come when the same is asked again. */
class Lost extends Unanswered {}

/** Makes the adapter. Throws `TypeError` when the address, and `SecretRefused` when the secret cannot be used. */
export function webhookAdapter(options: WebhookAdapterOptions): ProductAdapter {
  const { name = "webhook", secret, product_id, instance_id, clock, fetch: send = fetch, sleep = timer } = options;
  const { observer, log } = options;
  const connection = reachability(name, log);
  const signature = reachability(name, log);
  const report = reportCalls(name, observer);
  const url = checkWebhookUrl(options.url);
  const signingKey = webhookKey(secret);

  /** Sends a request, and notes whether the host product runs. Throws `Lost`. */
  const reach = async (init: RequestInit): Promise<Response> => {
    const headers = { "user-agent": "countersign", ...traceHeaders(), ...init.headers };
    const response = await send(url, { redirect: "manual", ...init, headers }).catch((error: unknown) => {
      const reason = `the host product cannot be reached (${reasonOf(error)})`;
      connection.failed(reason);
      throw new Lost(reason);
    });
    if (DOWN.includes(response.status)) connection.failed(`the host product answered with status ${response.status}`);
    else connection.answered();
    return response;
  };

  const attempt = async <O extends Operation>(
    operation: O,
    change: Change,
    id: string,
    signal: AbortSignal,
  ): Promise<AnswerOf<O>> => {
    const body = JSON.stringify({ operation, product_id, instance_id, change });
    const seconds = Math.floor(clock.now() / 1000);
    const response = await reach({
      method: "POST",
      body,
      signal,
      headers: {
        "content-type": "application/json",
        accept: "application/json",
        ...(changes(operation) && { "idempotency-key": id }),
        "webhook-id": id,
        "webhook-timestamp": String(seconds),
        "webhook-signature": signWebhook(signingKey, id, seconds, body),
      },
    });
    if (response.status === 401) signature.failed("the host product rejects the signature (401): compare the secrets");
    else signature.answered();
    const text = await cappedText(response, ANSWER_LIMIT).catch((error: unknown) => {
      throw new Lost(`the host product's answer broke off (${reasonOf(error)})`);
    });
    if (text === undefined) throw new Error(`the host product's answer to ${operation} has more than 64 KiB`);
    if (response.ok) return parseAnswer(operation, text);
    throw refusalOf(operation, response, text);
  };

  const ask = async <O extends Operation>(operation: O, change: Change, signal: AbortSignal): Promise<AnswerOf<O>> => {
    const key = `${change.change_id}:${operation}:${change.revision}`;
    // Read-only operations get a new id each time: a receiver would skip an id that it knows already.
    const id = changes(operation) ? key : `${key}:${crypto.randomUUID()}`;
    for (let tries = 0; ; tries++) {
      try {
        return await report(changes(operation) ? "write" : "read", () => attempt(operation, change, id, signal));
      } catch (error) {
        if (signal.aborted) throw new Unanswered(`the host product did not answer ${operation} in time`);
        const pause = PAUSES[tries];
        if (!(error instanceof Lost) || pause === undefined) throw error;
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
    validate: (change, signal) => ask("validate", change, signal),
    apply: (change, signal) => ask("apply", change, signal),
    verify: async (change, signal) => (await ask("verify", change, signal)).state,
    held: async (change, signal) => (await ask("verify", change, signal)).holds,
    rollback: (change, signal) => ask("rollback", change, signal),
    // HEAD is not of the protocol and changes nothing: any answer shows that the host product runs.
    async ping(signal) {
      const head = () => reach({ method: "HEAD", signal });
      await report("ping", head).catch(() => undefined);
    },
    findProblem: async () => connection.problem() ?? signature.problem(),
  };
}

const changes = (operation: Operation): boolean => operation === "apply" || operation === "rollback";

/** The host product's own words are passed on, from the member `error` of a JSON answer. */
function refusalOf(operation: Operation, { status, type }: Response, text: string): Error {
  if (type === "opaqueredirect" || (status >= 300 && status < 400))
    return new Error(`the host product answered ${operation} with a redirect; give its final address`);
  const sentence = `the host product answered ${operation} with status ${status}${wordsOf(text)}`;
  return PASSING.includes(status) ? new Lost(sentence) : new Error(sentence);
}

function wordsOf(text: string): string {
  try {
    const { error } = JSON.parse(text) as { error?: unknown };
    return typeof error === "string" ? `: ${error.slice(0, 300).toWellFormed()}` : "";
  } catch {
    return "";
  }
}

/** A code, never a message: messages of `fetch` repeat addresses. */
function reasonOf(error: unknown): string {
  const cause = error instanceof Error && error.cause instanceof Error ? error.cause : error;
  if (typeof cause === "object" && cause !== null && "code" in cause && typeof cause.code === "string")
    return cause.code;
  return "connection lost";
}
