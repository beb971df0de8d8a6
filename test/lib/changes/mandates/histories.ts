/** Random histories of mandates: each act goes to the service and to the model, and both must say the same of it. */
import { app } from "../../../../handlers/index.ts";
import { readHead } from "../../../../lib/audit/chain.ts";
import { applyDue } from "../../../../lib/changes/automatic_apply.ts";
import { sampleClock } from "../../../../lib/changes/certain_time.ts";
import { maintainMandates } from "../../../../lib/changes/mandates/narrow_revoke.ts";
import { memoryStore } from "../../../../lib/store/memory.ts";
import { testClock } from "../../../support/clock.ts";
import { opened, restarted } from "../../../support/deps.ts";
import { dice } from "../../../support/dice.ts";
import { memoryTarget } from "../../../support/memory_target.ts";
import { rewindingStore } from "../../../support/rewinding_store.ts";
import { approve, apply, contest, hasApplied, listOwners, propose, rollBack } from "./history_changes.ts";
import {
  makeAdapter,
  agree,
  compare,
  decide,
  toEntry,
  type Life,
  pick,
  type Roll,
  type Seen,
  send,
} from "./history_life.ts";
import { draft, isClosed, resume, sign } from "./history_mandates.ts";
import {
  drawAllowed,
  drawBounds,
  drawNarrowing,
  drawRules,
  intentFor,
  KINDS_OF_ACTS,
  PLACES,
} from "./history_parts.ts";
import * as model from "./model.ts";
import { DAY, HOUR } from "./model.ts";

/** One act of a history; `n` decides its particulars, so that acts can be left out. */
export interface Act {
  what: (typeof KINDS_OF_ACTS)[number];
  n: number;
}

/** Draws the acts of a history. */
export function drawActs(seed: number): Act[] {
  const roll = dice(seed * 48_611);
  const begin: Act[] = ["make", "propose", "apply"].map((what) => ({ what: what as Act["what"], n: roll(1e9) }));
  const hasLoss = roll(8) === 0;
  const rest = Array.from({ length: 10 + roll(14) }, (): Act => {
    const what = KINDS_OF_ACTS[roll(KINDS_OF_ACTS.length)]!;
    return { what: what === "loss" && !hasLoss ? "cycle" : what, n: roll(1e9) };
  });
  return [...begin, ...rest];
}

/** Plays a history. Throws where the service and the model disagree. */
export async function playHistory(seed: number, acts: readonly Act[], seen: Seen): Promise<void> {
  const clock = testClock();
  const target = memoryTarget();
  const rewinding = acts.some(({ what }) => what === "loss") ? rewindingStore() : undefined;
  const store = rewinding?.store ?? memoryStore();
  const rules = drawRules(dice(seed), true);
  const world: model.World = {
    ...{ rules, now: clock.now(), seq: 0, address: "one", kpis: {}, mandates: [], changes: [], loss: 0 },
    ...{ held: new Map(), owners: new Map(), rolled_back: new Map() },
  };
  for (const place of PLACES) {
    if (place.value === undefined) continue;
    target.overwrite(toEntry(place), JSON.stringify(place.value));
    world.held.set(model.placeKey(place), [{ at: -Infinity, value: place.value }]);
  }
  const adapter = makeAdapter(target, store, clock, world.address);
  const deps = await opened({ store, clock, adapter, intent: intentFor(rules) });
  const life: Life = { deps, fetch: app(deps), world, target, rewinding, seed, step: 0, seen };
  for (const act of acts) {
    // No two moments are whole hours apart, so nothing depends on which end of a time is open; a place is read every five seconds.
    clock.advance(6007 + 1009 * ++life.step);
    world.now = clock.now();
    world.seq++;
    await ACTS[act.what](life, dice(act.n));
    await compare(life, act.what, life.step % 8 === 0 || life.step === acts.length);
  }
}

/** Starts the service again, under the intent and the configuration of the model. */
async function restart(life: Life): Promise<void> {
  const { deps, world, target } = life;
  const adapter = makeAdapter(target, deps.store, deps.clock, world.address);
  life.deps = await restarted(deps, { adapter, intent: intentFor(world.rules) });
  life.fetch = app(life.deps);
}

async function cycle({ deps, world }: Life): Promise<void> {
  const certain = world.now;
  await sampleClock(deps);
  deps.clock.advance(HOUR);
  world.now = deps.clock.now();
  await applyDue(deps);
  await maintainMandates(deps);
  const due = world.changes.filter(({ itself, status, stopped }) => itself && status === "approved" && !stopped);
  for (const change of due.sort((a, b) => a.approved_at - b.approved_at)) {
    const end = change.approved_at + DAY;
    if (world.now > end) change.stopped = certain > end;
    else if (model.notApplicable(change, world).length > 0) change.stopped = true;
    else hasApplied(change, world);
  }
  for (const mandate of world.mandates)
    if (["active", "suspended"].includes(mandate.state) && mandate.bounds.until <= certain) mandate.state = "ended";
}

async function feed(life: Life, kpis: Record<string, number>): Promise<void> {
  const { world } = life;
  if (!agree(life, "feed", await send(life, "kpi", kpis), [])) return;
  Object.assign(world.kpis, kpis);
  model.suspend(world, (mandate) => model.isBelow(mandate, kpis));
}

/** The store goes back by one entry; a person accepts the loss. */
async function lose(life: Life): Promise<void> {
  const { deps, rewinding, world } = life;
  const before = await rewinding!.copy();
  await send(life, "kpi", { csat: 5 });
  await rewinding!.goBack(before);
  await send(life, "kpi", { csat: 5 });
  const { length, head } = (await readHead(deps.store))!;
  const loss = { note: "restored", length, head };
  agree(life, "accept loss", await decide(life, "accept_loss", "audit/accept-loss", "ana", loss), []);
  agree(life, "unfreeze", await decide(life, "unfreeze", "unfreeze", "ana", { note: "restored" }), []);
  world.loss = world.seq;
}

const ACTS: Record<Act["what"], (life: Life, roll: Roll) => Promise<void>> = {
  draft: async (life, roll) => void (await draft(life, drawBounds(roll, life.world))),
  async make(life, roll) {
    const mandate = await draft(life, drawAllowed(roll, life.world));
    if (mandate)
      for (const name of ["ana", "bo", "cy", "olga"]) if (mandate.state === "draft") await sign(life, mandate, name);
  },
  async sign(life, roll) {
    const mandate = pick(life.world.mandates, roll);
    if (mandate) await sign(life, mandate, pick(model.PEOPLE, roll)!);
  },
  async resume(life, roll) {
    const { mandates } = life.world;
    const suspended = mandates.filter((one) => model.showState(one, life.world) === "suspended");
    const mandate = pick(suspended.length > 0 ? suspended : mandates, roll);
    if (!mandate) return;
    const names = roll(2) === 0 ? [pick(model.PEOPLE, roll)!] : ["bo", "cy", "ana", "olga"];
    for (const name of names) await resume(life, mandate, name);
  },
  async narrow(life, roll) {
    const { world } = life;
    const mandate = pick(world.mandates, roll);
    if (!mandate || model.showState(mandate, world) === "ended") return;
    const name = pick(model.PEOPLE, roll)!;
    const { narrow, after, isNarrower } = drawNarrowing(mandate.bounds, roll);
    const reasons = isClosed(mandate, world) ? ["illegal_transition"] : [];
    if (!isNarrower) reasons.push("invalid_field");
    if (!model.maySign(name, mandate, world)) reasons.push("not_an_approver");
    const reply = await decide(life, "mandate_narrow", "mandate-narrow", name, { mandate_id: mandate.id, narrow });
    if (!agree(life, "narrow", reply, reasons)) return;
    const resumes = mandate.state === "active" ? mandate.resumes : [];
    Object.assign(mandate, { bounds: after, revision: mandate.revision + 1, resumes });
    model.suspend(world, (one) => one === mandate && model.isBelow(one, world.kpis));
  },
  async revoke(life, roll) {
    const { world } = life;
    const mandate = roll(3) === 0 ? pick(world.mandates, roll) : undefined;
    if (!mandate || model.showState(mandate, world) === "ended") return;
    const name = pick(model.PEOPLE, roll)!;
    const isSigned = mandate.state !== "draft" || mandate.signatures.length > 0;
    const reasons: string[] = [];
    if (mandate.state === "draft" && world.now > mandate.created + 7 * DAY) return;
    if (!model.maySign(name, mandate, world)) reasons.push("not_an_approver");
    const reply = await decide(life, "mandate_revoke", "mandate-revoke", name, { mandate_id: mandate.id });
    if (!agree(life, "revoke a mandate", reply, reasons)) return;
    // A draft that nobody signed is removed, and is in no log.
    if (isSigned) mandate.state = "ended";
    else world.mandates.splice(world.mandates.indexOf(mandate), 1);
  },
  propose,
  async approve(life, roll) {
    const open = life.world.changes.filter(({ status }) => status === "pending_consent" || status === "approved");
    const change = pick(open, roll);
    if (change) await approve(life, change, pick(model.PEOPLE, roll)!);
  },
  async close(life, roll) {
    const { world } = life;
    const change = pick(
      world.changes.filter(({ status }) => ["pending_consent", "approved"].includes(status)),
      roll,
    );
    if (!change) return;
    const what = change.status === "approved" ? "revoke" : "deny";
    const isFirst = change.people.length === 0;
    const name = pick(world.rules.approvers, roll)!;
    if (what === "revoke" && !isFirst) return;
    const reply = await decide(life, what, what, name, { change_id: change.id });
    if (agree(life, what, reply, [])) change.status = "denied";
  },
  async apply(life, roll) {
    const change = pick(
      life.world.changes.filter(({ status }) => status === "approved" || roll(8) === 0),
      roll,
    );
    if (change) await apply(life, change);
  },
  async rollback(life, roll) {
    const change = pick(listOwners(life.world), roll);
    if (change) await rollBack(life, change);
  },
  async contest(life, roll) {
    const change = roll(3) === 0 ? pick(listOwners(life.world), roll) : undefined;
    if (change) await contest(life, change);
  },
  feed: (life, roll) => feed(life, roll(2) === 0 ? { csat: 3 + roll(4) } : { latency: 90 + 10 * roll(4) }),
  cycle: (life) => cycle(life),
  async wait({ deps, world }, roll) {
    deps.clock.advance((1 + roll(30)) * HOUR * (roll(6) === 0 ? 5 : 1));
    world.now = deps.clock.now();
  },
  async intent(life, roll) {
    life.world.rules = drawRules(roll, false);
    await restart(life);
  },
  async move(life, roll) {
    if (roll(3) > 0 && life.world.address === "one") return;
    life.world.address = life.world.address === "one" ? "two" : "one";
    await restart(life);
  },
  loss: (life) => lose(life),
};
