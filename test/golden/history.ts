/** Runs a fixed history of a product, with an entry of each type in the log and a record in most collections. */
import { app } from "../../handlers/index.ts";
import { readHead } from "../../lib/audit/chain.ts";
import { migrate } from "../../lib/changes/moving/migrate.ts";
import { decideRollouts } from "../../lib/changes/rollouts/decide_rollouts.ts";
import type { ChangeRecord } from "../../lib/changes/rules/record.ts";
import { submitDraft } from "../../lib/changes/commands/submit_draft.ts";
import { portableSha256 } from "../../lib/kit/platform.ts";
import { runCycle } from "../../lib/operations/cycle.ts";
import { memoryStore } from "../../lib/store/memory.ts";
import type { Store } from "../../lib/store/store.ts";
import { DAY, HOUR, MINUTE } from "../support/clock.ts";
import { openDeps, type TestDeps } from "../support/deps.ts";
import { API, GithubStub, HOOK_SECRET, hookRequest } from "../support/github_stub.ts";
import { makeMessage } from "../support/mcp.ts";
import { rewindingStore } from "../support/rewinding_store.ts";
import { fails } from "../support/scripted_adapter.ts";
import type { Signer } from "../support/signed.ts";
import { type Recorder, createRecorder } from "./recorder.ts";
import type { Manifest } from "../support/intents.ts";
import { AGENT, AGENT_SECRET, ANA, BO, INTENT, MANDATE_INTENT, createSetup, createWatch } from "./setup.ts";

/** The service at the end of the history, with its recorded answers and the ids of some changes. */
export interface History {
  deps: TestDeps;
  /** The last store of the service. */
  store: Store;
  api: Recorder;
  changes: Record<"seats" | "discount" | "pending" | "mandate", string>;
}

/** The service during the history, with shorter calls for its steps. */
interface HistoryContext extends ReturnType<typeof createSetup> {
  deps: TestDeps;
  store: Store;
  api: Recorder;
  changes: History["changes"];
  propose(fields: object): Promise<string>;
  /** Consents with a signature. */
  sign(signer: Signer, decision: "approve" | "review" | "note", fields: Record<string, unknown>): Promise<void>;
  run(action: string): Promise<unknown>;
}

const asAgent = { authorization: `Bearer ${AGENT_SECRET}` };

/** Runs the history and returns the open service. */
export async function runHistory(): Promise<History> {
  const first = memoryStore();
  const setup = createSetup(first);
  const api = createRecorder(setup.options.clock);
  const context: HistoryContext = {
    ...setup,
    api,
    deps: undefined as never,
    store: first,
    changes: { seats: "", discount: "", pending: "", mandate: "" },
    async propose(fields) {
      const proposal = { tenant_id: "acme", kind: "config", summary: "Change a setting", proposer: "pat", ...fields };
      return (await api.post("propose", proposal)).change_id;
    },
    async sign(signer, decision, fields) {
      const { statement } = await api.post("consent-statement", { decision, ...fields });
      const { approver, ...rest } = fields;
      const name = decision === "note" ? "actor" : "approver";
      const proof = { proof: signer.sign(statement), at: JSON.parse(statement).at };
      await api.post(decision, { ...rest, [name]: approver, ...proof });
    },
    run: (action) => api.post("/api/action/run-now", { action }),
  };
  await openService(context, first);
  await changeSettings(context);
  await endWithoutApply(context);
  await handleProblems(context);
  await useOperations(context);
  await letTimePass(context);
  await moveAndLoseEnd(context, first);
  await leaveChangesOpen(context);
  await rollOut(context);
  await requestRelease(context);
  await useMandate(context);
  return context;
}

async function openService(context: HistoryContext, store: Store, intent: Manifest = INTENT): Promise<void> {
  context.store = store;
  context.deps = await openDeps({ ...context.options, store, intent });
  Object.assign(context.deps, { watch: createWatch((await readHead(store))!.origin) });
  context.api.setService(app(context.deps));
}

/** Changes that are consented to in each way, applied and rolled back. */
async function changeSettings({ api, adapter, propose, sign, changes }: HistoryContext): Promise<void> {
  await api.post("kpi", { csat: 4, nrr_quarterly: 1.02, actor: "metrics", note: "Monthly close" });
  const seats = { target: "limits.seats", value: { seats: 20 }, kpi: "csat", expected_delta_k: 0.1 };
  changes.seats = await propose({ ...seats, summary: "Allow 20 seats", rationale: "Sales asks for it", risk: "low" });
  await sign(ANA, "approve", { change_id: changes.seats, approver: "ana", note: "d'accord – “été” 🙂" });
  await api.post("apply", { change_id: changes.seats, note: "after lunch" }, { "idempotency-key": "apply-seats" });
  const banner = await propose({ tenant_id: "*", target: "ui.banner", value: "Welcome", kind: "feature_flag" });
  await sign(BO, "approve", { change_id: banner, approver: "bo", note: "" });
  await api.post("apply", { change_id: banner });
  await proposeMinor({ api });

  const discount = { tenant_id: "acme", kind: "config", target: "pricing.cap", summary: "Cap discounts", value: 15 };
  const proposal = { name: "propose_change", arguments: { ...discount, risk: "high", reversible: true } };
  const message = makeMessage("modern", "tools/call", proposal);
  const sent = { jsonrpc: "2.0", id: 1, method: "tools/call", params: message.params };
  const answered = await api.post("/mcp", sent, { ...asAgent, ...message.headers });
  const change_id = (changes.discount = answered.result.structuredContent.change_id);
  await sign(BO, "approve", { change_id, approver: "bo", note: "Within budget" });
  await api.post("approve", { change_id, approver: "cy", note: "Agreed" });
  adapter.on("apply", fails('disk "full" at \\share'), 1);
  await api.exchange("POST", "apply", { change_id });
  await api.post("apply", { change_id, actor: "cy" });
  await sign(ANA, "note", { change_id, approver: "ana", item: "rationale", note: "Larger ones won nothing" });
  adapter.on("rollback", fails("the host is away"), 1);
  await api.exchange("POST", "rollback", { change_id });
  await api.post("rollback", { change_id, note: "Deals were lost" });
}

/** A signed proposal that needs no consent. */
async function proposeMinor({ api }: Pick<HistoryContext, "api">): Promise<void> {
  const minor = { tier: "minor", risk: "low", affected_users: 3, reversible: true, proposer: "ana" };
  const proposal = {
    tenant_id: "acme",
    kind: "config",
    target: "ui.small.hint",
    summary: "Hint",
    value: true,
    ...minor,
  };
  const { statement } = await api.post("consent-statement", { decision: "propose", approver: "ana", proposal });
  const proof = { proof: ANA.sign(statement), at: JSON.parse(statement).at };
  const { change_id } = await api.post("propose", { ...proposal, ...proof });
  await api.post("apply", { change_id });
}

/** Changes that end without being applied. */
async function endWithoutApply({ api, propose, deps }: HistoryContext): Promise<void> {
  const followup = { tenant_id: "globex", affected_users: 80, expected_delta_k: 2, proposer: "pat" };
  const { change_id } = await api.post("propose-crm-followup", followup);
  await api.post("deny", { change_id, approver: "cy", note: "Not this quarter" });
  await api.post("erase", { change_id, actor: "cy", note: "Request 4711" });
  const withdrawn = await propose({ target: "ui.footer" });
  await api.post("withdraw", { change_id: withdrawn, proposer: "pat", note: "Too early" });
  const revoked = await propose({ target: "ui.header", value: null });
  await api.post("approve", { change_id: revoked, approver: "cy" });
  await api.post("revoke", { change_id: revoked, approver: "cy", note: "Old figures" });
  const forbidden = { tenant_id: "acme", kind: "config", target: "billing.rate", summary: "No", proposer: "pat" };
  await api.exchange("POST", "propose", forbidden);
  const draft = { tenant_id: "acme", kind: "config", target: "mail.digest", summary: "Send fewer mails" } as const;
  const requested = { asked_by: "ana", isVerified: true, message_id: "msg_1" };
  await submitDraft(deps, { ...draft, proposer: "llm:model", value: "weekly" }, requested);
}

/** A freeze with an emergency, drift, a guardrail that trips, and a record that was edited. */
async function handleProblems({ api, adapter, propose, sign, run, deps, changes }: HistoryContext): Promise<void> {
  await api.post("freeze", { actor: "cy", note: "Quarter end", until: "2026-01-06T08:00:00Z" });
  const urgent = await propose({ target: "mail.server", value: "backup", risk: "high" });
  await api.post("approve", { change_id: urgent, approver: "cy", emergency: true, note: "Mails do not leave" });
  await api.post("apply", { change_id: urgent });
  await sign(ANA, "review", { change_id: urgent, approver: "ana", verdict: "accepted", note: "It was right" });
  await api.post("unfreeze", { actor: "cy", note: "Closed" });
  adapter.host.set(changes.seats, "absent");
  await run("check_drift");
  const theme = await propose({ target: "ui.theme", value: "dark", kpi: "csat", expected_delta_k: 0.2 });
  await api.post("approve", { change_id: theme, approver: "cy" });
  await api.post("apply", { change_id: theme });
  await api.post("kpi", { csat: 3.2 });
  await run("cycle");
  await deps.store.transact(async (tx) => {
    const record = (await tx.get("changes", changes.seats))!.value as ChangeRecord;
    tx.put("changes", changes.seats, { ...record, change: { ...record.change, status: "approved" } });
  });
  await run("rebuild");
}

/** Tasks, chat, actions, and a query to peers. */
async function useOperations({ api, run }: HistoryContext): Promise<void> {
  const task = { title: "What failed last week?", priority: "high", required_dimension: "R" };
  const { task_id } = await api.post("/api/tasks", task);
  await run("run_next_task");
  await api.post("/api/task/feedback", { task_id, rating: 4, comment: "Short", rater: "ana" });
  await api.post("/api/chat", { message: "What waits for me?", author: "ana" });
  await api.post("/api/peer/query?path=/api/state");
  for (const action of ["verify_audit", "evaluate_outcomes"]) await run(action);
}

/** A change without a decision expires, and a clock runs ahead. */
async function letTimePass({ api, propose, run, deps }: HistoryContext): Promise<void> {
  const { clock } = deps;
  await propose({ target: "ui.logo", value: "blue", summary: "Paint the logo" });
  // The expiry is recorded when a second cycle confirms the time of the first.
  clock.advance(73 * HOUR);
  await runCycle(deps);
  clock.advance(11 * MINUTE);
  await runCycle(deps);
  clock.advance(14 * DAY);
  await api.post("kpi", { csat: 4.4, nrr_quarterly: 1.05 });
  await run("cycle");
  await run("write_report");
  clock.shift(400 * DAY);
  await api.post("kpi", { csat: 4.3 });
  clock.shift(-400 * DAY);
  await api.post("audit/accept-clock", { actor: "cy", note: "It ran ahead" });
}

/** The store is moved into another, which loses its end. */
async function moveAndLoseEnd(context: HistoryContext, first: Store): Promise<void> {
  const { api, options } = context;
  const moved = rewindingStore();
  const to = { to: moved.store, name: "the new store", actor: "cy" };
  await migrate({ from: first.bulk!, name: "the old store" }, to, { clock: options.clock, sha256: portableSha256 });
  await openService(context, moved.store);
  const before = await moved.copy();
  await api.post("kpi", { csat: 4.5 });
  await moved.goBack(before);
  await api.exchange("POST", "kpi", { csat: 4.5 });
  const { length, head } = (await readHead(moved.store))!;
  await api.post("audit/accept-loss", { actor: "cy", note: "A failover", length, head });
  await api.post("unfreeze", { actor: "cy" });
  await api.post("kpi", { csat: 4.5 });
}

/** Leaves a change in each open status, and has the log cosigned. */
async function leaveChangesOpen(context: HistoryContext): Promise<void> {
  const { api, adapter, propose, sign, run, changes } = context;
  changes.pending = await propose({ target: "limits.seats", value: { seats: 30 }, tier: "major" });
  await sign(BO, "approve", { change_id: changes.pending, approver: "bo" });
  const ready = await propose({ target: "ui.font", value: "serif", affected_users: 4000 });
  await api.post("approve", { change_id: ready, approver: "cy" }, { "idempotency-key": "approve-font" });
  await api.post("/api/tasks", { title: "Which KPI moved?" });
  adapter.canRestore = () => true;
  adapter.restore = async ({ change_id }) => {
    adapter.host.set(change_id, "applied");
    return { result: "restored", replaced_digest: null };
  };
  const urgent = await propose({ target: "mail.queue", value: 2 });
  await api.post("approve", { change_id: urgent, approver: "cy", emergency: true, note: "The queue is full" });
  await api.post("apply", { change_id: urgent });
  await run("check_drift");
  await api.post("restore", { change_id: changes.seats, actor: "cy", note: "Removed by hand" });
  await applyAutomatically(context);
  await run("checkpoint");
  const { body } = await api.exchange("GET", "audit/checkpoint");
  const note = (body as { checkpoint: string }).checkpoint;
  await api.post("/add-checkpoint", `old 0\n\n${note}`, { "content-type": "text/plain" });
}

/** A change that is rolled out in steps on the record: held, resumed, advanced, and rolled back. */
async function rollOut({ api, adapter, propose, deps }: HistoryContext): Promise<void> {
  adapter.carries = ({ target }) => !target.startsWith("wave.");
  const stages = {
    fed_by: AGENT,
    users_a_day: 20000,
    steps: [1000, 5000].map((share) => ({ share, advance: "budget", min_hours: 0 })),
    watch: [{ kpi: "conversion", kind: "binary", good: "up", allowed: 0.05 }],
  };
  const change_id = await propose({ target: "wave.menu", value: "new", stages });
  await api.post("approve", { change_id, approver: "cy" });
  await api.post("apply", { change_id });
  await api.post("stage", { change_id, step: 0, action: "hold", actor: "cy", note: "Wait for the clients" });
  await api.post("stage", { change_id, step: 0, action: "resume", actor: "cy" });
  const feed = async (step: number, treated: { n: number; sum: number }) => {
    const control = { n: step === 0 ? 90000 : 50000, sum: step === 0 ? 18000 : 10000 };
    const as_of = new Date(deps.clock.now()).toISOString();
    const row = { step, kpi: "conversion", as_of, treated, control };
    const sent = { change_id, rows: [row] };
    if (treated.sum > treated.n) await api.exchange("POST", "samples", sent, asAgent);
    else await api.post("samples", sent, asAgent);
    await decideRollouts(deps);
  };
  // Impossible totals, then as many successes as in the control, then half as many.
  await feed(0, { n: 10000, sum: 10001 });
  await feed(0, { n: 10000, sum: 2000 });
  await feed(1, { n: 50000, sum: 5000 });
}

/** A release whose tool calls the gate after its approval. */
async function requestRelease({ api, adapter, propose, deps }: HistoryContext): Promise<void> {
  const head = "6f1ed002ab5595859014ebf0951522d9c7a4b3f2";
  const target = "deploy/42/production";
  const change_id = await propose({ target, value: { repository_id: 42, environment: "production", head } });
  await api.post("approve", { change_id, approver: "cy" });
  await api.post("/api/gate", { target, tenant_id: "acme", head });
  const github = new GithubStub(deps.clock);
  const gate = { name: "deploys", tenant_id: "acme", secret: HOOK_SECRET, app: { api: API } };
  Object.assign(adapter, { githubGates: [gate] });
  const deployment = github.deploy({ repository_id: 42, environment: "production", sha: head });
  const { headers } = hookRequest(JSON.stringify(github.body(deployment)));
  await api.post("/api/gate/github", github.body(deployment) as Record<string, unknown>, Object.fromEntries(headers));
}

/** A mandate under an intent with `policy.mandates`: signed, suspended by a rollback, narrowed, resumed and revoked. */
async function useMandate(context: HistoryContext): Promise<void> {
  const { api, changes, store } = context;
  await openService(context, store, MANDATE_INTENT);
  const until = new Date(context.deps.clock.now() + 20 * DAY).toISOString();
  const bounds = { agent: AGENT, targets: ["price.*"], kinds: ["config"], tenants: ["acme"], max_per_day: 5, until };
  const { mandate_id } = await api.post("mandates", { ...bounds, note: "Prices follow the market" });
  const sign = async (decision: string, path: string, fields: object = {}) => {
    const about = { mandate_id, approver: "ana", ...fields };
    const { statement } = await api.post("consent-statement", { decision, ...about });
    await api.post(path, { ...about, proof: ANA.sign(statement), at: JSON.parse(statement).at });
  };
  await sign("mandate", "mandate-sign");
  const content = {
    tenant_id: "acme",
    kind: "config",
    target: "price.basic",
    value: 104,
    summary: "Follow the market",
  };
  const { change_id } = await api.post("propose", { ...content, risk: "low", reversible: true }, asAgent);
  await api.post("apply", { change_id });
  await api.post("rollback", { change_id });
  await sign("mandate_narrow", "mandate-narrow", { narrow: { max_per_day: 3 } });
  await sign("mandate_resume", "mandate-resume");
  await sign("mandate_revoke", "mandate-revoke", { note: "The quarter is over" });
  changes.mandate = mandate_id;
  await openService(context, store, { ...INTENT, update_epoch: 3 });
}

/** Changes that apply automatically: one is applied, one is rejected by its target system, and one waits for its time. */
async function applyAutomatically({ api, adapter, propose, sign, run, deps }: HistoryContext): Promise<void> {
  const change_id = await propose({ target: "ui.badge", value: 3, apply_when: "approved" });
  await sign(ANA, "approve", { change_id, approver: "ana", note: "Whenever it is ready" });
  await run("cycle");
  const rejected = await propose({ target: "ui.ribbon", value: 4, apply_when: "approved" });
  await api.post("approve", { change_id: rejected, approver: "cy" });
  adapter.on("validate", () => ({ ok: false, reason: "no ribbon is shown" }), 1);
  await run("cycle");
  await propose({ target: "ui.seal", value: 5, apply_when: new Date(deps.clock.now() + 24 * HOUR).toISOString() });
}
