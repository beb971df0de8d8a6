/** Plays a scenario on a whole service in this process, over a store in memory. */
import { app, countersign, targetAdapter } from "../../handlers/index.ts";
import { isAgent } from "../../lib/changes/rules/principals.ts";
import { suggestWord } from "../../lib/changes/rules/fields.ts";
import { normalizeName } from "../../lib/changes/rules/names.ts";
import type { Handler } from "../../lib/http/deps.ts";
import type { Log } from "../../lib/kit/platform.ts";
import { memoryStore } from "../../lib/store/memory.ts";
import { sha256 } from "../node_ports.ts";
import { compare, type Difference } from "./compare.ts";
import { equip } from "./credentials.ts";
import { nameBody, namePath, UnknownName } from "./names.ts";
import { type Fields, prove } from "./prove.ts";
import type { Scenario, Step } from "./read.ts";
import { valuesInMemory } from "./target.ts";

/** When a scenario plays that states no time: a Monday. */
const DEFAULT_START = "2026-01-05T10:00:00Z";
/** A moment has certainly passed when two clock samples at least ten minutes apart saw it passed. */
const SAMPLES_APART_MS = 10 * 60_000;

const silent: Log = { info() {}, warn() {}, error() {} };

/** An answer of the service. */
export interface Answer {
  status: number;
  // oxlint-disable-next-line no-explicit-any -- whatever the service answered
  body: any;
}

/** Differences between a scenario and the service; none where the answer is as expected. */
export interface Outcome {
  differences: Difference[];
  /** The judged request with its answer in short, where that differs. */
  answered?: string;
}

/** Plays a scenario under an intent, given as its canonical text. */
export async function play(scenario: Scenario, manifest: string): Promise<Outcome> {
  const { given, when, expect } = scenario;
  const run = await openRun(manifest, [...given, when].find(({ at }) => at !== undefined)?.at ?? DEFAULT_START);
  try {
    for (const [index, step] of given.entries()) {
      const place = ["given", index];
      const answer = await run.send(step, place);
      if (answer.status >= 400) throw new StepFailed(place, `was rejected: ${run.shortly(step, answer)}`);
      run.name(step, answer, place);
    }
    const answer = await run.send(when, ["when"]);
    const differences = compare(expect, membersOf(answer), ["expect"]);
    return { differences, ...(differences.length > 0 && { answered: run.shortly(when, answer) }) };
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

/** The members that a scenario may expect: `status` is the HTTP status, and `change` the change also where it is the answer. */
function membersOf({ status, body }: Answer): unknown {
  const change: unknown = body.change ?? (body.change_id === undefined ? undefined : body);
  return { ...body, ...(change !== undefined && { change }), status };
}

async function openRun(manifest: string, start: string) {
  const { intent, secrets, signers } = equip(manifest);
  const began = Date.parse(start);
  let now = began;
  let person: string | null = null;
  const clock = { now: () => now, monotonic: () => now - began };
  const store = memoryStore();
  const adapter = targetAdapter(valuesInMemory(), { store, clock, sha256 });
  const service = await countersign({
    store,
    intent,
    clock,
    sha256,
    adapter,
    log: silent,
    recordIntent: true,
    person: () => person,
    pause: async () => {},
  });
  // Names are only claimed here, since no one vouches for them.
  const unnamed = app(Object.create(service.deps, { person: { value: undefined } }) as typeof service.deps);
  const ids = new Map<string, string>();

  /** Moves the clock, with the cycles that a service runs meanwhile: enough to be certain of the time. */
  const passTo = async (at: number): Promise<void> => {
    for (const moment of [at - SAMPLES_APART_MS, at]) {
      if (moment <= now && moment !== at) continue;
      now = moment;
      await service.cycle();
    }
  };

  const send = async (step: Step, place: readonly PropertyKey[]): Promise<Answer> => {
    const { by, at, request } = step;
    await passTo(at === undefined ? now : Date.parse(at));
    const [method, path] = named(request, [...place, "request"], namePath).split(" ") as ["GET" | "POST", string];
    const fields = named(step.body ?? {}, [...place, "body"], nameBody);
    const secret = by === undefined ? undefined : secretOf(by, [...place, "by"]);
    person = by === undefined || secret !== undefined ? null : by;
    const fetch: Handler = by === undefined ? unnamed : service.fetch;
    const ask: Ask = (path, fields, method = "POST") =>
      answerOf(fetch, new Request(`http://localhost${path}`, init(method, fields, secret)));
    if (method === "GET") return ask(path, {}, "GET");
    const shown = await addSeen(path, fields, ask);
    const sign = by === undefined ? undefined : signers.get(normalizeName(by));
    return ask(path, sign ? await prove(path, shown, by!, { sign, post: ask }) : shown);
  };

  const named = <T>(value: T, place: readonly PropertyKey[], substitute: typeof nameBody<T>): T => {
    try {
      return substitute(value, ids);
    } catch (error) {
      if (error instanceof UnknownName) throw new StepFailed(place, error.message);
      throw error;
    }
  };

  /** Returns the secret of an agent; undefined for a person. */
  const secretOf = (by: string, place: readonly PropertyKey[]): string | undefined => {
    if (!isAgent(by, service.deps.product!.intent)) return undefined;
    const secret = secrets.get(normalizeName(by));
    if (secret !== undefined) return secret;
    const known = [...secrets.keys()];
    const hint = known.length > 0 ? suggestWord(by, known) : "it has no agents";
    throw new StepFailed(place, `the intent has no agent ${by}: ${hint}`);
  };

  const name = ({ as }: Scenario["given"][number], { body }: Answer, place: readonly PropertyKey[]): void => {
    if (as === undefined) return;
    if (ids.has(as)) throw new StepFailed([...place, "as"], `${as} names a change already`);
    if (typeof body.change_id !== "string") throw new StepFailed([...place, "as"], `${as}: the answer is of no change`);
    ids.set(as, body.change_id);
  };
  /** Returns an answer in a line, with the names of changes in place of their ids. */
  const shortly = ({ request }: Step, { status, body }: Answer): string => {
    const text = `${request} answered ${status}${body.code ? ` ${body.code}` : ""}${body.error ? `: ${body.error}` : ""}`;
    return [...ids].reduce((line, [as, id]) => line.replaceAll(id, `$${as}`), text);
  };
  return { send, name, shortly, close: service.close };
}

/** Sends a request in the name of the current caller. */
type Ask = (path: string, fields: Fields, method?: "GET" | "POST") => Promise<Answer>;

/** Adds to a consent what the places of the change hold, which the console shows to its approver. */
async function addSeen(path: string, fields: Fields, ask: Ask): Promise<Fields> {
  if (path !== "/api/product/approve" || "seen" in fields) return fields;
  const { body } = await ask(`/api/product/changes/${String(fields["change_id"])}?seen=true`, {}, "GET");
  const seen = (body.seen as { digest: string }[] | undefined)?.map(({ digest }) => digest);
  return seen ? { ...fields, seen } : fields;
}

const init = (method: string, fields: Fields, secret: string | undefined): RequestInit => ({
  method,
  headers: {
    ...(method === "POST" && { "content-type": "application/json" }),
    ...(secret !== undefined && { authorization: `Bearer ${secret}` }),
  },
  ...(method === "POST" && { body: JSON.stringify(fields) }),
});

async function answerOf(fetch: Handler, request: Request): Promise<Answer> {
  const response = await fetch(request);
  const text = await response.text();
  const isJson = response.headers.get("content-type")?.startsWith("application/json") ?? false;
  return { status: response.status, body: isJson && text !== "" ? JSON.parse(text) : {} };
}
