/** Actions on changes in random scenarios with mandates. */
import { expect } from "vitest";
import { checkDrift, checkDueDrift } from "../../../../lib/changes/check_drift.ts";
import { maintainMandates } from "../../../../lib/changes/mandates/narrow_revoke.ts";
import { restoreEdited } from "../../../../lib/changes/restore_edited.ts";
import { MINUTE } from "../../../support/clock.ts";
import { verifyReply, decide, toEntry, type Scenario, type Roll, send } from "./scenario.ts";
import { drawProposal, SECRETS, toProposalFields } from "./random_mandates.ts";
import * as model from "./mandate_model.ts";

export async function propose(scenario: Scenario, roll: Roll): Promise<void> {
  const { world } = scenario;
  const proposal = drawProposal(roll, world);
  if (!world.rules.agents.includes(proposal.agent)) return;
  const headers = { authorization: `Bearer ${SECRETS[proposal.agent]}` };
  const reply = await send(scenario, "propose", toProposalFields(proposal), headers);
  if (!verifyReply(scenario, "propose", reply, [])) return;
  const { mandateId, outside } = model.decideProposal(proposal, world);
  const at = `seed ${scenario.seed}, step ${scenario.step}: ${JSON.stringify(proposal)}: ${reply.text.slice(0, 600)}`;
  const { status, approver, change_id } = reply.body;
  expect([status, mandateId && approver], at).toEqual([
    mandateId ? "approved" : "pending_consent",
    mandateId && `mandate:${mandateId}`,
  ]);
  if (!mandateId && world.rules.mandates) {
    const outsideReply = (reply.body.outside ?? []) as { mandate_id: string; bound: string }[];
    // The service may also report a mandate whose end it has not recorded yet.
    const ended = world.mandates.filter((one) => model.currentState(one, world) === "ended").map(({ id }) => id);
    const reported = outsideReply.filter(({ mandate_id }) => !ended.includes(mandate_id));
    expect(
      reported.map(({ mandate_id }) => mandate_id),
      at,
    ).toEqual(outside.map(({ id }) => id));
    for (const [index, { bound }] of reported.entries()) {
      expect(outside[index]!.bounds, at).toContain(bound);
      scenario.tally.set(`outside ${bound}`, (scenario.tally.get(`outside ${bound}`) ?? 0) + 1);
    }
  }
  // The service makes a change of high risk, or one that cannot be undone, major.
  const isMajor = proposal.risk === "high" || proposal.reversible === false;
  world.changes.push({
    ...proposal,
    ...{ id: change_id, status: mandateId ? "approved" : "pending_consent", approved_at: world.now, stopped: false },
    required: isMajor ? world.rules.major : 1,
    isMajor,
    people: [],
    mandate: mandateId === undefined ? undefined : { id: mandateId, actionNumber: world.actionNumber, at: world.now },
    valuesAtProposal: proposal.entries.map((entry) => model.currentValue(world, entry)),
    replacedValues: [],
  });
  if (mandateId) scenario.tally.set("approved by a mandate", (scenario.tally.get("approved by a mandate") ?? 0) + 1);
}

export async function approve(scenario: Scenario, change: model.Change, name: string): Promise<void> {
  const { world } = scenario;
  const { status, id } = change;
  const names = model.listConsents(change, world);
  const isPending = status === "pending_consent";
  const lacksConsent = status === "approved" && model.findApplyErrors(change, world).includes("consent_incomplete");
  const before = model.countMissingConsents(names, change, world);
  const after = model.countMissingConsents([...names, name], change, world);
  const lacksOnlyApproval = isPending && before === 0;
  const isUseful = before !== after || lacksOnlyApproval;
  const reasons: string[] = [];
  if (!isPending && !lacksConsent) reasons.push("illegal_transition");
  if (names.includes(name) && !lacksOnlyApproval) reasons.push("already_decided");
  if (!model.mayApprove(name, change, world) || !isUseful) reasons.push("not_an_approver");
  const reply = await decide(scenario, "approve", "approve", name, { change_id: id });
  if (!verifyReply(scenario, "approve", reply, reasons)) return;
  change.people.push({ name, key: world.rules.keys[name]!, actionNumber: world.actionNumber });
  if (isPending && after > 0) return;
  if (isPending) Object.assign(change, { status: "approved", approved_at: world.now });
  // After people have consented again, mandates may approve changes of these targets.
  for (const entry of change.entries) world.rolled_back.delete(model.targetKey(entry));
}

/** Records in the model that a change was applied. */
export function recordApply(change: model.Change, world: model.World): void {
  change.status = "applied";
  change.replacedValues = change.entries.map((entry) => model.currentValue(world, entry));
  for (const entry of change.entries) {
    const key = model.targetKey(entry);
    world.values.set(key, [...(world.values.get(key) ?? []), { at: world.now, value: entry.value }]);
    world.appliedChanges.set(key, [...(world.appliedChanges.get(key) ?? []), change.id]);
  }
}

export async function apply(scenario: Scenario, change: model.Change): Promise<void> {
  const { world } = scenario;
  const reply = await send(scenario, "apply", { change_id: change.id, actor: "ana" });
  if (!verifyReply(scenario, "apply", reply, model.findApplyErrors(change, world))) return;
  if (change.mandate && model.isMandated(change, world)) scenario.tally.set("applied by a mandate", 1);
  recordApply(change, world);
}

/** Returns the applied changes that still own all of their targets. */
export const listRollbackCandidates = ({ changes, appliedChanges }: model.World): model.Change[] =>
  changes.filter(
    ({ status, entries, id }) =>
      status === "applied" && entries.every((entry) => appliedChanges.get(model.targetKey(entry))!.at(-1) === id),
  );

export async function rollBack(scenario: Scenario, change: model.Change): Promise<void> {
  const { world } = scenario;
  const reply = await send(scenario, "rollback", { change_id: change.id, actor: "ana" });
  if (!verifyReply(scenario, "rollback", reply, [])) return;
  change.status = "rolled_back";
  for (const [index, entry] of change.entries.entries()) {
    const key = model.targetKey(entry);
    world.values.get(key)!.push({ at: world.now, value: change.replacedValues[index] });
    world.appliedChanges.get(key)!.pop();
    world.rolled_back.set(key, world.now);
  }
  model.suspend(world, ({ id }) => id === change.mandate?.id);
}

/** Edits a target until its value is contested, and then restores it. */
export async function contest(scenario: Scenario, change: model.Change): Promise<void> {
  const { world, target } = scenario;
  // These cycles would also record the end of a mandate.
  if (world.mandates.some(({ state, bounds }) => state !== "ended" && bounds.until < world.now + model.DAY)) return;
  // Only a long-lived process restores edits; the scenario itself is not one, since timers would apply changes at any time.
  const deps = { ...scenario.deps, longLived: true };
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
