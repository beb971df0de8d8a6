/** Compares the state machine with a model in random scenarios of consent. */
import { serviceActor, signerActor } from "../../../../lib/changes/rules/actor.ts";
import { expect, test } from "vitest";
import { AppError } from "../../../../lib/kit/errors.ts";
import { DAY_MS, HOUR_MS } from "../../../../lib/kit/days.ts";
import { portableSha256 } from "../../../../lib/kit/platform.ts";
import { isConsentExpected } from "../../../../lib/changes/rules/expected_consent.ts";
import { isEmergencyApproved } from "../../../../lib/changes/rules/break_glass.ts";
import { isReviewDue } from "../../../../lib/changes/rules/current_state.ts";
import type { Change } from "../../../../lib/changes/rules/change.ts";
import type { Command } from "../../../../lib/changes/rules/command.ts";
import { parseEvent } from "../../../../lib/changes/rules/event.ts";
import type { Freeze } from "../../../../lib/changes/rules/freeze.ts";
import { listHolds, requireNoHold } from "../../../../lib/changes/rules/hold.ts";
import type { Intent, LoadedIntent } from "../../../../lib/changes/rules/intent.ts";
import { listMissingConsents } from "../../../../lib/changes/rules/missing.ts";
import { findOverdueStep, requireInTime, explainOverdue } from "../../../../lib/changes/rules/overdue.ts";
import { toChange, type ChangeRecord, listDifferences } from "../../../../lib/changes/rules/record.ts";
import { requireUnmovedTarget, type ChangeInForce } from "../../../../lib/changes/rules/stale_target.ts";
import { evolve } from "../../../../lib/changes/rules/evolve.ts";
import { listKeys } from "../../../../lib/changes/rules/signing.ts";
import type { SignatureResult } from "../../../../lib/changes/rules/require_signature.ts";
import { decide, requireOperable } from "../../../../lib/changes/rules/state_machine.ts";
import { histories } from "../../../support/length.ts";
import { numbers } from "../../../support/numbers.ts";
import {
  aged,
  answer,
  type Ask,
  type Idea,
  isComplete,
  type Modelled,
  proposed,
  type Rules,
  type World,
} from "./consent_model.ts";
import { randomRules, someKey, SPELT, TARGETS } from "./consent_world.ts";

const ASKS: Ask["what"][] = "approve approve approve approve deny withdraw revoke apply apply rollback review".split(
  " ",
) as Ask["what"][];
const STEPS = 120;
const CHANGES = 6;
const iso = (ms: number): string => new Date(ms).toISOString();

/** The name of a plan that sets all targets, and its entries. */
const PLAN = TARGETS.join("+");
const ENTRIES = TARGETS.map((target) => ({ tenant_id: "t1", target, value: 1 }));
const splitTargets = (target: string): string[] => target.split("+");

/** Returns the changes in force on the targets of a change, as `owner` for the rules and `holds` for the model. */
function findOwners(
  applied: ReadonlyMap<string, string[]>,
  target: string,
): { owner: ChangeInForce; holds: string | null } {
  const owners = splitTargets(target).map((one) => applied.get(one)!.at(-1) ?? null);
  return target === PLAN ? { owner: owners, holds: owners.join() } : { owner: owners[0]!, holds: owners[0]! };
}

/** Combines the rules in the order in which a request applies them. */
function machine() {
  const records = new Map<string, ChangeRecord>();
  const entries: Parameters<typeof parseEvent>[0][] = [];
  const enact = (change_id: string, command: Command, { intent, manifest_hash }: LoadedIntent, at: number) => {
    const before = records.get(change_id);
    const isSigned = "signature" in command && command.signature !== undefined && "key" in command.signature;
    const actor = isSigned ? signerActor("the signer") : serviceActor();
    const decided = decide(before?.change, command, { intent, manifest_hash, sha256: portableSha256, actor });
    const event = { id: entries.length + 1, timestamp: iso(at), event_type: decided.event_type, change_id };
    entries.push({ ...event, detail: JSON.stringify(decided.detail) });
    const state = evolve(before, parseEvent(entries.at(-1)!));
    if (!state) throw new Error(`${command.type} does not follow`);
    records.set(change_id, { ...state, change: toChange(state, decided.content ?? before?.change) } as ChangeRecord);
  };
  const toSignature = (name: string, key: string | undefined, { policy }: Intent): SignatureResult | undefined => {
    if (key === undefined) return undefined;
    const known = listKeys(name, policy.signing).find(({ id }) => id === key);
    if (!known) return { refused: "this key does not stand under the name" };
    return { statement: "", proof: { type: "ssh", signature: "" }, key: known };
  };
  const toCommand = ({ what, name, emergency, key }: Ask, target_owner: ChangeInForce, intent: Intent): Command => {
    const decided = { name, note: "because", signature: toSignature(name, key, intent) };
    if (what === "approve") return { type: what, ...decided, emergency, target_owner };
    if (what === "review") return { type: what, ...decided, verdict: "accepted" };
    if (what === "apply" || what === "rollback") return { type: "succeed", operation: what, circumstance: {} };
    return { type: what, ...decided };
  };
  const toProposal = (
    { target, proposer, minor, key }: Idea,
    { owner: target_owner, now, rolledBack }: World & { owner: ChangeInForce },
    intent: Intent,
  ): Command => {
    const isRecent = rolledBack !== undefined && now - rolledBack <= DAY_MS;
    const rolled_back = isRecent ? { target: splitTargets(target)[0]!, at: iso(rolledBack) } : undefined;
    const reach = minor ? ({ tier: "minor", affected_users: 0, risk: "low", reversible: true } as const) : {};
    const stated = target === PLAN ? { target: TARGETS[0]!, sets: ENTRIES } : { target };
    const input = { tenant_id: "t1", kind: "config", ...stated, summary: "s", proposer, ...reach } as const;
    const signature = toSignature(proposer, key, intent);
    return { type: "propose", input, minor_today: 0, target_owner, rolled_back, live: [], signature };
  };
  const admit = (
    change: Change,
    target_owner: ChangeInForce | undefined,
    world: World & { owner: ChangeInForce },
    freeze: Freeze | undefined,
    intent: Intent,
  ) => {
    const { policy } = intent;
    requireOperable(change, "apply", intent);
    requireUnmovedTarget({ before: target_owner, now: world.owner }, policy);
    if (!isEmergencyApproved(change, intent)) requireNoHold(listHolds(policy, freeze, world.now));
  };
  return { records, entries, enact, toCommand, toProposal, admit };
}

/** Runs a scenario; adds the error codes and statuses to `seen`. */
function runScenario(seed: number, seen: Set<string>): void {
  const random = numbers(seed * 7919);
  const { records, entries, enact, toCommand, toProposal, admit } = machine();
  const model = new Map<string, Modelled>();
  const applied = new Map<string, string[]>(TARGETS.map((target) => [target, []]));
  const rolledBack = new Map<string, number>();
  let now = Date.UTC(2026, 0, 2);
  let certain = now;
  let { rules, loaded } = randomRules(random, now);
  let freeze: Freeze | undefined;
  for (let step = 0; step < STEPS; step++) {
    const what = `seed ${seed}, step ${step}`;
    const chance = random(16);
    if (chance === 0) ({ rules, loaded } = randomRules(random, now));
    else if (chance === 1) {
      // The clock advances, and mostly also the time that has certainly passed.
      now += random(12) * HOUR_MS;
      if (random(3) > 0) certain = now;
    } else if (chance === 2) {
      const until = random(2) === 0 ? iso(now + 3 * HOUR_MS) : null;
      freeze = freeze ? undefined : { actor: "ops", note: "", until, at: iso(now), entry: 0 };
    } else if (model.size === 0 || (chance < 5 && model.size < CHANGES)) {
      const proposer = SPELT[random(SPELT.length)]!;
      const target = random(4) === 0 ? PLAN : TARGETS[random(2)]!;
      const idea: Idea = { target, proposer, minor: random(3) === 0, key: someKey(proposer, rules, random) };
      const change_id = `chg_${model.size}`;
      const last = Math.max(...splitTargets(target).map((one) => rolledBack.get(one) ?? -Infinity));
      const world = {
        ...{ rules, now, frozen: false, ...findOwners(applied, target) },
        ...(last > -Infinity && { rolledBack: last }),
      };
      const expected = proposed(idea, world);
      const reported = errorCodeOf(() => enact(change_id, toProposal(idea, world, loaded.intent), loaded, now));
      expect(reported, `${what}: a proposal by ${proposer}`).toBe(typeof expected === "string" ? expected : undefined);
      if (typeof expected === "string") seen.add(expected);
      else model.set(change_id, expected);
    } else {
      const change_id = `chg_${random(model.size)}`;
      const name = SPELT[random(SPELT.length)]!;
      const ask: Ask = {
        what: ASKS[random(ASKS.length)]!,
        name,
        emergency: random(3) === 0,
        key: someKey(name, rules, random),
      };
      const { target } = model.get(change_id)!;
      const frozen = freeze !== undefined && (freeze.until === null || now < Date.parse(freeze.until));
      const world = { rules, now, certain, frozen, ...findOwners(applied, target) };

      const overdue = findOverdueStep(records.get(change_id)!.change, loaded.intent.policy, certain);
      if (overdue) enact(change_id, { type: overdue }, loaded, now);
      const before = aged(model.get(change_id)!, world);
      const expected = answer(before, ask, world);
      const { change, target_owner } = records.get(change_id)!;
      const reported = errorCodeOf(() => {
        if (ask.what === "approve" || ask.what === "apply") requireInTime(change, { intent: loaded.intent, now });
        if (ask.what === "apply") admit(change, target_owner, world, freeze, loaded.intent);
        enact(change_id, toCommand(ask, world.owner, loaded.intent), loaded, now);
      });
      expect(reported, `${what}: ${ask.what} by ${ask.name}`).toBe(typeof expected === "string" ? expected : undefined);
      const isLate = explainOverdue(change, { intent: loaded.intent, now }) !== undefined;
      if (ask.what === "approve" && !ask.emergency && !isLate && !reported?.startsWith("proof_"))
        expect(isConsentExpected(change, name, loaded.intent), `${what}: whether it waits for ${name}`).toBe(
          reported === undefined && hasProgressed(change, records.get(change_id)!.change, loaded.intent),
        );
      const after = typeof expected === "string" ? before : expected;
      model.set(change_id, after);
      seen.add(reported ?? after.resolution ?? after.status);
      if (overdue) seen.add(before.resolution!);
      for (const one of reported === undefined ? splitTargets(target) : []) {
        const owners = applied.get(one)!;
        if (ask.what === "apply") owners.push(change_id);
        if (ask.what === "rollback") {
          owners.splice(owners.indexOf(change_id), 1);
          rolledBack.set(one, now);
        }
        if (ask.what === "approve" && after.status === "approved") rolledBack.delete(one);
      }
      agree(records.get(change_id)!.change, after, rules, loaded.intent, what);
    }
  }
  for (const [change_id, record] of records) {
    const own = entries.filter((entry) => entry.change_id === change_id);
    const fold = own.reduce<ReturnType<typeof evolve>>((state, entry) => evolve(state, parseEvent(entry)), undefined);
    expect(listDifferences(fold!, JSON.parse(JSON.stringify(record)), portableSha256), `seed ${seed}`).toEqual([]);
  }
}

/** Returns true if a consent changed the status or reduced the number of missing consents. */
const hasProgressed = (before: Change, after: Change, intent: Intent): boolean =>
  before.status !== after.status || countMissing(after, intent) < countMissing(before, intent);

const countMissing = (change: Change, intent: Intent): number =>
  listMissingConsents(change, intent).reduce((sum, { count }) => sum + count, 0);

function errorCodeOf(step: () => void): string | undefined {
  try {
    step();
  } catch (error) {
    if (error instanceof AppError) return error.code;
    throw error;
  }
}

function agree(change: Change, model: Modelled, rules: Rules, intent: Intent, what: string): void {
  expect([change.status, change.resolution], what).toEqual([model.status, model.resolution]);
  expect(change.approvals.map(({ approver, emergency = false, key }) => [approver, emergency, key])).toEqual(
    model.given.map(({ name, emergency, key }) => [name, emergency, key]),
  );
  expect(listMissingConsents(change, intent).length === 0, what).toBe(isComplete(model, rules));
  expect(isReviewDue(change), what).toBe(model.review === "due" && model.status !== "denied");
}

const slices = histories([1, 60], [61, 140], [61, 700], 330);

test.each(slices)(
  "the state machine and the model agree in scenarios %i to %i",
  { timeout: 300_000 },
  (first, last) => {
    const seen = new Set<string>();
    for (let seed = first; seed <= last; seed++) runScenario(seed, seen);
    expect([...seen].sort()).toEqual(
      [
        ...["pending_consent", "approved", "applied", "rolled_back", "denied", "withdrawn", "revoked"],
        ...["expired", "lapsed"],
        ...["illegal_transition", "not_an_approver", "self_approval_forbidden", "already_decided", "not_the_proposer"],
        ...["proof_required", "proof_invalid", "proposer_unknown"],
        ...["forbidden_target", "consent_incomplete", "target_moved", "frozen", "outside_window"],
      ].sort(),
    );
  },
);
