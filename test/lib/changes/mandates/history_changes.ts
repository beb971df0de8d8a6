/** Acts on changes in random histories of mandates. */
import { expect } from "vitest";
import { checkDrift, checkDueDrift } from "../../../../lib/changes/check_drift.ts";
import { maintainMandates } from "../../../../lib/changes/mandates/narrow_revoke.ts";
import { restoreEdited } from "../../../../lib/changes/restore_edited.ts";
import { MINUTE } from "../../../support/clock.ts";
import { agree, decide, toEntry, type Life, type Roll, send } from "./history_life.ts";
import { drawIdea, SECRETS, toFields } from "./history_parts.ts";
import * as model from "./model.ts";

export async function propose(life: Life, roll: Roll): Promise<void> {
  const { world } = life;
  const idea = drawIdea(roll, world);
  if (!world.rules.agents.includes(idea.agent)) return;
  const headers = { authorization: `Bearer ${SECRETS[idea.agent]}` };
  const reply = await send(life, "propose", toFields(idea), headers);
  if (!agree(life, "propose", reply, [])) return;
  const { by, outside } = model.judge(idea, world);
  const at = `seed ${life.seed}, step ${life.step}: ${JSON.stringify(idea)}: ${reply.text.slice(0, 600)}`;
  const { status, approver, change_id } = reply.body;
  expect([status, by && approver], at).toEqual([by ? "approved" : "pending_consent", by && `mandate:${by}`]);
  if (!by && world.rules.mandates) {
    const said = (reply.body.outside ?? []) as { mandate_id: string; bound: string }[];
    const ended = world.mandates.filter((one) => model.showState(one, world) === "ended").map(({ id }) => id);
    const named = said.filter(({ mandate_id }) => !ended.includes(mandate_id));
    expect(
      named.map(({ mandate_id }) => mandate_id),
      at,
    ).toEqual(outside.map(({ id }) => id));
    for (const [index, { bound }] of named.entries()) {
      expect(outside[index]!.bounds, at).toContain(bound);
      life.seen.set(`outside ${bound}`, (life.seen.get(`outside ${bound}`) ?? 0) + 1);
    }
  }
  const isMajor = idea.risk === "high" || idea.reversible === false;
  world.changes.push({
    ...idea,
    ...{ id: change_id, status: by ? "approved" : "pending_consent", approved_at: world.now, stopped: false },
    required: isMajor ? world.rules.major : 1,
    isMajor,
    people: [],
    mandate: by === undefined ? undefined : { id: by, seq: world.seq, at: world.now },
    seen: idea.entries.map((entry) => model.valueNow(world, entry)),
    replaced: [],
  });
  if (by) life.seen.set("approved by a mandate", (life.seen.get("approved by a mandate") ?? 0) + 1);
}

export async function approve(life: Life, change: model.Change, name: string): Promise<void> {
  const { world } = life;
  const { status, id } = change;
  const names = model.listConsents(change, world);
  const isWaiting = status === "pending_consent";
  const isLacking = status === "approved" && model.notApplicable(change, world).includes("consent_incomplete");
  const [before, after] = [names, [...names, name]].map((some) => model.lackingPeople(some, change, world));
  const reasons = [
    ...(isWaiting || isLacking ? [] : ["illegal_transition"]),
    ...(names.includes(name) && !(isWaiting && before === 0) ? ["already_decided"] : []),
    ...(model.mayApprove(name, change, world) && (before !== after || (isWaiting && before === 0))
      ? []
      : ["not_an_approver"]),
  ];
  const reply = await decide(life, "approve", "approve", name, { change_id: id });
  if (!agree(life, "approve", reply, reasons)) return;
  change.people.push({ name, key: world.rules.keys[name]!, seq: world.seq });
  if (isWaiting && after! > 0) return;
  if (isWaiting) Object.assign(change, { status: "approved", approved_at: world.now });
  for (const entry of change.entries) world.rolled_back.delete(model.placeKey(entry));
}

export function hasApplied(change: model.Change, world: model.World): void {
  change.status = "applied";
  change.replaced = change.entries.map((entry) => model.valueNow(world, entry));
  for (const entry of change.entries) {
    const place = model.placeKey(entry);
    world.held.set(place, [...(world.held.get(place) ?? []), { at: world.now, value: entry.value }]);
    world.owners.set(place, [...(world.owners.get(place) ?? []), change.id]);
  }
}

export async function apply(life: Life, change: model.Change): Promise<void> {
  const { world } = life;
  const reply = await send(life, "apply", { change_id: change.id, actor: "ana" });
  if (!agree(life, "apply", reply, model.notApplicable(change, world))) return;
  if (change.mandate && model.isMandated(change, world)) life.seen.set("applied by a mandate", 1);
  hasApplied(change, world);
}

/** Returns the applied changes whose values are all still there. */
export const listOwners = ({ changes, owners }: model.World): model.Change[] =>
  changes.filter(
    ({ status, entries, id }) =>
      status === "applied" && entries.every((entry) => owners.get(model.placeKey(entry))!.at(-1) === id),
  );

export async function rollBack(life: Life, change: model.Change): Promise<void> {
  const { world } = life;
  const reply = await send(life, "rollback", { change_id: change.id, actor: "ana" });
  if (!agree(life, "rollback", reply, [])) return;
  change.status = "rolled_back";
  for (const [index, entry] of change.entries.entries()) {
    const place = model.placeKey(entry);
    world.held.get(place)!.push({ at: world.now, value: change.replaced[index] });
    world.owners.get(place)!.pop();
    world.rolled_back.set(place, world.now);
  }
  model.suspend(world, ({ id }) => id === change.mandate?.id);
}

/** Edits a place until its value is contested, and gives it up. */
export async function contest(life: Life, change: model.Change): Promise<void> {
  const { world, target } = life;
  // The end of a mandate is recorded by the same cycles.
  if (world.mandates.some(({ state, bounds }) => state !== "ended" && bounds.until < world.now + model.DAY)) return;
  // A process that lasts restores edits; its timers would apply changes at any time.
  const deps = { ...life.deps, longLived: true };
  const entry = change.entries[0]!;
  await checkDrift(deps);
  for (let edit = 0; edit < 6; edit++) {
    target.overwrite(toEntry(entry), String(700 + edit));
    await checkDrift(deps);
    deps.clock.advance(5 * MINUTE);
    await restoreEdited(deps);
    await checkDueDrift(deps);
    await maintainMandates(deps);
  }
  target.overwrite(toEntry(entry), JSON.stringify(entry.value));
  deps.clock.advance(90 * MINUTE);
  await checkDrift(deps);
  world.now = deps.clock.now();
  model.suspend(world, ({ id }) => id === change.mandate?.id);
}
