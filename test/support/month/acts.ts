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
import { type Act, findChange, type Ledger, type LedgerChange, type LedgerTask } from "./ledger.ts";
import { GIL, INTENT, METRICS, MODEL, PERSON, PRICING, PRICING_SECRET } from "./people.ts";

/** Fields of a proposal; the service has defaults for all others. */
export type Stated = Pick<LedgerChange, "tenant" | "kind" | "target" | "summary"> &
  Partial<Pick<LedgerChange, "rationale" | "risk" | "tier" | "reversible" | "affected_users" | "kpi" | "expected">>;

/** The clock starts on the evening before the first Monday. */
const BEGIN = "2026-10-11T20:00:00.000Z";
/** Times of the daily cycles. Two cycles follow midnight, since an expiry needs two samples of the clock. */
const CYCLES = ["00:10", "00:25", "23:50"];
const MINUTE_MS = 60_000;

/** Opens the service of the month, and returns the actions of the script. */
export async function openMonth() {
  const host = scriptedAdapter();
  const files = filesInMemory();
  const clock = testClock(BEGIN);
  const deps = await openDeps({ adapter: host, evolved: files, clock, intent: INTENT, identityHeader: PERSON });
  const ledger: Ledger = { acts: [], changes: new Map(), tasks: [] };
  return { ...makeActions(deps, client(app(deps)), host, ledger), deps, host, files, ledger };
}

/** Returns the credentials of a person, whom the proxy names, or of the pricing agent, which has a secret. */
const as = (person: string): HeadersInit =>
  person === PRICING ? { authorization: `Bearer ${PRICING_SECRET}` } : { [PERSON]: person };

function makeActions(deps: TestDeps, api: Client, host: ScriptedAdapter, ledger: Ledger) {
  const { clock } = deps;
  const record = (act: Omit<Act, "at">): void => void ledger.acts.push({ at: clock.iso(), ...act });
  const getChange = (name: string): LedgerChange => findChange(ledger, name);
  const requireStatus = (reply: Reply, status: number, action: string): Reply["body"] => {
    if (reply.status !== status) throw new Error(`${clock.iso()} ${action}: ${reply.status} ${reply.text}`);
    return reply.body;
  };
  const post = async (path: string, fields: object, by: string, status: number, action: string) =>
    requireStatus(await api.json(path, fields, as(by)), status, action);
  const cycle = () => runCycle(deps);

  /** Advances the clock to a time of 2026, such as `10-12 09:00`, and runs the cycles up to then. */
  async function advanceTo(time: string): Promise<void> {
    const goal = Date.parse(`2026-${time.replace(" ", "T")}:00.000Z`);
    for (;;) {
      const next = nextCycle(clock.now());
      if (next > goal) break;
      clock.advance(next - clock.now());
      await cycle();
    }
    if (goal < clock.now()) throw new Error(`${time} is over`);
    clock.advance(goal - clock.now());
  }

  function propose(name: string, proposer: string, stated: Stated): Promise<void> {
    const { tenant, expected, ...content } = stated;
    const fields = { ...content, tenant_id: tenant, proposer, ...(expected != null && { expected_delta_k: expected }) };
    return recordProposal(name, proposer, stated, async () =>
      post("propose", fields, proposer, 201, `propose ${name}`),
    );
  }

  /** Submits a draft that a person requested from the model. A draft states no tier. */
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
    const request = { asked_by, isVerified: true, message_id: `msg_${name}` };
    return recordProposal(
      name,
      MODEL,
      { tenant, ...stated, expected: expected ?? null },
      () => submitDraft(deps, input, request),
      asked_by,
    );
  }

  /** Submits a proposal and records it with the service's defaults for the fields that it does not state. */
  async function recordProposal(
    name: string,
    proposer: string,
    stated: Stated,
    submit: () => Promise<Reply["body"]>,
    asked_by: string | null = null,
  ): Promise<void> {
    const { change_id, audit_entry } = await submit();
    const defaultTier = stated.risk === "high" || stated.reversible === false ? "major" : "standard";
    const { tier = defaultTier } = stated;
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
    record({ by: proposer, did: "proposed", change: name, text: stated.summary, ...entryIn({ audit_entry }) });
  }

  /** Approves a change and requires that its status is `leaves` afterwards. */
  async function approve(
    name: string,
    by: string,
    text = "",
    { leaves = "approved", emergency = false }: { leaves?: "approved" | "pending_consent"; emergency?: boolean } = {},
  ): Promise<void> {
    const fields = { change_id: getChange(name).id, approver: by, note: text, ...(emergency && { emergency }) };
    const body = await post("approve", fields, by, 200, `approve ${name}`);
    if (body.status !== leaves) throw new Error(`${name} is ${body.status} after ${by}'s consent`);
    getChange(name).status = leaves;
    record({ by, did: "approved", change: name, text, leaves, ...(emergency && { emergency }), ...entryIn(body) });
  }

  const makeEndAction =
    (path: "deny" | "withdraw" | "revoke", did: "denied" | "withdrawn" | "revoked") =>
    async (name: string, by: string, text: string): Promise<void> => {
      const who = path === "withdraw" ? { proposer: by } : { approver: by };
      const body = await post(path, { change_id: getChange(name).id, ...who, note: text }, by, 200, `${path} ${name}`);
      Object.assign(getChange(name), { status: "denied", ended: did });
      record({ by, did, change: name, text, ...entryIn(body) });
    };

  async function apply(name: string, by: string): Promise<void> {
    const body = await post("apply", { change_id: getChange(name).id }, by, 200, `apply ${name}`);
    getChange(name).status = "applied";
    record({ by, did: "applied", change: name, ...entryIn(body) });
  }

  async function rollback(name: string, by: string, text: string): Promise<void> {
    const body = await post("rollback", { change_id: getChange(name).id, note: text }, by, 200, `roll back ${name}`);
    getChange(name).status = "rolled_back";
    record({ by, did: "rolled_back", change: name, text, ...entryIn(body) });
  }

  /** Requests an operation that fails on the host product with this message. */
  async function failing(operation: "apply" | "rollback", name: string, by: string, text: string): Promise<void> {
    host.on(operation, fails(text), 1);
    await post(operation, { change_id: getChange(name).id }, by, 502, `${operation} ${name}`);
    record({ by, did: operation === "apply" ? "apply_failed" : "rollback_failed", change: name, text });
  }

  /** Requests an apply that the service rejects with this code. */
  async function applyRefused(name: string, by: string, code: string): Promise<void> {
    const body = await post("apply", { change_id: getChange(name).id }, by, 409, `apply ${name}`);
    if (body.code !== code) throw new Error(`the apply of ${name} is rejected with ${body.code}`);
    record({ by, did: "apply_refused", change: name, text: code });
  }

  /** Records the effect of time or of a rule of the intent on a change. */
  function recordByTime(
    did: "expired" | "lapsed" | "rolled_back" | "drifted" | "drift_mended",
    name: string,
    text = "",
  ) {
    const change = getChange(name);
    if (did === "expired" || did === "lapsed") Object.assign(change, { status: "denied", ended: did });
    if (did === "rolled_back") change.status = "rolled_back";
    if (did === "drifted" || did === "drift_mended") change.drifting = did === "drifted";
    record({ by: null, did, change: name, ...(text && { text }) });
  }

  async function review(name: string, by: string, text: string): Promise<void> {
    const fields = { change_id: getChange(name).id, approver: by, verdict: "accepted", note: text };
    const body = await post("review", fields, by, 200, `review ${name}`);
    record({ by, did: "reviewed", change: name, text, ...entryIn(body) });
  }

  /** Sends a proposal that the service rejects with 403. */
  async function proposeForbidden(by: string, { tenant, ...content }: Stated): Promise<void> {
    await post("propose", { ...content, tenant_id: tenant, proposer: by }, by, 403, `propose ${content.target}`);
    record({ by, did: "refused", text: content.target });
  }

  async function feed(values: Readonly<Record<string, number>>, text = ""): Promise<void> {
    const reply = await api.json("kpi", { ...values, actor: METRICS, note: text });
    record({ by: METRICS, did: "fed", text, values, ...entryIn(requireStatus(reply, 200, "feed")) });
  }

  async function freeze(by: string, text: string, until: string): Promise<void> {
    const body = await post("freeze", { actor: by, note: text, until }, by, 200, "freeze");
    record({ by, did: "froze", text, ...entryIn(body) });
  }

  async function task(by: string, fields: Pick<LedgerTask, "title" | "priority" | "dimension">): Promise<void> {
    const { title, priority, dimension } = fields;
    const { task_id } = await post("/api/tasks", { title, priority, required_dimension: dimension }, by, 201, title);
    ledger.tasks.push({ ...fields, id: task_id, status: "queued", ratings: [] });
    record({ by, did: "asked_for_task", text: title });
  }

  async function rate(title: string, by: string, rating: number, comment: string): Promise<void> {
    const task = ledger.tasks.find((candidate) => candidate.title === title)!;
    await post("/api/task/feedback", { task_id: task.id, rating, comment, rater: by }, by, 200, `rate ${title}`);
    task.status = "completed";
    task.ratings.push({ by, rating, comment });
    record({ by, did: "rated_task", text: title });
  }

  async function say(by: string, text: string): Promise<void> {
    await post("/api/chat", { message: text, author: by }, by, 200, text);
    record({ by, did: "said", text });
  }

  return {
    advanceTo,
    cycle,
    propose,
    draft,
    approve,
    apply,
    applyRefused,
    failing,
    rollback,
    recordByTime,
    review,
    proposeForbidden,
    feed,
    freeze,
    task,
    rate,
    say,
    deny: makeEndAction("deny", "denied"),
    withdraw: makeEndAction("withdraw", "withdrawn"),
    revoke: makeEndAction("revoke", "revoked"),
    idOf: (name: string): string => getChange(name).id,
    /** Reads as a person, or without a name for `null`. */
    get: (path: string, by: string | null = GIL) => api.get(path, by === null ? {} : as(by)),
    /** Runs an action, which the ledger does not record. */
    run: (action: string) => post("/api/action/run-now", { action }, GIL, 200, action),
    /** Asks the chat, and returns its answer; the ledger does not record this. */
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
  const nextOfDay = CYCLES.map((time) => Date.parse(`${day}T${time}:00.000Z`)).find((cycleTime) => cycleTime > now);
  return nextOfDay ?? Date.parse(`${day}T${CYCLES[0]}:00.000Z`) + 24 * 60 * MINUTE_MS;
}
