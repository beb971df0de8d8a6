/** Random histories of consent: the state machine and a model that shares no code with it agree on each step. */
import { expect, test } from "vitest";
import { AppError } from "../../../../lib/kit/errors.ts";
import { HOUR_MS } from "../../../../lib/kit/days.ts";
import { portableSha256 } from "../../../../lib/kit/platform.ts";
import { isEmergency, isReviewDue } from "../../../../lib/governance/rules/break_glass.ts";
import type { Change } from "../../../../lib/governance/rules/change.ts";
import type { Command } from "../../../../lib/governance/rules/command.ts";
import { eventOf } from "../../../../lib/governance/rules/event.ts";
import type { Freeze } from "../../../../lib/governance/rules/freeze.ts";
import { holdsAt, refuseHeld } from "../../../../lib/governance/rules/hold.ts";
import type { Intent } from "../../../../lib/governance/rules/intent.ts";
import { missingConsents } from "../../../../lib/governance/rules/missing.ts";
import { overdueStep } from "../../../../lib/governance/rules/policy.ts";
import { changeOf, type ChangeRecord, differences } from "../../../../lib/governance/rules/record.ts";
import { refuseMovedTarget } from "../../../../lib/governance/rules/stale_target.ts";
import { evolve } from "../../../../lib/governance/rules/evolve.ts";
import { decide, requireOperable } from "../../../../lib/governance/rules/state_machine.ts";
import { intentOf } from "../../../support/intents.ts";
import { LONG } from "../../../support/length.ts";
import { numbers } from "../../../support/numbers.ts";
import { aged, answer, type Ask, isComplete, type Modelled, type Rules, type World } from "./consent_model.ts";

const NAMES = ["ana", "bo", "cy", "dee"];
const SPELT = ["ana", "Ana ", "bo", "CY", "cy", "dee"];
const TARGETS = ["a", "b"];
const ASKS: Ask["what"][] = "approve approve approve approve deny withdraw revoke apply apply rollback review".split(
  " ",
) as Ask["what"][];
const STEPS = 120;
const CHANGES = 6;
type Random = ReturnType<typeof numbers>;

const some = (random: Random): string[] => NAMES.filter(() => random(2) === 0);

function randomRules(random: Random, now: number): Rules {
  const named = some(random);
  const approvers = random(2) === 0 || named.length === 0 ? undefined : named;
  const owning = some(random);
  const urgent = some(random);
  return {
    approvers,
    required: 1 + random(Math.min(3, approvers?.length ?? 3)),
    self_approval: random(2) === 0,
    owners:
      random(2) === 0 || owning.length === 0
        ? []
        : [{ target: TARGETS[random(2)]!, approvers: owning, required: 1 + random(owning.length) }],
    break_glass:
      random(2) === 0 || urgent.length === 0 ? undefined : { approvers: urgent, required: 1 + random(urgent.length) },
    forbidden: random(8) === 0 ? TARGETS[random(2)] : undefined,
    on_stale: random(2) === 0 ? "block" : "report",
    consent_ttl: random(3) === 0 ? 20 * HOUR_MS : undefined,
    approval_ttl: random(3) === 0 ? 20 * HOUR_MS : undefined,
    denied: random(3) === 0 ? [[now, now + (1 + random(5)) * HOUR_MS]] : [],
  };
}

const iso = (ms: number): string => new Date(ms).toISOString();
const hours = (ttl: number | undefined) => (ttl === undefined ? undefined : ttl / HOUR_MS);

/** The same rules as an intent says them. */
const intentOfRules = (rules: Rules) =>
  intentOf({
    policy: {
      approvers: rules.approvers,
      required_approvers: { standard: rules.required, major: rules.required },
      self_approval: rules.self_approval,
      owners: rules.owners.map(({ target, ...rest }) => ({ ...rest, targets: [target] })),
      break_glass: rules.break_glass,
      forbidden_targets: rules.forbidden ? [rules.forbidden] : [],
      on_stale: rules.on_stale,
      consent_ttl_hours: hours(rules.consent_ttl),
      approval_ttl_hours: hours(rules.approval_ttl),
      windows: { deny: rules.denied.map(([from, to]) => ({ from: iso(from), to: iso(to) })) },
    },
  });

/** The pure rules, put together as a request meets them. */
function machine() {
  const records = new Map<string, ChangeRecord>();
  const entries: Parameters<typeof eventOf>[0][] = [];
  const enact = (
    change_id: string,
    command: Command,
    { intent, manifest_hash }: ReturnType<typeof intentOf>,
    at: number,
  ) => {
    const before = records.get(change_id);
    const actor = { actor: null, authenticated: null };
    const decided = decide(before?.change, command, { intent, manifest_hash, sha256: portableSha256, actor });
    const event = { id: entries.length + 1, timestamp: iso(at), event_type: decided.event_type, change_id };
    entries.push({ ...event, detail: JSON.stringify(decided.detail) });
    const state = evolve(before, eventOf(entries.at(-1)!));
    if (!state) throw new Error(`${command.type} does not follow`);
    records.set(change_id, { ...state, change: changeOf(state, decided.content ?? before?.change) } as ChangeRecord);
  };
  const commandOf = ({ what, name, emergency }: Ask, target_owner: string | null): Command => {
    const note = "because";
    if (what === "approve") return { type: what, name, note, emergency, target_owner };
    if (what === "review") return { type: what, name, note, verdict: "accepted" };
    if (what === "apply" || what === "rollback") return { type: "succeed", operation: what, circumstance: {} };
    return { type: what, name, note };
  };
  const admit = (
    change: Change,
    target_owner: string | null | undefined,
    world: World,
    freeze: Freeze | undefined,
    intent: Intent,
  ) => {
    const { policy } = intent;
    requireOperable(change, "apply", intent);
    refuseMovedTarget({ before: target_owner, now: world.holds }, policy);
    if (!isEmergency(change, intent)) refuseHeld(holdsAt(policy, freeze, world.now));
  };
  return { records, entries, enact, commandOf, admit };
}

/** One history; gives the codes and statuses that it saw. */
function live(seed: number, seen: Set<string>): void {
  const random = numbers(seed * 7919);
  const { records, entries, enact, commandOf, admit } = machine();
  const model = new Map<string, Modelled>();
  const applied = new Map<string, string[]>(TARGETS.map((target) => [target, []]));
  let now = Date.UTC(2026, 0, 2);
  let rules = randomRules(random, now);
  let loaded = intentOfRules(rules);
  let freeze: Freeze | undefined;
  for (let step = 0; step < STEPS; step++) {
    const what = `seed ${seed}, step ${step}`;
    const chance = random(16);
    if (chance === 0) loaded = intentOfRules((rules = randomRules(random, now)));
    else if (chance === 1) now += random(12) * HOUR_MS;
    else if (chance === 2) {
      const until = random(2) === 0 ? iso(now + 3 * HOUR_MS) : null;
      freeze = freeze ? undefined : { actor: "ops", note: "", until, at: iso(now), entry: 0 };
    } else if (model.size === 0 || (chance < 5 && model.size < CHANGES)) {
      const target = TARGETS[random(2)]!;
      if (target === rules.forbidden) continue;
      const change_id = `chg_${model.size}`;
      const proposer = SPELT[random(SPELT.length)]!;
      const input = { tenant_id: "t1", kind: "config", target, summary: "s", proposer } as const;
      enact(change_id, { type: "propose", input, minor_today: 0, live: [] }, loaded, now);
      model.set(change_id, {
        target,
        proposer,
        required: rules.required,
        status: "pending_consent",
        resolution: null,
        created: now,
        approved: 0,
        given: [],
        seen: null,
        review: "none",
      });
    } else {
      const change_id = `chg_${random(model.size)}`;
      const ask: Ask = {
        what: ASKS[random(ASKS.length)]!,
        name: SPELT[random(SPELT.length)]!,
        emergency: random(3) === 0,
      };
      const { target } = model.get(change_id)!;
      const places = applied.get(target)!;
      const frozen = freeze !== undefined && (freeze.until === null || now < Date.parse(freeze.until));
      const world: World = { rules, now, frozen, holds: places.at(-1) ?? null };

      const overdue = overdueStep(records.get(change_id)!.change, loaded.intent.policy, now);
      if (overdue) enact(change_id, { type: overdue }, loaded, now);
      const before = aged(model.get(change_id)!, world);
      const expected = answer(before, ask, world);
      const { change, target_owner } = records.get(change_id)!;
      let told: string | undefined;
      try {
        if (ask.what === "apply") admit(change, target_owner, world, freeze, loaded.intent);
        enact(change_id, commandOf(ask, world.holds), loaded, now);
      } catch (error) {
        if (!(error instanceof AppError)) throw error;
        told = error.code;
      }
      expect(told, `${what}: ${ask.what} by ${ask.name}`).toBe(typeof expected === "string" ? expected : undefined);
      const after = typeof expected === "string" ? before : expected;
      model.set(change_id, after);
      seen.add(told ?? after.resolution ?? after.status);
      if (overdue) seen.add(before.resolution!);
      if (told === undefined && ask.what === "apply") places.push(change_id);
      if (told === undefined && ask.what === "rollback") places.splice(places.indexOf(change_id), 1);
      agree(records.get(change_id)!.change, after, rules, loaded.intent, what);
    }
  }
  for (const [change_id, record] of records) {
    const own = entries.filter((entry) => entry.change_id === change_id);
    const fold = own.reduce<ReturnType<typeof evolve>>((state, entry) => evolve(state, eventOf(entry)), undefined);
    expect(differences(fold!, JSON.parse(JSON.stringify(record)), portableSha256), `seed ${seed}`).toEqual([]);
  }
}

function agree(change: Change, model: Modelled, rules: Rules, intent: Intent, what: string): void {
  expect([change.status, change.resolution], what).toEqual([model.status, model.resolution]);
  expect(change.approvals.map(({ approver, emergency = false }) => [approver, emergency])).toEqual(
    model.given.map(({ name, emergency }) => [name, emergency]),
  );
  expect(missingConsents(change, intent).length === 0, what).toBe(isComplete(model, rules));
  expect(isReviewDue(change), what).toBe(model.review === "due" && model.status !== "denied");
}

const FIRST = LONG ? 61 : 1;
const LAST = LONG ? 1500 : 60;

test(`the state machine and the model agree in histories ${FIRST} to ${LAST}`, { timeout: 300_000 }, () => {
  const seen = new Set<string>();
  for (let seed = FIRST; seed <= LAST; seed++) live(seed, seen);
  expect([...seen].sort()).toEqual(
    [
      ...["pending_consent", "approved", "applied", "rolled_back", "denied", "withdrawn", "revoked"],
      ...["expired", "lapsed"],
      ...["illegal_transition", "not_an_approver", "self_approval_forbidden", "already_decided", "not_the_proposer"],
      ...["forbidden_target", "consent_incomplete", "target_moved", "frozen", "outside_window"],
    ].sort(),
  );
});
