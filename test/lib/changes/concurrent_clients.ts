/**
 * Sixty-four concurrent clients at two processes of the service. Afterwards each entry of the log is compared with a model, and
 * each rejection with every state of the model in which the request may have been decided.
 */
import { expect } from "vitest";
import { readHead } from "../../../lib/audit/chain.ts";
import type { AuditEntry } from "../../../lib/audit/entry.ts";
import { DAY_MS, HOUR_MS } from "../../../lib/kit/days.ts";
import { applyDue } from "../../../lib/changes/automatic_apply.ts";
import { sampleClock } from "../../../lib/changes/confirmed_time.ts";
import type { ProductAdapter } from "../../../lib/changes/operations/adapter_port.ts";
import { parseDetail } from "../../../lib/changes/rules/event.ts";
import { type Decision, type StatementFacts, statementText } from "../../../lib/changes/rules/statement.ts";
import type { ServiceActionFacts } from "../../../lib/changes/rules/service_action.ts";
import { memoryStore } from "../../../lib/store/memory.ts";
import type { Reply } from "../../support/client.ts";
import { MINUTE, type TestClock, testClock } from "../../support/clock.ts";
import { type Core, makeCore } from "../../support/core.ts";
import { openDeps, restartDeps } from "../../support/deps.ts";
import type { Manifest } from "../../support/intents.ts";
import { seededIntegers } from "../../support/seeded_integers.ts";
import type { Fields } from "../../support/requests.ts";
import { scriptedAdapter } from "../../support/scripted_adapter.ts";
import { proofFields, requestStatement } from "../../support/signed.ts";
import {
  decideServiceRequest,
  expireIfDue,
  decideRequest,
  type ChangeRequest,
  type ServiceRequest,
  decideAutomaticApply,
  type ProposalRequest,
  isConsentTooLate,
  AUTOMATIC_ACTOR,
  type ModelChange,
  type TargetOperation,
  decideProposal,
  type Rules,
  type World,
} from "./rules/consent_model.ts";
import {
  AGENTS,
  KINDS,
  NAMES,
  SIGNERS,
  type Random,
  drawValidRules,
  agentSecret,
  drawKey,
  drawExtraRules,
  SPELLED_NAMES,
  TARGETS,
  TENANTS,
} from "./rules/random_rules.ts";

const CLIENTS = 64;
const PROPOSALS_PER_HISTORY = 12;
/** Actions of random requests, the frequent ones several times; `pass` runs a pass of automatic applies. */
const REQUESTED_ACTIONS =
  "approve approve approve approve approve approve approve approve deny withdraw revoke apply apply apply apply rollback review review freeze unfreeze unfreeze unfreeze pass pass".split(
    " ",
  ) as (ChangeRequest["action"] | "freeze" | "unfreeze" | "pass")[];

/** The state of the model after an entry. */
interface ModelState {
  changes: ReadonlyMap<string, ModelChange>;
  /** Ids of the applied changes of each target, the newest last. */
  appliedChanges: Readonly<Record<string, readonly string[]>>;
  /** Applies and rollbacks of each target, the oldest first. */
  history: Readonly<Record<string, readonly TargetOperation[]>>;
  /** Times of each agent's proposals. */
  proposalTimes: Readonly<Record<string, readonly number[]>>;
  /** Time of each target's last rollback, unless a person has approved a change of it since. */
  lastRollbackAt: Readonly<Record<string, number | undefined>>;
  frozen: boolean;
}

/** Returns the key of a target of a tenant. */
const toTargetKey = ({ tenant = "t1", target }: Pick<ModelChange, "tenant" | "target">): string =>
  `${tenant} ${target}`;

/** Request of one client with its response; one of `changeRequest`, `serviceRequest` and `proposal` is set. */
interface SentRequest {
  action: Exclude<(typeof REQUESTED_ACTIONS)[number], "pass"> | "propose";
  change_id?: string;
  changeRequest?: ChangeRequest;
  serviceRequest?: ServiceRequest;
  proposal?: ProposalRequest;
  reply: Reply;
}

/** Numbers of entries, error codes and other results by name. */
export type Tally = Map<string, number>;

/** One running history: the service, the model, and settings of the random requests. */
interface HistoryRun {
  random: Random;
  clock: TestClock;
  /** The latest time that has certainly passed for both processes. */
  certain: number;
  rules: Rules;
  manifest: Manifest;
  /** Most changes are applied automatically. */
  isMostlyAutomatic: boolean;
  /** Clients of two processes on one store. */
  clients: Core[];
  /** States of the model since the start of the round; the last one is the current one. */
  states: ModelState[];
  /** Timestamp of the last entry. */
  entryTime: number;
  /** Number of entries already compared. */
  verifiedEntries: number;
  hasAdapter: boolean;
  /** Fields of the responses to proposals, which signatures must contain. */
  statementFields: Map<
    string,
    { origin: string; digest: string; places?: StatementFacts["places"]; apply_when?: string }
  >;
  tally: Tally;
}

/** Makes an adapter that yields to the event loop before each step. */
function delaySteps(adapter: ProductAdapter): ProductAdapter {
  const delayed =
    <A extends unknown[], R>(step: (...args: A) => Promise<R>) =>
    async (...args: A): Promise<R> => {
      await new Promise(setImmediate);
      return await step(...args);
    };
  const { name, validate, apply, verify, rollback } = adapter;
  return {
    name,
    validate: delayed(validate),
    apply: delayed(apply),
    verify: delayed(verify),
    rollback: delayed(rollback),
  };
}

/** Runs one history: rounds of concurrent requests, with changes of clock, rules and keys in between. */
export async function runHistory(seed: number, tally: Tally): Promise<void> {
  const random = seededIntegers(seed * 104_729);
  const clock = testClock();
  const { rules, manifest } = drawValidRules(random, clock.now(), drawExtraRules);
  const hasAdapter = random(2) === 0;
  const adapter = hasAdapter ? delaySteps(scriptedAdapter()) : undefined;
  const first = await openDeps({ store: memoryStore(), clock, intent: manifest, adapter, owner: "one" });
  const second = await restartDeps(first, { intent: manifest, owner: "two" });
  const states = [
    { changes: new Map(), appliedChanges: {}, history: {}, proposalTimes: {}, lastRollbackAt: {}, frozen: false },
  ];
  const run: HistoryRun = {
    random,
    clock,
    certain: -Infinity,
    rules,
    manifest,
    isMostlyAutomatic: random(2) === 0,
    clients: [first, second].map(makeCore),
    states,
    entryTime: 0,
    verifiedEntries: 0,
    hasAdapter,
    statementFields: new Map(),
    tally,
  };
  const proposals = Array.from({ length: PROPOSALS_PER_HISTORY }, () => propose(run));
  await runRound(run, proposals, `seed ${seed}, the proposals`);
  const rounds = seed % 4 === 0 ? 2 : 1;
  for (let number = 1; number <= rounds; number++) {
    if (random(3) > 0) await restartProcesses(run);
    const label = `seed ${seed}, round ${number}`;
    const requests = Array.from({ length: CLIENTS }, () => sendRandom(run));
    await runRound(run, requests, label);
    if (random(2) === 0) await verifyPass(run, `${label}, a pass`);
  }
  await restartProcesses(run);
  await verifyPass(run, `seed ${seed}, the last pass`);
  await closeAllChanges(run, `seed ${seed}`);
}

/** Runs one pass without other requests, and verifies that afterwards no change is due. */
async function verifyPass(run: HistoryRun, label: string): Promise<void> {
  await runRound(run, [runPass(run)], label);
  const state = run.states.at(-1)!;
  for (const [change_id, change] of state.changes) {
    const next = decideAutomaticApply(change, worldFor(run, state, change));
    const isDue = !isBehind(run) && next !== "none" && next !== "wait";
    expect(isDue, `${label}: ${change_id} ${JSON.stringify(next)}`).toBe(false);
    countResult(run.tally, `left to ${next as string}`);
  }
}

/** Runs one pass of automatic applies in one of the processes. */
async function runPass({ clients, random }: HistoryRun): Promise<undefined> {
  await applyDue(clients[random(2)]!.deps);
}

/**
 * Lets time pass or sets the clock wrong by a month, and restarts both processes, in two of three cases under other rules and
 * keys. In two of three cases it also samples the clock afterwards.
 */
async function restartProcesses(run: HistoryRun): Promise<void> {
  const { random, clock, clients } = run;
  const clockErrors = [30 * DAY_MS, -30 * DAY_MS];
  // In two of eight cases the clock is set wrong; otherwise up to eleven hours pass.
  clock.advance(clockErrors[random(8)] ?? random(12) * HOUR_MS);
  if (random(3) > 0) Object.assign(run, drawValidRules(random, clock.now(), drawExtraRules));
  run.clients = [];
  for (const { deps } of clients)
    run.clients.push(makeCore(await restartDeps(deps, { intent: run.manifest, owner: deps.owner })));
  run.certain = -Infinity;
  if (random(3) > 0) await sampleClocks(run);
}

/** Samples the clock in both processes, and lets ten minutes pass. */
async function sampleClocks(run: HistoryRun): Promise<void> {
  run.certain = run.clock.now();
  for (const { deps } of run.clients) await sampleClock(deps);
  run.clock.advance(10 * MINUTE);
}

/** Runs requests concurrently, and compares the new entries and the rejections with the model. */
async function runRound(run: HistoryRun, sent: Promise<SentRequest | undefined>[], label: string): Promise<void> {
  const requests = (await Promise.all(sent)).filter((request) => request !== undefined);
  const rejected = requests.filter(({ reply }) => reply.status >= 300);
  // Successful requests by the id of the entry that their response names.
  const granted = new Map(
    requests.flatMap((request) => (request.reply.status < 300 ? [[toReplyEntry(request).id, request]] : [])),
  );
  const entries = await run.clients[0]!.audit("?limit=1000");
  for (const entry of entries.slice(run.verifiedEntries)) verifyEntry(run, entry, granted, label);
  run.verifiedEntries = entries.length;
  expect([...granted.keys()], `${label}: answers without an entry`).toEqual([]);
  for (const request of rejected) verifyRejection(run, request, label);
  run.states = run.states.slice(-1);
}

/** Returns the entry that a successful response names. */
const toReplyEntry = ({ reply }: SentRequest): AuditEntry => reply.body.audit_entry;

/** Returns the input of the model's rules for a request about a change or a proposal. */
function worldFor(
  { rules, clock, certain, entryTime }: HistoryRun,
  { frozen, appliedChanges, history, lastRollbackAt, changes, proposalTimes }: ModelState,
  change: Pick<ModelChange, "tenant" | "target" | "proposer">,
): World {
  const key = toTargetKey(change);
  const openChanges = [...changes.values()].filter(
    ({ proposer, status }) => proposer === change.proposer && (status === "pending_consent" || status === "approved"),
  );
  return {
    rules,
    now: clock.now(),
    certain,
    entryTime,
    frozen,
    changeInForce: appliedChanges[key]?.at(-1) ?? null,
    lastRollbackAt: lastRollbackAt[key],
    history: history[key] ?? [],
    agentChanges: { open: openChanges.length, proposalTimes: proposalTimes[change.proposer] ?? [] },
  };
}

/** Verifies one entry: a client got a response with it, and the model allows it. */
function verifyEntry(run: HistoryRun, entry: AuditEntry, granted: Map<number, SentRequest>, prefix: string): void {
  const { id, event_type, change_id } = entry;
  const detail = parseDetail(entry.detail);
  run.entryTime = Date.parse(entry.timestamp);
  // Entries of these two events do not change the state of the model.
  if (event_type === "intent_in_force" || event_type === "proposal_refused") return;
  const before = run.states.at(-1)!;
  const label = `${prefix}, entry ${id}: ${event_type} ${detail.decision ?? ""} by ${detail.approver ?? ""}`;
  countResult(run.tally, detail.decision ?? event_type);
  if (detail.decision === "expired" || detail.decision === "lapsed") {
    const change = before.changes.get(change_id)!;
    const after = expireIfDue(change, worldFor(run, before, change));
    expect(after.resolution, label).toBe(detail.decision);
    return pushState(run, withChange(before, change_id, after));
  }
  // A freeze during a step of the adapter does not stop an apply that began before.
  const wasFrozen = run.hasAdapter ? run.states.every(({ frozen }) => frozen) : before.frozen;
  const stateAtDecision = { ...before, frozen: wasFrozen };
  if (detail.actor === AUTOMATIC_ACTOR) {
    const code = "code" in detail ? String(detail.code) : undefined;
    return verifyAutomaticEntry(run, entry, { stateAtDecision, code, label });
  }
  const request = granted.get(id);
  expect(request, `${label}: no request was sent`).toBeDefined();
  expect(toReplyEntry(request!).current_hash, label).toBe(entry.current_hash);
  granted.delete(id);
  const { proposal, serviceRequest, changeRequest } = request!;
  if (proposal) {
    const times = [...(before.proposalTimes[proposal.proposer] ?? []), run.entryTime];
    const change = expectChange(decideProposalAt(run, before, proposal), label);
    const proposalTimes = { ...before.proposalTimes, [proposal.proposer]: times };
    return pushState(run, { ...withChange(before, change_id, change), proposalTimes });
  }
  if (serviceRequest) {
    const frozen = event_type === "service_frozen";
    expect(decideServiceRequest(serviceRequest, { rules: run.rules, frozen: before.frozen }), label).toBe(frozen);
    return pushState(run, { ...before, frozen });
  }
  const after = expectChange(decideRequestAt(run, stateAtDecision, change_id, changeRequest!), label);
  // A consent that comes too late stops the automation in the entry before its own.
  expect(after.stopped, label).toBe(before.changes.get(change_id)!.stopped);
  pushState(run, applyOperation(run, change_id, changeRequest!.action, after));
}

/** Verifies an entry of the service itself: an automatic apply, or the end of automation with its error code. */
function verifyAutomaticEntry(
  run: HistoryRun,
  { event_type, change_id }: AuditEntry,
  { stateAtDecision, code, label }: { stateAtDecision: ModelState; code: string | undefined; label: string },
): void {
  const before = run.states.at(-1)!;
  const change = before.changes.get(change_id)!;
  if (event_type === "change_applied") {
    countResult(run.tally, "applied by itself");
    expect(decideAutomaticApply(change, worldFor(run, stateAtDecision, change)), label).toBe("apply");
    return pushState(run, applyOperation(run, change_id, "apply", { ...change, status: "applied" }));
  }
  expect(event_type, label).toBe("automation_stopped");
  expect([change.stopped, ["pending_consent", "approved"].includes(change.status)], label).toEqual([false, true]);
  if (code === "consent_too_late") expect(isConsentTooLate(change, run.entryTime), label).toBe(true);
  else {
    // The reason must hold in some state of the round; a freeze during the decision does not matter.
    const states = run.states.flatMap((state) => [state, { ...state, frozen: false }]);
    const decisions = states.map((state) =>
      decideAutomaticApply(state.changes.get(change_id) ?? change, worldFor(run, state, change)),
    );
    expect(decisions, label).toContainEqual({ stops: code });
  }
  countResult(run.tally, `stopped: ${code}`);
  pushState(run, withChange(before, change_id, { ...change, stopped: true }));
}

/** Returns the state after a request about a change; `after` is the change after the request. */
function applyOperation(
  run: HistoryRun,
  change_id: string,
  action: ChangeRequest["action"],
  after: ModelChange,
): ModelState {
  const { entryTime } = run;
  const before = run.states.at(-1)!;
  const key = toTargetKey(after);
  const next = withChange(before, change_id, after);
  if (action === "approve" && after.status === "approved")
    return { ...next, lastRollbackAt: { ...before.lastRollbackAt, [key]: undefined } };
  if (action !== "apply" && action !== "rollback") return next;
  const operation = { at: entryTime, id: change_id, value: after.value, action };
  const history = { ...before.history, [key]: [...(before.history[key] ?? []), operation] };
  const applied = before.appliedChanges[key] ?? [];
  if (action === "apply")
    return { ...next, history, appliedChanges: { ...before.appliedChanges, [key]: [...applied, change_id] } };
  return {
    ...next,
    history,
    appliedChanges: { ...before.appliedChanges, [key]: applied.filter((id) => id !== change_id) },
    lastRollbackAt: { ...before.lastRollbackAt, [key]: entryTime },
  };
}

const pushState = (run: HistoryRun, state: ModelState): void => void run.states.push(state);
const countResult = (tally: Tally, name: string): void => void tally.set(name, (tally.get(name) ?? 0) + 1);
const withChange = (state: ModelState, id: string, change: ModelChange): ModelState => ({
  ...state,
  changes: new Map(state.changes).set(id, change),
});

/** Fails if the model's answer is an error code; otherwise returns the change. */
function expectChange(answer: string | ModelChange, label: string): ModelChange {
  expect(answer, label).not.toBeTypeOf("string");
  return answer as ModelChange;
}

const decideProposalAt = (run: HistoryRun, state: ModelState, proposal: ProposalRequest): string | ModelChange =>
  decideProposal(proposal, worldFor(run, state, proposal));

/** Returns the model's answer to a request in a state; a review does not depend on time. */
function decideRequestAt(
  run: HistoryRun,
  state: ModelState,
  change_id: string,
  changeRequest: ChangeRequest,
): string | ModelChange {
  const change = state.changes.get(change_id)!;
  const world = worldFor(run, state, change);
  const current = changeRequest.action === "review" ? change : expireIfDue(change, world);
  return decideRequest(current, changeRequest, world);
}

/** Returns true if the clock is more than a day behind the log, so that entries are rejected. */
const isBehind = ({ clock, entryTime }: HistoryRun): boolean => entryTime - clock.now() > DAY_MS;

/** Verifies a rejection: the model rejects for the same reason in some state of the round. */
function verifyRejection(
  run: HistoryRun,
  { action, changeRequest, serviceRequest, proposal, change_id, reply }: SentRequest,
  label: string,
): void {
  const { code } = reply.body;
  countResult(run.tally, code);
  // Actions that undo or stop are decided under any clock.
  const isStop = ["rollback", "deny", "revoke", "freeze"].includes(serviceRequest?.action ?? action);
  if (isBehind(run) && !isStop) return expect(code, `${label}: ${reply.text}`).toBe("clock_behind");
  const reasons = new Set(
    run.states.map((state) => {
      if (proposal) return decideProposalAt(run, state, proposal);
      if (serviceRequest) return decideServiceRequest(serviceRequest, { rules: run.rules, frozen: state.frozen });
      return changeRequest ? decideRequestAt(run, state, change_id!, changeRequest) : "none";
    }),
  );
  if (run.hasAdapter) reasons.add("operation_in_progress");
  expect([...reasons], `${label}: ${action} by ${changeRequest?.name} of ${change_id}: ${reply.text}`).toContain(code);
}

/** Sends a random proposal, signed if its proposer must sign. */
async function propose(run: HistoryRun): Promise<SentRequest> {
  const { random, rules } = run;
  const agent = rules.agents && random(2) === 0 ? AGENTS[random(2)]! : undefined;
  const proposer = agent ?? SPELLED_NAMES[random(SPELLED_NAMES.length)]!;
  const proposal: ProposalRequest = {
    target: TARGETS[random(2)]!,
    tenant: TENANTS[random(8) === 0 ? 1 : 0]!,
    kind: KINDS[random(4) === 0 ? 1 : 0]!,
    proposer,
    value: random(3) === 0 ? undefined : 8 + random(10),
    requestsMinor: random(3) === 0,
    key: agent ? undefined : drawKey(proposer, rules, random),
    apply_when: pickApplyWhen(run),
  };
  const client = run.clients[random(2)]!;
  const { tenant, kind, target, value, key } = proposal;
  const apply_when =
    typeof proposal.apply_when === "number" ? new Date(proposal.apply_when).toISOString() : proposal.apply_when;
  const fields = {
    ...{ tenant_id: tenant!, kind: kind!, target, summary: `Proposal ${random(1e9)}` },
    ...(proposal.requestsMinor && { tier: "minor", affected_users: 0, risk: "low", reversible: true }),
    ...(value !== undefined && { value }),
    ...(apply_when && { apply_when }),
  };
  const proof = key === undefined ? {} : await signProposal(client, proposer, fields, key);
  const reply = agent
    ? await client.post("propose", fields, { authorization: `Bearer ${agentSecret(agent)}` })
    : await client.post("propose", { ...fields, proposer, ...proof });
  const { change_id, digest, places, audit_entry } = reply.body;
  if (change_id)
    run.statementFields.set(change_id, {
      ...{ digest, origin: audit_entry.origin, places },
      apply_when: reply.body.apply_when,
    });
  return { action: "propose", proposal, reply };
}

/** Picks apply_when: mostly allowed by the rules and soon, sometimes in the past or after every deadline. */
function pickApplyWhen({ random, rules, isMostlyAutomatic, clock }: HistoryRun): ProposalRequest["apply_when"] {
  if (random(isMostlyAutomatic ? 6 : 2) === 0) return undefined;
  const modes = rules.allowedApplyWhen && random(6) > 0 ? rules.allowedApplyWhen : (["approved", "scheduled"] as const);
  if (modes[random(modes.length)] === "approved") return "approved";
  return clock.now() + (random(6) === 0 ? random(48) - 2 : 1 + random(6)) * HOUR_MS;
}

async function signProposal(client: Core, approver: string, fields: object, key: string): Promise<Fields> {
  const request = { decision: "propose", approver, proposal: JSON.stringify(fields) };
  return proofFields(SIGNERS.get(key)!, await requestStatement(client, request));
}

/** Sends a random request about a change, or about the service. */
async function sendRandom(run: HistoryRun): Promise<SentRequest | undefined> {
  const { random, rules, clients } = run;
  const action = REQUESTED_ACTIONS[random(REQUESTED_ACTIONS.length)]!;
  if (action === "pass") return runPass(run);
  // Freezes are made rare, and in a mostly automatic history also actions by which people end a change.
  const isRare =
    action === "freeze" || (run.isMostlyAutomatic && ["apply", "deny", "revoke", "withdraw"].includes(action));
  if (isRare && random(4) > 0) return sendRandom(run);
  const client = clients[random(2)]!;
  const name = SPELLED_NAMES[random(SPELLED_NAMES.length)]!;
  const key = drawKey(name, rules, random);
  // A signed action on the service works once: each statement is different.
  const note = `because of ${random(1e9)}`;
  if (action === "freeze" || action === "unfreeze") {
    const { origin } = (await readHead(client.deps.store))!;
    const proof = key === undefined ? {} : signFields(client, { origin, decision: action, actor: name, note }, key);
    return {
      action,
      serviceRequest: { action, name, key },
      reply: await client.post(action, { actor: name, note, ...proof }),
    };
  }
  const { changes } = run.states.at(-1)!;
  const candidates = [...changes].filter(
    ([, { status }]) => (status !== "denied" && status !== "rolled_back") || random(6) === 0,
  );
  if (candidates.length === 0) return propose(run);
  const [change_id, { proposer }] = candidates[random(candidates.length)]!;
  const isSentByAgent = action === "withdraw" && rules.agents && proposer in rules.agents && random(2) === 0;
  const request: ChangeRequest = isSentByAgent
    ? { action, name: proposer }
    : { action, name, emergency: random(3) === 0, key };
  return { action, change_id, changeRequest: request, reply: await send(run, client, change_id, request, note) };
}

/** Request fields that name the caller; other actions have `approver`. */
const CALLER_FIELDS = { withdraw: "proposer", apply: "actor", rollback: "actor" } as const;

/** Sends a request, signed with a key. */
async function send(
  { statementFields, rules }: HistoryRun,
  client: Core,
  change_id: string,
  { action, name, emergency, key }: ChangeRequest,
  note = "because",
): Promise<Reply> {
  const fields: Fields = { change_id, note, [CALLER_FIELDS[action as keyof typeof CALLER_FIELDS] ?? "approver"]: name };
  if (action === "apply" || action === "rollback") return client.post(action, fields);
  if (rules.agents && name in rules.agents)
    return client.post(action, { change_id, note }, { authorization: `Bearer ${agentSecret(name)}` });
  const isEmergency = action === "approve" && emergency === true;
  const decision: Decision = isEmergency ? "approve_emergency" : action;
  const verdict = action === "review" ? { verdict: "accepted" } : {};
  const { places, apply_when, ...proposal } = statementFields.get(change_id)!;
  const facts = {
    change_id,
    ...proposal,
    // A consent also covers the locations and apply_when.
    ...(action === "approve" && { places, apply_when }),
    decision,
    approver: name,
    note,
    ...verdict,
  };
  const proof = key === undefined ? {} : signFields(client, facts, key);
  return client.post(action, { ...fields, ...(isEmergency && { emergency }), ...verdict, ...proof } as Fields);
}

/** Fields of a statement without those that `signFields` adds. */
type Unsigned<F> = Omit<F, "manifest_hash" | "at">;

/** Signs a statement; returns the request fields of the proof. */
function signFields(
  { deps }: Core,
  facts: Unsigned<StatementFacts> | Unsigned<ServiceActionFacts>,
  key: string,
): Fields {
  const { manifest_hash } = deps.product!;
  return proofFields(SIGNERS.get(key)!, statementText({ ...facts, manifest_hash, at: deps.clock.iso() }));
}

/** Verifies that the allowed actions of each open change lead to a final status under any rules and keys. */
async function closeAllChanges(run: HistoryRun, label: string): Promise<void> {
  const [client] = run.clients;
  // A clock behind the log is corrected, or accepted as it is.
  if (isBehind(run) && run.random(2) === 0) run.clock.advance(run.entryTime - run.clock.now());
  if (isBehind(run)) await acceptClock(run, label);
  for (const change_id of run.states.at(-1)!.changes.keys()) {
    const rejections: string[] = [];
    for (let step = 0; ; step++) {
      const { status, allowed_actions } = await client!.change(change_id);
      if (status !== "pending_consent" && status !== "approved") break;
      countResult(run.tally, `an action for ${status}`);
      const taken = await performAllowed(run, change_id, allowed_actions, rejections);
      if (taken === undefined || step > 10)
        throw new Error(`${label}: ${change_id} cannot leave ${status}: ${rejections.join("; ")}`);
    }
  }
}

/** Accepts the clock as the first person who may, signed if a signature is required. */
async function acceptClock({ clients: [client], clock, rules }: HistoryRun, label: string): Promise<void> {
  const { origin } = (await readHead(client!.deps.store))!;
  const rejections: string[] = [];
  for (const actor of ["ops", ...NAMES]) {
    const key = rules.keys[actor];
    const facts = { origin, decision: "accept_clock", actor, note: "it is right" } as const;
    const proof = key === undefined ? {} : signFields(client!, facts, key);
    const { status, text } = await client!.post("audit/accept-clock", { actor, note: facts.note, ...proof });
    if (status === 200) break;
    rejections.push(text);
  }
  // One of the callers, "ops" and the names, was accepted.
  expect(rejections.length, `${label}: no person may accept the clock: ${rejections.join("; ")}`).toBeLessThanOrEqual(
    NAMES.length,
  );
  expect((await readHead(client!.deps.store))!.at).toBe(clock.iso());
}

/** Performs one of the allowed actions as a person with permission; adds the rejections to `rejections`. */
async function performAllowed(
  run: HistoryRun,
  change_id: string,
  allowed: readonly string[],
  rejections: string[],
): Promise<string | undefined> {
  const { clients, rules } = run;
  for (const action of ["apply", "deny", "revoke", "withdraw", "approve"] as const)
    if (allowed.includes(action))
      for (const name of action === "apply" ? ["ops"] : NAMES) {
        const { status, body } = await send(run, clients[0]!, change_id, { action, name, key: rules.keys[name] });
        if (status < 300) return action;
        rejections.push(`${action} by ${name}: ${body.code}`);
      }
  return undefined;
}
