/**
 * Sixty-four concurrent clients at two processes of the service. Afterwards each entry of the log is compared with a model, and
 * each rejection with the model at every moment at which the request may have been decided.
 */
import { expect } from "vitest";
import { readHead } from "../../../lib/audit/chain.ts";
import type { AuditEntry } from "../../../lib/audit/entry.ts";
import { DAY_MS, HOUR_MS } from "../../../lib/kit/days.ts";
import { applyDue } from "../../../lib/changes/automatic_apply.ts";
import { sampleClock } from "../../../lib/changes/certain_time.ts";
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
import { numbers } from "../../support/numbers.ts";
import type { Fields } from "../../support/requests.ts";
import { scriptedAdapter } from "../../support/scripted_adapter.ts";
import { proofFields, requestStatement } from "../../support/signed.ts";
import {
  acted,
  aged,
  answer,
  type Ask,
  type AskedAct,
  automated,
  type Idea,
  isTooLate,
  ITSELF,
  type Modelled,
  type Moved,
  proposed,
  type Rules,
  type World,
} from "./rules/consent_model.ts";
import {
  AGENTS,
  KINDS,
  NAMES,
  PENS,
  type Random,
  randomRules,
  createSecret,
  someKey,
  someLimits,
  SPELT,
  TARGETS,
  TENANTS,
} from "./rules/consent_world.ts";

const CLIENTS = 64;
const IDEAS = 12;
const ASKS =
  "approve approve approve approve approve approve approve approve deny withdraw revoke apply apply apply apply rollback review review freeze unfreeze unfreeze unfreeze pass pass".split(
    " ",
  ) as (Ask["what"] | "freeze" | "unfreeze" | "pass")[];

/** The state of the model after an entry. */
interface Moment {
  changes: ReadonlyMap<string, Modelled>;
  /** The applied changes of each target, the newest last. */
  places: Readonly<Record<string, readonly string[]>>;
  /** Applies and rollbacks of each target, the oldest first. */
  history: Readonly<Record<string, readonly Moved[]>>;
  /** Times of each agent's proposals. */
  times: Readonly<Record<string, readonly number[]>>;
  /** Time of each target's last rollback, unless a person has approved a change of it since. */
  rolledBack: Readonly<Record<string, number | undefined>>;
  frozen: boolean;
}

/** Returns the key of a target of a tenant. */
const targetKeyOf = ({ tenant = "t1", target }: Pick<Modelled, "tenant" | "target">): string => `${tenant} ${target}`;

/** Request of one client, and the response. */
interface SentRequest {
  what: Exclude<(typeof ASKS)[number], "pass"> | "propose";
  change_id?: string;
  ask?: Ask;
  act?: AskedAct;
  idea?: Idea;
  reply: Reply;
}

/** Counts of a history by kind. */
export type Seen = Map<string, number>;

interface Crowd {
  random: Random;
  clock: TestClock;
  /** The latest moment that has certainly passed for both processes. */
  certain: number;
  rules: Rules;
  manifest: Manifest;
  /** Most changes are applied automatically. */
  isCalm: boolean;
  /** Clients of two processes on one store. */
  doors: Core[];
  moments: Moment[];
  /** Timestamp of the last entry. */
  stamp: number;
  read: number;
  hasAdapter: boolean;
  /** Fields of the responses to proposals, which signatures must contain. */
  digests: Map<string, { origin: string; digest: string; places?: StatementFacts["places"]; apply_when?: string }>;
  seen: Seen;
}

/** Makes an adapter that yields to the event loop before each step. */
function slow(adapter: ProductAdapter): ProductAdapter {
  const late =
    <A extends unknown[], R>(step: (...given: A) => Promise<R>) =>
    async (...given: A): Promise<R> => {
      await new Promise(setImmediate);
      return await step(...given);
    };
  const { name, validate, apply, verify, rollback } = adapter;
  return { name, validate: late(validate), apply: late(apply), verify: late(verify), rollback: late(rollback) };
}

/** Runs one history: rounds of concurrent requests, with changes of clock, rules and keys in between. */
export async function runHistory(seed: number, seen: Seen): Promise<void> {
  const random = numbers(seed * 104_729);
  const clock = testClock();
  const { rules, manifest } = randomRules(random, clock.now(), someLimits);
  const hasAdapter = random(2) === 0;
  const adapter = hasAdapter ? slow(scriptedAdapter()) : undefined;
  const first = await openDeps({ store: memoryStore(), clock, intent: manifest, adapter, owner: "one" });
  const second = await restartDeps(first, { intent: manifest, owner: "two" });
  const moments = [{ changes: new Map(), places: {}, history: {}, times: {}, rolledBack: {}, frozen: false }];
  const crowd: Crowd = {
    random,
    clock,
    certain: -Infinity,
    rules,
    manifest,
    isCalm: random(2) === 0,
    doors: [first, second].map(makeCore),
    moments,
    stamp: 0,
    read: 0,
    hasAdapter,
    digests: new Map(),
    seen,
  };
  await round(
    crowd,
    Array.from({ length: IDEAS }, () => propose(crowd)),
    `seed ${seed}, the proposals`,
  );
  const rounds = seed % 4 === 0 ? 2 : 1;
  for (let number = 1; number <= rounds; number++) {
    if (random(3) > 0) await restartProcesses(crowd);
    const at = `seed ${seed}, round ${number}`;
    await round(
      crowd,
      Array.from({ length: CLIENTS }, () => sendRandom(crowd)),
      at,
    );
    if (random(2) === 0) await passAlone(crowd, `${at}, a pass`);
  }
  await restartProcesses(crowd);
  await passAlone(crowd, `seed ${seed}, the last pass`);
  await closeAllChanges(crowd, `seed ${seed}`);
}

/** Runs one pass without other requests, which leaves no change that is due. */
async function passAlone(crowd: Crowd, at: string): Promise<void> {
  await round(crowd, [pass(crowd)], at);
  const moment = crowd.moments.at(-1)!;
  for (const [change_id, change] of moment.changes) {
    const next = automated(change, worldOf(crowd, moment, change));
    const isLeft = !isBehind(crowd) && next !== "none" && next !== "wait";
    expect(isLeft, `${at}: ${change_id} ${JSON.stringify(next)}`).toBe(false);
    count(crowd.seen, `left to ${next as string}`);
  }
}

/** Runs one pass of automatic applies in one of the processes. */
async function pass({ doors, random }: Crowd): Promise<undefined> {
  await applyDue(doors[random(2)]!.deps);
}

/**
 * Lets time pass or sets the clock wrong by a month, and restarts both processes, mostly under other rules and keys, with or
 * without the clock samples of ten minutes.
 */
async function restartProcesses(crowd: Crowd): Promise<void> {
  const { random, clock, doors } = crowd;
  const fault = random(8);
  clock.advance(fault === 0 ? 30 * DAY_MS : fault === 1 ? -30 * DAY_MS : random(12) * HOUR_MS);
  if (random(3) > 0) Object.assign(crowd, randomRules(random, clock.now(), someLimits));
  crowd.doors = [];
  for (const { deps } of doors)
    crowd.doors.push(makeCore(await restartDeps(deps, { intent: crowd.manifest, owner: deps.owner })));
  crowd.certain = -Infinity;
  if (random(3) > 0) await sampleClocks(crowd);
}

/** Samples the clock in both processes, and lets ten minutes pass. */
async function sampleClocks(crowd: Crowd): Promise<void> {
  crowd.certain = crowd.clock.now();
  for (const { deps } of crowd.doors) await sampleClock(deps);
  crowd.clock.advance(10 * MINUTE);
}

/** Runs requests concurrently, and compares the new entries and the rejections with the model. */
async function round(crowd: Crowd, asking: Promise<SentRequest | undefined>[], at: string): Promise<void> {
  const requests = (await Promise.all(asking)).filter((one) => one !== undefined);
  const began = crowd.moments.length - 1;
  const entries = await crowd.doors[0]!.audit(`?limit=1000`);
  const answered = new Map(requests.flatMap((one) => (one.reply.status < 300 ? [[entryOf(one).id, one]] : [])));
  for (const entry of entries.slice(crowd.read)) verifyEntry(crowd, entry, answered, began, at);
  crowd.read = entries.length;
  expect([...answered.keys()], `${at}: answers without an entry`).toEqual([]);
  for (const one of requests) if (one.reply.status >= 300) verifyRejection(crowd, one, began, at);
  crowd.moments = crowd.moments.slice(-1);
}

const entryOf = ({ reply }: SentRequest): AuditEntry => reply.body.audit_entry;

const worldOf = (
  { rules, clock, certain, stamp }: Crowd,
  { frozen, places, history, rolledBack, changes, times }: Moment,
  { proposer, ...at }: Pick<Modelled, "tenant" | "target" | "proposer">,
): World => ({
  rules,
  now: clock.now(),
  certain,
  stamp,
  frozen,
  holds: places[targetKeyOf(at)]?.at(-1) ?? null,
  rolledBack: rolledBack[targetKeyOf(at)],
  history: history[targetKeyOf(at)] ?? [],
  own: {
    open: [...changes.values()].filter(
      (one) => one.proposer === proposer && (one.status === "pending_consent" || one.status === "approved"),
    ).length,
    times: times[proposer] ?? [],
  },
});

/** Verifies one entry: its author got a response with it, and the model allows it. */
function verifyEntry(
  crowd: Crowd,
  entry: AuditEntry,
  answered: Map<number, SentRequest>,
  began: number,
  at: string,
): void {
  const { id, event_type, change_id } = entry;
  const detail = parseDetail(entry.detail);
  crowd.stamp = Date.parse(entry.timestamp);
  if (event_type === "intent_in_force" || event_type === "proposal_refused") return;
  const before = crowd.moments.at(-1)!;
  const what = `${at}, entry ${id}: ${event_type} ${detail.decision ?? ""} by ${detail.approver ?? ""}`;
  count(crowd.seen, detail.decision ?? event_type);
  if (detail.decision === "expired" || detail.decision === "lapsed") {
    const change = before.changes.get(change_id)!;
    const after = aged(change, worldOf(crowd, before, change));
    expect(after.resolution, what).toBe(detail.decision);
    return push(crowd, { ...before, changes: new Map(before.changes).set(change_id, after) });
  }
  // A freeze during a step of the adapter does not stop an apply that began before.
  const moments = crowd.moments.slice(began);
  const judging = { ...before, frozen: crowd.hasAdapter ? moments.every(({ frozen }) => frozen) : before.frozen };
  if (detail.actor === ITSELF) {
    const change = before.changes.get(change_id)!;
    if (event_type === "change_applied") {
      count(crowd.seen, "applied by itself");
      expect(automated(change, worldOf(crowd, judging, change)), what).toBe("apply");
      return push(crowd, moved(crowd, before, change_id, "apply", { ...change, status: "applied" }));
    }
    expect(event_type, what).toBe("automation_stopped");
    expect([change.stopped, ["pending_consent", "approved"].includes(change.status)], what).toEqual([false, true]);
    const { code } = detail as { code: string };
    if (code === "consent_too_late") expect(isTooLate(change, crowd.stamp), what).toBe(true);
    // The reason must hold at some moment of the round; a freeze during the decision does not matter.
    else
      expect(
        moments
          .flatMap((moment) => [moment, { ...moment, frozen: false }])
          .map((moment) => automated(moment.changes.get(change_id) ?? change, worldOf(crowd, moment, change))),
        what,
      ).toContainEqual({ stops: code });
    count(crowd.seen, `stopped: ${code}`);
    return push(crowd, withChange(before, change_id, { ...change, stopped: true }));
  }
  const request = answered.get(id);
  expect(request, `${what}: no request was seen`).toBeDefined();
  expect(entryOf(request!).current_hash, what).toBe(entry.current_hash);
  answered.delete(id);
  if (request!.idea) {
    const { proposer } = request!.idea;
    const times = { ...before.times, [proposer]: [...(before.times[proposer] ?? []), crowd.stamp] };
    const made = grant(proposedAt(crowd, before, request!.idea), what);
    return push(crowd, { ...withChange(before, change_id, made), times });
  }
  if (request!.act) {
    const frozen = event_type === "service_frozen";
    expect(acted(request!.act, { rules: crowd.rules, frozen: before.frozen }), what).toBe(frozen);
    return push(crowd, { ...before, frozen });
  }
  const { ask } = request!;
  const after = grant(answerAt(crowd, judging, change_id, ask!), what);
  // A consent that comes too late stops the automation in the entry before its own.
  expect(after.stopped, what).toBe(before.changes.get(change_id)!.stopped);
  push(crowd, moved(crowd, before, change_id, ask!.what, after));
}

/** Returns the moment after a step of a change. */
function moved(crowd: Crowd, before: Moment, change_id: string, what: Ask["what"], after: Modelled): Moment {
  const place = targetKeyOf(after);
  const { stamp } = crowd;
  const own = before.places[place] ?? [];
  const next = withChange(before, change_id, after);
  const isApproved = what === "approve" && after.status === "approved";
  if (isApproved) return { ...next, rolledBack: { ...before.rolledBack, [place]: undefined } };
  if (what !== "apply" && what !== "rollback") return next;
  const step = { at: stamp, id: change_id, value: after.value, what };
  return {
    ...next,
    history: { ...before.history, [place]: [...(before.history[place] ?? []), step] },
    places: {
      ...before.places,
      [place]: what === "apply" ? [...own, change_id] : own.filter((one) => one !== change_id),
    },
    rolledBack: what === "rollback" ? { ...before.rolledBack, [place]: stamp } : before.rolledBack,
  };
}

const push = (crowd: Crowd, moment: Moment): void => void crowd.moments.push(moment);
const count = (seen: Seen, what: string): void => void seen.set(what, (seen.get(what) ?? 0) + 1);
const withChange = (moment: Moment, id: string, change: Modelled): Moment => ({
  ...moment,
  changes: new Map(moment.changes).set(id, change),
});

function grant(judged: string | Modelled, what: string): Modelled {
  expect(judged, what).not.toBeTypeOf("string");
  return judged as Modelled;
}

const proposedAt = (crowd: Crowd, moment: Moment, idea: Idea): string | Modelled =>
  proposed(idea, worldOf(crowd, moment, idea));

/** Returns the model's answer to a request at a moment; a review does not depend on time. */
function answerAt(crowd: Crowd, moment: Moment, change_id: string, ask: Ask): string | Modelled {
  const change = moment.changes.get(change_id)!;
  const world = worldOf(crowd, moment, change);
  return answer(ask.what === "review" ? change : aged(change, world), ask, world);
}

/** Returns whether the clock is more than a day behind the log, so that entries are rejected. */
const isBehind = ({ clock, stamp }: Crowd): boolean => stamp - clock.now() > DAY_MS;

/** Verifies a rejection: the model rejects for the same reason at some moment of the round. */
function verifyRejection(
  crowd: Crowd,
  { what, ask, act, idea, change_id, reply }: SentRequest,
  began: number,
  at: string,
): void {
  const { code } = reply.body;
  count(crowd.seen, code);
  // Actions that undo or stop are decided under any clock.
  const isStop = ["rollback", "deny", "revoke", "freeze"].includes(act?.what ?? what);
  if (isBehind(crowd) && !isStop) return expect(code, `${at}: ${reply.text}`).toBe("clock_behind");
  const moments = crowd.moments.slice(began);
  const reasons = new Set(
    moments.map((moment) => {
      if (idea) return proposedAt(crowd, moment, idea);
      if (act) return acted(act, { rules: crowd.rules, frozen: moment.frozen });
      return ask ? answerAt(crowd, moment, change_id!, ask) : "none";
    }),
  );
  if (crowd.hasAdapter) reasons.add("operation_in_progress");
  expect([...reasons], `${at}: ${what} by ${ask?.name} of ${change_id}: ${reply.text}`).toContain(code);
}

/** Sends a random proposal, signed if its proposer must sign. */
async function propose(crowd: Crowd): Promise<SentRequest> {
  const { random, rules } = crowd;
  const agent = rules.agents && random(2) === 0 ? AGENTS[random(2)]! : undefined;
  const proposer = agent ?? SPELT[random(SPELT.length)]!;
  const idea: Idea = {
    target: TARGETS[random(2)]!,
    tenant: TENANTS[random(8) === 0 ? 1 : 0]!,
    kind: KINDS[random(4) === 0 ? 1 : 0]!,
    proposer,
    value: random(3) === 0 ? undefined : 8 + random(10),
    minor: random(3) === 0,
    key: agent ? undefined : someKey(proposer, rules, random),
    apply_when: pickApplyWhen(crowd),
  };
  const door = crowd.doors[random(2)]!;
  const reach = idea.minor ? { tier: "minor", affected_users: 0, risk: "low", reversible: true } : {};
  const value = idea.value === undefined ? {} : { value: idea.value };
  const when = typeof idea.apply_when === "number" ? new Date(idea.apply_when).toISOString() : idea.apply_when;
  const fields = {
    ...{ tenant_id: idea.tenant!, kind: idea.kind!, target: idea.target, summary: `Idea ${random(1e9)}` },
    ...reach,
    ...value,
    ...(when && { apply_when: when }),
  };
  const proof = idea.key === undefined ? {} : await signedProposal(door, proposer, fields, idea.key);
  const reply = agent
    ? await door.post("propose", fields, { authorization: `Bearer ${createSecret(agent)}` })
    : await door.post("propose", { ...fields, proposer, ...proof });
  const { change_id, digest, places, audit_entry, apply_when } = reply.body;
  if (change_id) crowd.digests.set(change_id, { digest, origin: audit_entry.origin, places, apply_when });
  return { what: "propose", idea, reply };
}

/** Picks apply_when: mostly allowed by the rules and soon, sometimes in the past or after every deadline. */
function pickApplyWhen({ random, rules, isCalm, clock }: Crowd): Idea["apply_when"] {
  if (random(isCalm ? 6 : 2) === 0) return undefined;
  const ways = rules.automatic && random(6) > 0 ? rules.automatic : (["approved", "scheduled"] as const);
  if (ways[random(ways.length)] === "approved") return "approved";
  return clock.now() + (random(6) === 0 ? random(48) - 2 : 1 + random(6)) * HOUR_MS;
}

async function signedProposal(door: Core, approver: string, fields: object, key: string): Promise<Fields> {
  const request = { decision: "propose", approver, proposal: JSON.stringify(fields) };
  return proofFields(PENS.get(key)!, await requestStatement(door, request));
}

/** Sends a random request about a change, or about the service. */
async function sendRandom(crowd: Crowd): Promise<SentRequest | undefined> {
  const { random, rules, doors } = crowd;
  const what = ASKS[random(ASKS.length)]!;
  if (what === "pass") return pass(crowd);
  // Freezes are made rare, and in a calm history also actions that would end a change by hand.
  const isRare = what === "freeze" || (crowd.isCalm && ["apply", "deny", "revoke", "withdraw"].includes(what));
  if (isRare && random(4) > 0) return sendRandom(crowd);
  const door = doors[random(2)]!;
  const name = SPELT[random(SPELT.length)]!;
  const key = someKey(name, rules, random);
  // A signed action on the service works once: each statement is different.
  const note = `because of ${random(1e9)}`;
  if (what === "freeze" || what === "unfreeze") {
    const { origin } = (await readHead(door.deps.store))!;
    const proof = key === undefined ? {} : signed(door, { origin, decision: what, actor: name, note }, key);
    return { what, act: { what, name, key }, reply: await door.post(what, { actor: name, note, ...proof }) };
  }
  const { changes } = crowd.moments.at(-1)!;
  const open = [...changes].filter(
    ([, { status }]) => (status !== "denied" && status !== "rolled_back") || random(6) === 0,
  );
  if (open.length === 0) return propose(crowd);
  const [change_id, { proposer }] = open[random(open.length)]!;
  const isAgents = what === "withdraw" && rules.agents && proposer in rules.agents && random(2) === 0;
  const request: Ask = isAgents ? { what, name: proposer } : { what, name, emergency: random(3) === 0, key };
  return { what, change_id, ask: request, reply: await send(crowd, door, change_id, request, note) };
}

const FIELD = { withdraw: "proposer", apply: "actor", rollback: "actor" } as const;

/** Sends a request, signed with the given key. */
async function send(
  { digests, rules }: Crowd,
  door: Core,
  change_id: string,
  { what, name, emergency, key }: Ask,
  note = "because",
): Promise<Reply> {
  const fields: Fields = { change_id, note, [FIELD[what as keyof typeof FIELD] ?? "approver"]: name };
  if (what === "apply" || what === "rollback") return door.post(what, fields);
  if (rules.agents && name in rules.agents)
    return door.post(what, { change_id, note }, { authorization: `Bearer ${createSecret(name)}` });
  const isUrgent = what === "approve" && emergency === true;
  const more = isUrgent ? { emergency } : what === "review" ? { verdict: "accepted" } : {};
  const decision: Decision = isUrgent ? "approve_emergency" : what;
  const { verdict } = more as { verdict?: string };
  const { places, apply_when, ...proposal } = digests.get(change_id)!;
  const decided = {
    change_id,
    ...proposal,
    // A consent also covers the locations and apply_when.
    ...(what === "approve" && { places, apply_when }),
    decision,
    approver: name,
    note,
    ...(verdict && { verdict }),
  };
  return door.post(what, { ...fields, ...more, ...(key === undefined ? {} : signed(door, decided, key)) } as Fields);
}

type Unsigned<F> = Omit<F, "manifest_hash" | "at">;

function signed({ deps }: Core, decided: Unsigned<StatementFacts> | Unsigned<ServiceActionFacts>, key: string): Fields {
  const { manifest_hash } = deps.product!;
  return proofFields(PENS.get(key)!, statementText({ ...decided, manifest_hash, at: deps.clock.iso() }));
}

/** Verifies that the allowed actions of each open change lead to a final status, whatever rules and keys are now. */
async function closeAllChanges(crowd: Crowd, at: string): Promise<void> {
  const [door] = crowd.doors;
  // A clock behind the log is corrected, or accepted as it is.
  if (isBehind(crowd) && crowd.random(2) === 0) crowd.clock.advance(crowd.stamp - crowd.clock.now());
  if (isBehind(crowd)) await acceptClock(crowd, at);
  for (const change_id of crowd.moments.at(-1)!.changes.keys()) {
    const tried: string[] = [];
    for (let step = 0; ; step++) {
      const { status, allowed_actions } = await door!.change(change_id);
      if (status !== "pending_consent" && status !== "approved") break;
      count(crowd.seen, `a way out of ${status}`);
      const taken = await performAllowed(crowd, change_id, allowed_actions, tried);
      if (taken === undefined || step > 10)
        throw new Error(`${at}: ${change_id} is ${status} for ever: ${tried.join("; ")}`);
    }
  }
}

/** Accepts the clock as the first person who may, signed if a signature is required. */
async function acceptClock({ doors: [door], clock, rules }: Crowd, at: string): Promise<void> {
  const { origin } = (await readHead(door!.deps.store))!;
  const rejections: string[] = [];
  for (const actor of ["ops", ...NAMES]) {
    const key = rules.keys[actor];
    const decided = { origin, decision: "accept_clock", actor, note: "it is right" } as const;
    const proof = key === undefined ? {} : signed(door!, decided, key);
    const { status, text } = await door!.post("audit/accept-clock", { actor, note: decided.note, ...proof });
    if (status === 200) break;
    rejections.push(text);
  }
  expect(rejections.length, `${at}: no person may accept the clock: ${rejections.join("; ")}`).toBeLessThanOrEqual(
    NAMES.length,
  );
  expect((await readHead(door!.deps.store))!.at).toBe(clock.iso());
}

/** Performs one of the allowed actions as a person who may. */
async function performAllowed(
  crowd: Crowd,
  change_id: string,
  allowed: readonly string[],
  tried: string[],
): Promise<string | undefined> {
  const { doors, rules } = crowd;
  for (const what of ["apply", "deny", "revoke", "withdraw", "approve"] as const)
    if (allowed.includes(what))
      for (const name of what === "apply" ? ["ops"] : NAMES) {
        const { status, body } = await send(crowd, doors[0]!, change_id, { what, name, key: rules.keys[name] });
        if (status < 300) return what;
        tried.push(`${what} by ${name}: ${body.code}`);
      }
  return undefined;
}
