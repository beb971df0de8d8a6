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
import { listMissingConsents } from "../../../../lib/changes/rules/missing_consents.ts";
import { findOverdueStep, requireInTime, explainOverdue } from "../../../../lib/changes/rules/overdue.ts";
import { toChange, type ChangeRecord, listDifferences } from "../../../../lib/changes/rules/record.ts";
import { requireUnmovedTarget, type ChangeInForce } from "../../../../lib/changes/rules/stale_target.ts";
import { evolve } from "../../../../lib/changes/rules/evolve.ts";
import { listKeys } from "../../../../lib/changes/rules/signing.ts";
import type { SignatureResult } from "../../../../lib/changes/rules/require_signature.ts";
import { decide, requireOperable } from "../../../../lib/changes/rules/state_machine.ts";
import { histories } from "../../../support/run_length.ts";
import { seededIntegers } from "../../../support/seeded_integers.ts";
import {
  expireIfDue,
  decideRequest,
  type ChangeRequest,
  type ProposalRequest,
  isComplete,
  type ModelChange,
  decideProposal,
  type Rules,
  type World,
} from "./consent_model.ts";
import { drawValidRules, drawKey, SPELLED_NAMES, TARGETS } from "./random_rules.ts";

const REQUESTED_ACTIONS: ChangeRequest["action"][] =
  "approve approve approve approve deny withdraw revoke apply apply rollback review".split(
    " ",
  ) as ChangeRequest["action"][];
const STEPS = 120;
const MAX_CHANGES = 6;
const iso = (ms: number): string => new Date(ms).toISOString();

/** The target of a plan in the model: the targets that the plan sets, joined by a plus. */
const PLAN = TARGETS.join("+");
const ENTRIES = TARGETS.map((target) => ({ tenant_id: "t1", target, value: 1 }));
const splitTargets = (target: string): string[] => target.split("+");

/** Returns the changes in force on the targets of a change, as `owner` for the rules and as `changeInForce` for the model. */
function findOwners(
  applied: ReadonlyMap<string, string[]>,
  target: string,
): { owner: ChangeInForce; changeInForce: string | null } {
  const owners = splitTargets(target).map((name) => applied.get(name)!.at(-1) ?? null);
  if (target === PLAN) return { owner: owners, changeInForce: owners.join() };
  return { owner: owners[0]!, changeInForce: owners[0]! };
}

/** Combines the rules that are tested, in the order in which a request applies them. */
function makeStateMachine() {
  const records = new Map<string, ChangeRecord>();
  const entries: Parameters<typeof parseEvent>[0][] = [];
  const execute = (change_id: string, command: Command, { intent, manifest_hash }: LoadedIntent, at: number) => {
    const before = records.get(change_id);
    const isSigned = "signature" in command && command.signature !== undefined && "key" in command.signature;
    const actor = isSigned ? signerActor("the signer") : serviceActor();
    const decision = decide(before?.change, command, { intent, manifest_hash, sha256: portableSha256, actor });
    const event = { id: entries.length + 1, timestamp: iso(at), event_type: decision.event_type, change_id };
    entries.push({ ...event, detail: JSON.stringify(decision.detail) });
    const state = evolve(before, parseEvent(entries.at(-1)!));
    if (!state) throw new Error(`${command.type} cannot follow`);
    records.set(change_id, { ...state, change: toChange(state, decision.content ?? before?.change) } as ChangeRecord);
  };
  const toSignature = (name: string, key: string | undefined, { policy }: Intent): SignatureResult | undefined => {
    if (key === undefined) return undefined;
    const listedKey = listKeys(name, policy.signing).find(({ id }) => id === key);
    if (!listedKey) return { invalid: "the intent does not list this key under the name" };
    return { statement: "", proof: { type: "ssh", signature: "" }, key: listedKey };
  };
  const toCommand = (
    { action, name, emergency, key }: ChangeRequest,
    target_owner: ChangeInForce,
    intent: Intent,
  ): Command => {
    const decision = { name, note: "because", signature: toSignature(name, key, intent) };
    if (action === "approve") return { type: action, ...decision, emergency, target_owner };
    if (action === "review") return { type: action, ...decision, verdict: "accepted" };
    if (action === "apply" || action === "rollback") return { type: "succeed", operation: action, circumstance: {} };
    return { type: action, ...decision };
  };
  const toProposalCommand = (
    { target, proposer, requestsMinor, key }: ProposalRequest,
    { owner: target_owner, now, lastRollbackAt }: World & { owner: ChangeInForce },
    intent: Intent,
  ): Command => {
    const isRecent = lastRollbackAt !== undefined && now - lastRollbackAt <= DAY_MS;
    const rolled_back = isRecent ? { target: splitTargets(target)[0]!, at: iso(lastRollbackAt) } : undefined;
    const impact = requestsMinor ? ({ tier: "minor", affected_users: 0, risk: "low", reversible: true } as const) : {};
    const targets = target === PLAN ? { target: TARGETS[0]!, sets: ENTRIES } : { target };
    const input = { tenant_id: "t1", kind: "config", ...targets, summary: "s", proposer, ...impact } as const;
    const signature = toSignature(proposer, key, intent);
    return { type: "propose", input, minor_today: 0, target_owner, rolled_back, openChanges: [], signature };
  };
  const requireApplicable = (
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
  return { records, entries, execute, toCommand, toProposalCommand, requireApplicable };
}

/** Runs a scenario; adds the error codes and statuses to `results`. */
function runScenario(seed: number, results: Set<string>): void {
  const random = seededIntegers(seed * 7919);
  const { records, entries, execute, toCommand, toProposalCommand, requireApplicable } = makeStateMachine();
  const model = new Map<string, ModelChange>();
  const applied = new Map<string, string[]>(TARGETS.map((target) => [target, []]));
  const lastRollbackAt = new Map<string, number>();
  let now = Date.UTC(2026, 0, 2);
  let certain = now;
  let { rules, loaded } = drawValidRules(random, now);
  let freeze: Freeze | undefined;
  for (let step = 0; step < STEPS; step++) {
    const label = `seed ${seed}, step ${step}`;
    const chance = random(16);
    if (chance === 0) ({ rules, loaded } = drawValidRules(random, now));
    else if (chance === 1) {
      // The clock advances, and mostly also the time that has certainly passed.
      now += random(12) * HOUR_MS;
      if (random(3) > 0) certain = now;
    } else if (chance === 2) {
      const until = random(2) === 0 ? iso(now + 3 * HOUR_MS) : null;
      freeze = freeze ? undefined : { actor: "ops", note: "", until, at: iso(now), entry: 0 };
    } else if (model.size === 0 || (chance < 5 && model.size < MAX_CHANGES)) {
      const proposer = SPELLED_NAMES[random(SPELLED_NAMES.length)]!;
      const target = random(4) === 0 ? PLAN : TARGETS[random(2)]!;
      const proposal: ProposalRequest = {
        target,
        proposer,
        requestsMinor: random(3) === 0,
        key: drawKey(proposer, rules, random),
      };
      const change_id = `chg_${model.size}`;
      const last = Math.max(...splitTargets(target).map((name) => lastRollbackAt.get(name) ?? -Infinity));
      const world = {
        ...{ rules, now, frozen: false, ...findOwners(applied, target) },
        ...(last > -Infinity && { lastRollbackAt: last }),
      };
      // The model returns the code of the expected error, or the new change.
      const expected = decideProposal(proposal, world);
      const errorCode = catchErrorCode(() =>
        execute(change_id, toProposalCommand(proposal, world, loaded.intent), loaded, now),
      );
      expect(errorCode, `${label}: a proposal by ${proposer}`).toBe(
        typeof expected === "string" ? expected : undefined,
      );
      if (typeof expected === "string") results.add(expected);
      else model.set(change_id, expected);
    } else {
      const change_id = `chg_${random(model.size)}`;
      const name = SPELLED_NAMES[random(SPELLED_NAMES.length)]!;
      const request: ChangeRequest = {
        action: REQUESTED_ACTIONS[random(REQUESTED_ACTIONS.length)]!,
        name,
        emergency: random(3) === 0,
        key: drawKey(name, rules, random),
      };
      const { target } = model.get(change_id)!;
      const frozen = freeze !== undefined && (freeze.until === null || now < Date.parse(freeze.until));
      const world = { rules, now, certain, frozen, ...findOwners(applied, target) };

      const overdue = findOverdueStep(records.get(change_id)!.change, loaded.intent.policy, certain);
      if (overdue) execute(change_id, { type: overdue }, loaded, now);
      const before = expireIfDue(model.get(change_id)!, world);
      const expected = decideRequest(before, request, world);
      const { change, target_owner } = records.get(change_id)!;
      const errorCode = catchErrorCode(() => {
        if (request.action === "approve" || request.action === "apply")
          requireInTime(change, { intent: loaded.intent, now });
        if (request.action === "apply") requireApplicable(change, target_owner, world, freeze, loaded.intent);
        execute(change_id, toCommand(request, world.owner, loaded.intent), loaded, now);
      });
      expect(errorCode, `${label}: ${request.action} by ${request.name}`).toBe(
        typeof expected === "string" ? expected : undefined,
      );
      // `isConsentExpected` does not judge lateness, emergency consents or signatures.
      const isLate = explainOverdue(change, { intent: loaded.intent, now }) !== undefined;
      if (request.action === "approve" && !request.emergency && !isLate && !errorCode?.startsWith("proof_"))
        expect(isConsentExpected(change, name, loaded.intent), `${label}: a consent by ${name} is expected`).toBe(
          errorCode === undefined && hasProgressed(change, records.get(change_id)!.change, loaded.intent),
        );
      const after = typeof expected === "string" ? before : expected;
      model.set(change_id, after);
      results.add(errorCode ?? after.resolution ?? after.status);
      if (overdue) results.add(before.resolution!);
      for (const targetName of errorCode === undefined ? splitTargets(target) : []) {
        const owners = applied.get(targetName)!;
        if (request.action === "apply") owners.push(change_id);
        if (request.action === "rollback") {
          owners.splice(owners.indexOf(change_id), 1);
          lastRollbackAt.set(targetName, now);
        }
        if (request.action === "approve" && after.status === "approved") lastRollbackAt.delete(targetName);
      }
      verifyAgreement(records.get(change_id)!.change, after, rules, loaded.intent, label);
    }
  }
  for (const [change_id, record] of records) {
    const changeEntries = entries.filter((entry) => entry.change_id === change_id);
    const fold = changeEntries.reduce<ReturnType<typeof evolve>>(
      (state, entry) => evolve(state, parseEvent(entry)),
      undefined,
    );
    expect(listDifferences(fold!, JSON.parse(JSON.stringify(record)), portableSha256), `seed ${seed}`).toEqual([]);
  }
}

/** Returns true if a consent changed the status or reduced the number of missing consents. */
const hasProgressed = (before: Change, after: Change, intent: Intent): boolean =>
  before.status !== after.status || countMissing(after, intent) < countMissing(before, intent);

const countMissing = (change: Change, intent: Intent): number =>
  listMissingConsents(change, intent).reduce((sum, { count }) => sum + count, 0);

/** Returns the code of the error that a step throws, or undefined. */
function catchErrorCode(step: () => void): string | undefined {
  try {
    step();
  } catch (error) {
    if (error instanceof AppError) return error.code;
    throw error;
  }
}

/** Verifies that a change and its model have the same status, consents and review. */
function verifyAgreement(change: Change, model: ModelChange, rules: Rules, intent: Intent, label: string): void {
  expect([change.status, change.resolution], label).toEqual([model.status, model.resolution]);
  expect(change.approvals.map(({ approver, emergency = false, key }) => [approver, emergency, key])).toEqual(
    model.consents.map(({ name, emergency, key }) => [name, emergency, key]),
  );
  expect(listMissingConsents(change, intent).length === 0, label).toBe(isComplete(model, rules));
  expect(isReviewDue(change), label).toBe(model.review === "due" && model.status !== "denied");
}

const slices = histories([1, 60], [61, 140], [61, 700], 330);

test.each(slices)(
  "the state machine and the model agree in scenarios %i to %i",
  { timeout: 300_000 },
  (first, last) => {
    const results = new Set<string>();
    for (let seed = first; seed <= last; seed++) runScenario(seed, results);
    expect([...results].sort()).toEqual(
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
