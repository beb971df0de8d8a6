/** Actions of the month's script: each action goes to the service as a request, and into the ledger as a line. */
import { app } from "../../../handlers/index.ts";
import type { ChatAnswer } from "../../../lib/chat/reply.ts";
import { submitDraft } from "../../../lib/changes/commands/submit_draft.ts";
import type { Change } from "../../../lib/changes/rules/change.ts";
import { runCycle } from "../../../lib/operations/cycle.ts";
import { type Client, client, type Reply } from "../client.ts";
import { testClock } from "../clock.ts";
import { openDeps, type TestDeps } from "../deps.ts";
import { filesInMemory } from "../files_in_memory.ts";
import { fails, type ScriptedAdapter, scriptedAdapter } from "../scripted_adapter.ts";
import { type Act, changeNamed, type Ledger, type LedgerChange, type LedgerTask } from "./ledger.ts";
import { GIL, INTENT, METRICS, MODEL, PERSON, PRICING, PRICING_SECRET } from "./who_and_what.ts";

/** Stated fields of a proposal; the rest is as the service has it by default. */
export type Stated = Pick<LedgerChange, "tenant" | "kind" | "target" | "summary"> &
  Partial<Pick<LedgerChange, "rationale" | "risk" | "tier" | "reversible" | "affected_users" | "kpi" | "expected">>;

/** The clock starts on the evening before the first Monday. */
const BEGIN = "2026-10-11T20:00:00.000Z";
/** When cycles run by themselves: twice at night, since what ends for good needs two looks at the clock, and at its end. */
const CYCLES = ["00:10", "00:25", "23:50"];
const MINUTE_MS = 60_000;

/** Opens the service of the month, and gives what its script can do. */
export async function openMonth() {
  const host = scriptedAdapter();
  const files = filesInMemory();
  const clock = testClock(BEGIN);
  const deps = await openDeps({ adapter: host, evolved: files, clock, intent: INTENT, identityHeader: PERSON });
  const ledger: Ledger = { acts: [], changes: new Map(), tasks: [] };
  return { ...acts(deps, client(app(deps)), host, ledger), deps, host, files, ledger };
}

const as = (person: string): HeadersInit =>
  person === PRICING ? { authorization: `Bearer ${PRICING_SECRET}` } : { [PERSON]: person };

function acts(deps: TestDeps, api: Client, host: ScriptedAdapter, ledger: Ledger) {
  const { clock } = deps;
  const note = (act: Omit<Act, "at">): void => void ledger.acts.push({ at: clock.iso(), ...act });
  const of = (name: string): LedgerChange => changeNamed(ledger, name);
  const expect = (reply: Reply, status: number, what: string): Reply["body"] => {
    if (reply.status !== status) throw new Error(`${clock.iso()} ${what}: ${reply.status} ${reply.text}`);
    return reply.body;
  };
  const post = async (path: string, fields: object, by: string, status: number, what: string) =>
    expect(await api.json(path, fields, as(by)), status, what);
  const cycle = () => runCycle(deps);

  /** Time goes by until a moment, with the cycles on its way. */
  async function at(moment: string): Promise<void> {
    const then = Date.parse(`2026-${moment.replace(" ", "T")}:00.000Z`);
    for (;;) {
      const next = nextCycle(clock.now());
      if (next > then) break;
      clock.advance(next - clock.now());
      await cycle();
    }
    if (then < clock.now()) throw new Error(`${moment} is over`);
    clock.advance(then - clock.now());
  }

  function propose(name: string, proposer: string, stated: Stated): Promise<void> {
    const { tenant, expected, ...content } = stated;
    const fields = { ...content, tenant_id: tenant, proposer, ...(expected != null && { expected_delta_k: expected }) };
    return filed(name, proposer, stated, async () => post("propose", fields, proposer, 201, `propose ${name}`));
  }

  /** A model drafts what somebody asked it for. */
  function draft(name: string, asked_by: string, { tenant, expected, ...stated }: Stated): Promise<void> {
    const { rationale, kpi, reversible, affected_users, risk, tier: _, ...content } = stated;
    const input = {
      ...content,
      kind: content.kind as Change["kind"],
      tenant_id: tenant,
      proposer: MODEL,
      ...(rationale && { rationale }),
      ...(kpi && { kpi }),
      ...(risk && { risk }),
      ...(expected != null && { expected_delta_k: expected }),
      ...(affected_users != null && { affected_users }),
      ...(reversible !== undefined && { reversible }),
    } as const;
    const asked = { asked_by, known: true, message_id: `msg_${name}` };
    return filed(
      name,
      MODEL,
      { tenant, ...stated, expected: expected ?? null },
      () => submitDraft(deps, input, asked),
      asked_by,
    );
  }

  async function filed(
    name: string,
    proposer: string,
    stated: Stated,
    file: () => Promise<Reply["body"]>,
    asked_by: string | null = null,
  ): Promise<void> {
    const { change_id, audit_entry } = await file();
    const { tier = stated.risk === "high" || stated.reversible === false ? "major" : "standard" } = stated;
    ledger.changes.set(name, {
      rationale: null,
      risk: "medium",
      reversible: true,
      affected_users: null,
      kpi: null,
      expected: null,
      ...stated,
      name,
      id: change_id,
      tier,
      proposer,
      asked_by,
      status: tier === "minor" ? "approved" : "pending_consent",
      ended: null,
      drifting: false,
    });
    note({ by: proposer, did: "proposed", change: name, text: stated.summary, ...entryIn({ audit_entry }) });
  }

  /** `leaves`: how the change stands afterwards, as the script knows it. */
  async function approve(
    name: string,
    by: string,
    text = "",
    { leaves = "approved", emergency = false }: { leaves?: "approved" | "pending_consent"; emergency?: boolean } = {},
  ): Promise<void> {
    const fields = { change_id: of(name).id, approver: by, note: text, ...(emergency && { emergency }) };
    const body = await post("approve", fields, by, 200, `approve ${name}`);
    if (body.status !== leaves) throw new Error(`${name} is ${body.status} after ${by}'s consent`);
    of(name).status = leaves;
    note({ by, did: "approved", change: name, text, leaves, ...(emergency && { emergency }), ...entryIn(body) });
  }

  const ends =
    (path: "deny" | "withdraw" | "revoke", did: "denied" | "withdrawn" | "revoked") =>
    async (name: string, by: string, text: string): Promise<void> => {
      const who = path === "withdraw" ? { proposer: by } : { approver: by };
      const body = await post(path, { change_id: of(name).id, ...who, note: text }, by, 200, `${path} ${name}`);
      Object.assign(of(name), { status: "denied", ended: did });
      note({ by, did, change: name, text, ...entryIn(body) });
    };

  async function apply(name: string, by: string): Promise<void> {
    const body = await post("apply", { change_id: of(name).id }, by, 200, `apply ${name}`);
    of(name).status = "applied";
    note({ by, did: "applied", change: name, ...entryIn(body) });
  }

  async function rollback(name: string, by: string, text: string): Promise<void> {
    const body = await post("rollback", { change_id: of(name).id, note: text }, by, 200, `roll back ${name}`);
    of(name).status = "rolled_back";
    note({ by, did: "rolled_back", change: name, text, ...entryIn(body) });
  }

  /** The host says no, with this message. */
  async function failing(operation: "apply" | "rollback", name: string, by: string, text: string): Promise<void> {
    host.on(operation, fails(text), 1);
    await post(operation, { change_id: of(name).id }, by, 502, `${operation} ${name}`);
    note({ by, did: operation === "apply" ? "apply_failed" : "rollback_failed", change: name, text });
  }

  /** The service says no, for this reason. */
  async function applyRefused(name: string, by: string, code: string): Promise<void> {
    const body = await post("apply", { change_id: of(name).id }, by, 409, `apply ${name}`);
    if (body.code !== code) throw new Error(`${name} is refused for ${body.code}`);
    note({ by, did: "apply_refused", change: name, text: code });
  }

  /** Returns the effects of time or of a rule of the intent on a change by now. */
  function itself(did: "expired" | "lapsed" | "rolled_back" | "drifted" | "drift_mended", name: string, text = "") {
    const change = of(name);
    if (did === "expired" || did === "lapsed") Object.assign(change, { status: "denied", ended: did });
    if (did === "rolled_back") change.status = "rolled_back";
    if (did === "drifted" || did === "drift_mended") change.drifting = did === "drifted";
    note({ by: null, did, change: name, ...(text && { text }) });
  }

  async function review(name: string, by: string, text: string): Promise<void> {
    const fields = { change_id: of(name).id, approver: by, verdict: "accepted", note: text };
    const body = await post("review", fields, by, 200, `review ${name}`);
    note({ by, did: "reviewed", change: name, text, ...entryIn(body) });
  }

  async function refused(by: string, { tenant, ...content }: Stated): Promise<void> {
    await post("propose", { ...content, tenant_id: tenant, proposer: by }, by, 403, `propose ${content.target}`);
    note({ by, did: "refused", text: content.target });
  }

  async function feed(values: Readonly<Record<string, number>>, text = ""): Promise<void> {
    const reply = await api.json("kpi", { ...values, actor: METRICS, note: text });
    note({ by: METRICS, did: "fed", text, values, ...entryIn(expect(reply, 200, "feed")) });
  }

  async function freeze(by: string, text: string, until: string): Promise<void> {
    const body = await post("freeze", { actor: by, note: text, until }, by, 200, "freeze");
    note({ by, did: "froze", text, ...entryIn(body) });
  }

  async function task(by: string, asked: Pick<LedgerTask, "title" | "priority" | "dimension">): Promise<void> {
    const fields = { title: asked.title, priority: asked.priority, required_dimension: asked.dimension };
    const { task_id } = await post("/api/tasks", fields, by, 201, asked.title);
    ledger.tasks.push({ ...asked, id: task_id, status: "queued", ratings: [] });
    note({ by, did: "asked_for_task", text: asked.title });
  }

  async function rate(title: string, by: string, rating: number, comment: string): Promise<void> {
    const task = ledger.tasks.find((one) => one.title === title)!;
    await post("/api/task/feedback", { task_id: task.id, rating, comment, rater: by }, by, 200, `rate ${title}`);
    Object.assign(task, { status: "completed" }).ratings.push({ by, rating, comment });
    note({ by, did: "rated_task", text: title });
  }

  async function say(by: string, text: string): Promise<void> {
    await post("/api/chat", { message: text, author: by }, by, 200, text);
    note({ by, did: "said", text });
  }

  return {
    ...{ at, cycle, propose, draft, approve, apply, applyRefused, failing, rollback, itself, review, refused },
    ...{ feed, freeze, task, rate, say },
    deny: ends("deny", "denied"),
    withdraw: ends("withdraw", "withdrawn"),
    revoke: ends("revoke", "revoked"),
    idOf: (name: string): string => of(name).id,
    /** Reads as somebody; as nobody with `null`. */
    get: (path: string, by: string | null = GIL) => api.get(path, by === null ? {} : as(by)),
    /** Runs an action; this leaves no line in the ledger. */
    run: (action: string) => post("/api/action/run-now", { action }, GIL, 200, action),
    /** Asks the chat, and returns its answer; this leaves no line in the ledger. */
    ask: async (message: string, by = GIL): Promise<ChatAnswer> =>
      post("/api/chat", { message, author: by }, by, 200, message),
  };
}

/** Context of the month's script. */
export type Month = Awaited<ReturnType<typeof openMonth>>;

const entryIn = ({ audit_entry }: { audit_entry?: { id: number } }): Pick<Act, "entry"> =>
  audit_entry ? { entry: audit_entry.id } : {};

function nextCycle(now: number): number {
  const day = new Date(now).toISOString().slice(0, 10);
  const today = CYCLES.map((time) => Date.parse(`${day}T${time}:00.000Z`)).find((moment) => moment > now);
  return today ?? Date.parse(`${day}T${CYCLES[0]}:00.000Z`) + 24 * 60 * MINUTE_MS;
}
