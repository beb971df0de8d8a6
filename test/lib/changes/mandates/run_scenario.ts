/** Random scenarios with mandates: each action is sent to the service and to the model, whose results must be equal. */
import { app } from "../../../../handlers/index.ts";
import { readHead } from "../../../../lib/audit/chain.ts";
import { applyDue } from "../../../../lib/changes/automatic_apply.ts";
import { sampleClock } from "../../../../lib/changes/confirmed_time.ts";
import { maintainMandates } from "../../../../lib/changes/mandates/narrow_revoke.ts";
import { memoryStore } from "../../../../lib/store/memory.ts";
import { testClock } from "../../../support/clock.ts";
import { openDeps, restartDeps } from "../../../support/deps.ts";
import { dice } from "../../../support/dice.ts";
import { memoryTarget } from "../../../support/memory_target.ts";
import { rewindingStore } from "../../../support/rewinding_store.ts";
import { approve, apply, contest, recordApply, listRollbackCandidates, propose, rollBack } from "./scenario_changes.ts";
import {
  makeAdapter,
  verifyReply,
  verifyState,
  decide,
  toEntry,
  type Scenario,
  pick,
  type Roll,
  type Tally,
  send,
} from "./scenario.ts";
import { draft, isClosed, resume, sign } from "./scenario_mandates.ts";
import {
  drawAllowedBounds,
  drawBounds,
  drawNarrowing,
  drawRules,
  toIntent,
  ACTION_TYPES,
  INITIAL_VALUES,
} from "./random_mandates.ts";
import * as model from "./mandate_model.ts";
import { DAY, HOUR } from "./mandate_model.ts";

/** One action of a scenario. It has a seed of its own for its details, so that other actions can be left out. */
export interface Action {
  type: (typeof ACTION_TYPES)[number];
  detailSeed: number;
}

/** Draws the actions of a scenario. */
export function drawActions(seed: number): Action[] {
  // The factor gives these dice another sequence than those of the rules, whose seed is `seed` itself.
  const roll = dice(seed * 48_611);
  const firstTypes: Action["type"][] = ["sign_new", "propose", "apply"];
  const firstActions = firstTypes.map((type): Action => ({ type, detailSeed: roll(1e9) }));
  const hasLoss = roll(8) === 0;
  const laterActions = Array.from({ length: 10 + roll(14) }, (): Action => {
    const type = ACTION_TYPES[roll(ACTION_TYPES.length)]!;
    return { type: type === "loss" && !hasLoss ? "cycle" : type, detailSeed: roll(1e9) };
  });
  return [...firstActions, ...laterActions];
}

/** Runs a scenario. Throws if the service and the model disagree. */
export async function runScenario(seed: number, actions: readonly Action[], tally: Tally): Promise<void> {
  const clock = testClock();
  const target = memoryTarget();
  const rewinding = actions.some(({ type }) => type === "loss") ? rewindingStore() : undefined;
  const store = rewinding?.store ?? memoryStore();
  const isFirst = true;
  const rules = drawRules(dice(seed), isFirst);
  const world: model.World = {
    ...{
      rules,
      now: clock.now(),
      actionNumber: 0,
      address: "one",
      kpis: {},
      mandates: [],
      changes: [],
      lossAccepted: 0,
    },
    ...{ values: new Map(), appliedChanges: new Map(), rolled_back: new Map() },
  };
  for (const initial of INITIAL_VALUES) {
    if (initial.value === undefined) continue;
    target.overwrite(toEntry(initial), JSON.stringify(initial.value));
    world.values.set(model.targetKey(initial), [{ at: -Infinity, value: initial.value }]);
  }
  const adapter = makeAdapter(target, store, clock, world.address);
  const deps = await openDeps({ store, clock, adapter, intent: toIntent(rules) });
  const scenario: Scenario = { deps, fetch: app(deps), world, target, rewinding, seed, step: 0, tally };
  for (const action of actions) {
    // No two actions are whole hours apart, so no result depends on the exact end of a period. At least five seconds pass, so that
    // the service reads the targets again.
    clock.advance(6007 + 1009 * ++scenario.step);
    world.now = clock.now();
    world.actionNumber++;
    await ACTIONS[action.type](scenario, dice(action.detailSeed));
    const withViews = scenario.step % 8 === 0 || scenario.step === actions.length;
    await verifyState(scenario, action.type, withViews);
  }
}

/** Restarts the service with the intent and the configuration of the model. */
async function restart(scenario: Scenario): Promise<void> {
  const { deps, world, target } = scenario;
  const adapter = makeAdapter(target, deps.store, deps.clock, world.address);
  scenario.deps = await restartDeps(deps, { adapter, intent: toIntent(world.rules) });
  scenario.fetch = app(scenario.deps);
}

/** Runs one cycle of the service: clock sample, due applies, and ends of mandates. */
async function cycle({ deps, world }: Scenario): Promise<void> {
  // A time counts as passed when two clock samples confirm it; an hour after this sample the cycle confirms only this time.
  const confirmedTime = world.now;
  await sampleClock(deps);
  deps.clock.advance(HOUR);
  world.now = deps.clock.now();
  await applyDue(deps);
  await maintainMandates(deps);
  const due = world.changes.filter(
    ({ isAutomatic, status, stopped }) => isAutomatic && status === "approved" && !stopped,
  );
  for (const change of due.sort((a, b) => a.approved_at - b.approved_at)) {
    const end = change.approved_at + DAY;
    // A change that is overdue by the clock is not applied; it stops once the confirmed time is past its end.
    if (world.now > end) change.stopped = confirmedTime > end;
    else if (model.findApplyErrors(change, world).length > 0) change.stopped = true;
    else recordApply(change, world);
  }
  for (const mandate of world.mandates)
    if (["active", "suspended"].includes(mandate.state) && mandate.bounds.until <= confirmedTime)
      mandate.state = "ended";
}

/** Feeds KPIs; the model suspends the mandates whose KPI floor they break. */
async function feed(scenario: Scenario, kpis: Record<string, number>): Promise<void> {
  const { world } = scenario;
  if (!verifyReply(scenario, "feed", await send(scenario, "kpi", kpis), [])) return;
  Object.assign(world.kpis, kpis);
  model.suspend(world, (mandate) => model.isBelowFloor(mandate, kpis));
}

/** Loses one entry by setting the store back, and accepts the loss. */
async function loseEntry(scenario: Scenario): Promise<void> {
  const { deps, rewinding, world } = scenario;
  const backup = await rewinding!.copy();
  // This entry is lost.
  await send(scenario, "kpi", { csat: 5 });
  await rewinding!.goBack(backup);
  // This feed is rejected: with it the service finds the loss, and freezes.
  await send(scenario, "kpi", { csat: 5 });
  const { length, head } = (await readHead(deps.store))!;
  const loss = { note: "restored", length, head };
  verifyReply(scenario, "accept loss", await decide(scenario, "accept_loss", "audit/accept-loss", "ana", loss), []);
  verifyReply(scenario, "unfreeze", await decide(scenario, "unfreeze", "unfreeze", "ana", { note: "restored" }), []);
  world.lossAccepted = world.actionNumber;
}

/** Sends each type of action to the service, and records its effect in the model. */
const ACTIONS: Record<Action["type"], (scenario: Scenario, roll: Roll) => Promise<void>> = {
  draft: async (scenario, roll) => void (await draft(scenario, drawBounds(roll, scenario.world))),
  /** Drafts a mandate and collects signatures until it is active. */
  async sign_new(scenario, roll) {
    const mandate = await draft(scenario, drawAllowedBounds(roll, scenario.world));
    if (mandate)
      for (const name of ["ana", "bo", "cy", "olga"])
        if (mandate.state === "draft") await sign(scenario, mandate, name);
  },
  async sign(scenario, roll) {
    const mandate = pick(scenario.world.mandates, roll);
    if (mandate) await sign(scenario, mandate, pick(model.PEOPLE, roll)!);
  },
  async resume(scenario, roll) {
    const { mandates } = scenario.world;
    const suspended = mandates.filter((mandate) => model.currentState(mandate, scenario.world) === "suspended");
    const mandate = pick(suspended.length > 0 ? suspended : mandates, roll);
    if (!mandate) return;
    const names = roll(2) === 0 ? [pick(model.PEOPLE, roll)!] : ["bo", "cy", "ana", "olga"];
    for (const name of names) await resume(scenario, mandate, name);
  },
  async narrow(scenario, roll) {
    const { world } = scenario;
    const mandate = pick(world.mandates, roll);
    if (!mandate || model.currentState(mandate, world) === "ended") return;
    const name = pick(model.PEOPLE, roll)!;
    const { narrow, after, isNarrower } = drawNarrowing(mandate.bounds, roll);
    const reasons = isClosed(mandate, world) ? ["illegal_transition"] : [];
    if (!isNarrower) reasons.push("invalid_field");
    if (!model.maySign(name, mandate, world)) reasons.push("not_an_approver");
    const reply = await decide(scenario, "mandate_narrow", "mandate-narrow", name, { mandate_id: mandate.id, narrow });
    if (!verifyReply(scenario, "narrow", reply, reasons)) return;
    const resumes = mandate.state === "active" ? mandate.resumes : [];
    Object.assign(mandate, { bounds: after, revision: mandate.revision + 1, resumes });
    model.suspend(world, (one) => one === mandate && model.isBelowFloor(one, world.kpis));
  },
  async revoke(scenario, roll) {
    const { world } = scenario;
    const mandate = roll(3) === 0 ? pick(world.mandates, roll) : undefined;
    if (!mandate || model.currentState(mandate, world) === "ended") return;
    const name = pick(model.PEOPLE, roll)!;
    const isSigned = mandate.state !== "draft" || mandate.signatures.length > 0;
    const reasons: string[] = [];
    // The service deletes drafts after a week; the model keeps them.
    if (mandate.state === "draft" && world.now > mandate.created + 7 * DAY) return;
    if (!model.maySign(name, mandate, world)) reasons.push("not_an_approver");
    const reply = await decide(scenario, "mandate_revoke", "mandate-revoke", name, { mandate_id: mandate.id });
    if (!verifyReply(scenario, "revoke a mandate", reply, reasons)) return;
    // An unsigned draft is deleted and has no entry in the log.
    if (isSigned) mandate.state = "ended";
    else world.mandates.splice(world.mandates.indexOf(mandate), 1);
  },
  propose,
  async approve(scenario, roll) {
    const open = scenario.world.changes.filter(({ status }) => status === "pending_consent" || status === "approved");
    const change = pick(open, roll);
    if (change) await approve(scenario, change, pick(model.PEOPLE, roll)!);
  },
  async close(scenario, roll) {
    const { world } = scenario;
    const change = pick(
      world.changes.filter(({ status }) => ["pending_consent", "approved"].includes(status)),
      roll,
    );
    if (!change) return;
    const decision = change.status === "approved" ? "revoke" : "deny";
    const name = pick(world.rules.approvers, roll)!;
    // Only a person who approved a change may revoke it, unless no person has.
    if (decision === "revoke" && change.people.length > 0) return;
    const reply = await decide(scenario, decision, decision, name, { change_id: change.id });
    if (verifyReply(scenario, decision, reply, [])) change.status = "denied";
  },
  async apply(scenario, roll) {
    const change = pick(
      scenario.world.changes.filter(({ status }) => status === "approved" || roll(8) === 0),
      roll,
    );
    if (change) await apply(scenario, change);
  },
  async rollback(scenario, roll) {
    const change = pick(listRollbackCandidates(scenario.world), roll);
    if (change) await rollBack(scenario, change);
  },
  async contest(scenario, roll) {
    const change = roll(3) === 0 ? pick(listRollbackCandidates(scenario.world), roll) : undefined;
    if (change) await contest(scenario, change);
  },
  feed: (scenario, roll) => feed(scenario, roll(2) === 0 ? { csat: 3 + roll(4) } : { latency: 90 + 10 * roll(4) }),
  cycle: (scenario) => cycle(scenario),
  async wait({ deps, world }, roll) {
    deps.clock.advance((1 + roll(30)) * HOUR * (roll(6) === 0 ? 5 : 1));
    world.now = deps.clock.now();
  },
  async intent(scenario, roll) {
    scenario.world.rules = drawRules(roll, false);
    await restart(scenario);
  },
  async move(scenario, roll) {
    if (roll(3) > 0 && scenario.world.address === "one") return;
    scenario.world.address = scenario.world.address === "one" ? "two" : "one";
    await restart(scenario);
  },
  loss: (scenario) => loseEntry(scenario),
};
