/** Plays a scenario on a complete service in this process, with a store in memory. */
import { app, countersign, targetAdapter } from "../../handlers/index.ts";
import { isAgent } from "../../lib/changes/rules/principals.ts";
import { suggestWord } from "../../lib/changes/rules/fields.ts";
import { normalizeName } from "../../lib/changes/rules/names.ts";
import type { Handler } from "../../lib/http/deps.ts";
import type { Log } from "../../lib/kit/platform.ts";
import { memoryStore } from "../../lib/store/memory.ts";
import { sha256 } from "../node_ports.ts";
import { compare, type Difference } from "./compare.ts";
import { replaceCredentials } from "./credentials.ts";
import { substituteInBody, substituteInPath, UnknownName } from "./substitute_names.ts";
import { type Fields, signRequest } from "./sign_request.ts";
import type { Scenario, Step } from "./read.ts";
import { createMemoryTarget } from "./target.ts";

/** Start of a scenario that states no time: a Monday. */
const DEFAULT_START = "2026-01-05T10:00:00Z";
/** The service considers a time past when two clock samples, at least ten minutes apart, are after it. */
const CLOCK_SAMPLE_INTERVAL_MS = 10 * 60_000;

const silentLog: Log = { info() {}, warn() {}, error() {} };

/** An answer of the service. */
export interface Answer {
  status: number;
  // oxlint-disable-next-line no-explicit-any -- whatever the service answered
  body: any;
}

/** Result of a scenario. */
export interface Outcome {
  differences: Difference[];
  /** The request and its answer in one line; absent if the answer is as expected. */
  answerText?: string;
}

/** Plays a scenario under an intent, given as its canonical text. */
export async function play(scenario: Scenario, manifest: string): Promise<Outcome> {
  const { given, when, expect } = scenario;
  const run = await openRun(manifest, [...given, when].find(({ at }) => at !== undefined)?.at ?? DEFAULT_START);
  try {
    for (const [index, step] of given.entries()) {
      const stepPath = ["given", index];
      const answer = await run.send(step, stepPath);
      if (answer.status >= 400) throw new StepFailed(stepPath, `was rejected: ${run.describeAnswer(step, answer)}`);
      run.nameChange(step, answer, stepPath);
    }
    const answer = await run.send(when, ["when"]);
    const differences = compare(expect, listMembers(answer), ["expect"]);
    return { differences, ...(differences.length > 0 && { answerText: run.describeAnswer(when, answer) }) };
  } catch (error) {
    if (!(error instanceof StepFailed)) throw error;
    return { differences: [{ path: error.path, message: error.message }] };
  } finally {
    await run.close();
  }
}

/** A request of a scenario could not be sent, or an earlier one was rejected. */
class StepFailed extends Error {
  constructor(
    readonly path: readonly PropertyKey[],
    message: string,
  ) {
    super(message);
  }
}

/** Returns the members that a scenario may expect: `status` is the HTTP status; `change` is set also if the answer is a change. */
function listMembers({ status, body }: Answer): unknown {
  const change: unknown = body.change ?? (body.change_id === undefined ? undefined : body);
  return { ...body, ...(change !== undefined && { change }), status };
}

async function openRun(manifest: string, start: string) {
  const { intent, secrets, signers } = replaceCredentials(manifest);
  const startMs = Date.parse(start);
  let now = startMs;
  let person: string | null = null;
  const clock = { now: () => now, monotonic: () => now - startMs };
  const store = memoryStore();
  const adapter = targetAdapter(createMemoryTarget(), { store, clock, sha256 });
  const service = await countersign({
    store,
    intent,
    clock,
    sha256,
    adapter,
    log: silentLog,
    recordIntent: true,
    person: () => person,
    pause: async () => {},
  });
  // Without a caller, names in the request are only claimed.
  const handlerWithoutCaller = app(
    Object.create(service.deps, { person: { value: undefined } }) as typeof service.deps,
  );
  const ids = new Map<string, string>();

  /** Advances the clock, and runs the cycles after which the service considers the time past. */
  const advanceTo = async (at: number): Promise<void> => {
    for (const moment of [at - CLOCK_SAMPLE_INTERVAL_MS, at]) {
      // The clock never goes back: after a short step only the second cycle runs.
      if (moment <= now && moment !== at) continue;
      now = moment;
      await service.cycle();
    }
  };

  const send = async (step: Step, stepPath: readonly PropertyKey[]): Promise<Answer> => {
    const { by, at, request } = step;
    await advanceTo(at === undefined ? now : Date.parse(at));
    const [method, path] = substituteNames(request, [...stepPath, "request"], substituteInPath).split(" ") as [
      "GET" | "POST",
      string,
    ];
    const fields = substituteNames(step.body ?? {}, [...stepPath, "body"], substituteInBody);
    const secret = by === undefined ? undefined : findSecret(by, [...stepPath, "by"]);
    person = by === undefined || secret !== undefined ? null : by;
    const fetch: Handler = by === undefined ? handlerWithoutCaller : service.fetch;
    const sendRequest: SendRequest = (path, fields, method = "POST") =>
      fetchAnswer(fetch, new Request(`http://localhost${path}`, buildInit(method, fields, secret)));
    if (method === "GET") return sendRequest(path, {}, "GET");
    const completeFields = await addSeenValues(path, fields, sendRequest);
    const sign = by === undefined ? undefined : signers.get(normalizeName(by));
    return sendRequest(
      path,
      sign ? await signRequest(path, completeFields, by!, { sign, post: sendRequest }) : completeFields,
    );
  };

  const substituteNames = <T>(value: T, path: readonly PropertyKey[], substitute: typeof substituteInBody<T>): T => {
    try {
      return substitute(value, ids);
    } catch (error) {
      if (error instanceof UnknownName) throw new StepFailed(path, error.message);
      throw error;
    }
  };

  /** Returns the secret of an agent; undefined for a person. */
  const findSecret = (by: string, path: readonly PropertyKey[]): string | undefined => {
    if (!isAgent(by, service.deps.product!.intent)) return undefined;
    const secret = secrets.get(normalizeName(by));
    if (secret !== undefined) return secret;
    const agents = [...secrets.keys()];
    const hint = agents.length > 0 ? suggestWord(by, agents) : "it has no agents";
    throw new StepFailed(path, `the intent has no agent ${by}: ${hint}`);
  };

  const nameChange = ({ as }: Scenario["given"][number], { body }: Answer, stepPath: readonly PropertyKey[]): void => {
    if (as === undefined) return;
    if (ids.has(as)) throw new StepFailed([...stepPath, "as"], `${as} already names a change`);
    if (typeof body.change_id !== "string")
      throw new StepFailed([...stepPath, "as"], `${as}: the answer is of no change`);
    ids.set(as, body.change_id);
  };
  /** Returns an answer in a line, with the names of changes in place of their ids. */
  const describeAnswer = ({ request }: Step, { status, body }: Answer): string => {
    const text = `${request} answered ${status}${body.code ? ` ${body.code}` : ""}${body.error ? `: ${body.error}` : ""}`;
    return [...ids].reduce((line, [as, id]) => line.replaceAll(id, `$${as}`), text);
  };
  return { send, nameChange, describeAnswer, close: service.close };
}

/** Sends a request as the current caller. */
type SendRequest = (path: string, fields: Fields, method?: "GET" | "POST") => Promise<Answer>;

/** Adds to a consent the digests of the targets' present values, which the console would show to the approver. */
async function addSeenValues(path: string, fields: Fields, sendRequest: SendRequest): Promise<Fields> {
  if (path !== "/api/product/approve" || "seen" in fields) return fields;
  const { body } = await sendRequest(`/api/product/changes/${String(fields["change_id"])}?seen=true`, {}, "GET");
  const seen = (body.seen as { digest: string }[] | undefined)?.map(({ digest }) => digest);
  return seen ? { ...fields, seen } : fields;
}

const buildInit = (method: string, fields: Fields, secret: string | undefined): RequestInit => ({
  method,
  headers: {
    ...(method === "POST" && { "content-type": "application/json" }),
    ...(secret !== undefined && { authorization: `Bearer ${secret}` }),
  },
  ...(method === "POST" && { body: JSON.stringify(fields) }),
});

async function fetchAnswer(fetch: Handler, request: Request): Promise<Answer> {
  const response = await fetch(request);
  const text = await response.text();
  const isJson = response.headers.get("content-type")?.startsWith("application/json") ?? false;
  return { status: response.status, body: isJson && text !== "" ? JSON.parse(text) : {} };
}
