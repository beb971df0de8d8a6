/**
 * Actions on mandates in random scenarios, on the service and on the model. `verifyReply` requires success if the model finds no
 * reason for an error, and otherwise one of the reasons as the error code.
 */
import { verifyReply, decide, type Scenario, send } from "./scenario.ts";
import { toBoundFields } from "./random_mandates.ts";
import * as model from "./mandate_model.ts";
import { DAY } from "./mandate_model.ts";

export async function draft(scenario: Scenario, bounds: model.Bounds): Promise<model.Mandate | undefined> {
  const { world } = scenario;
  const reply = await send(scenario, "mandates", toBoundFields(bounds));
  const isAgent = world.rules.agents.includes(bounds.agent);
  const reasons = isAgent ? model.findPolicyErrors(bounds, world.now, world.rules) : ["invalid_field"];
  if (!verifyReply(scenario, "draft", reply, isAgent ? reasons : [...reasons, "mandate_not_allowed"])) return undefined;
  const { mandate_id } = reply.body as { mandate_id: string };
  const mandate: model.Mandate = {
    ...{ id: mandate_id, bounds, created: world.now, address: world.address, state: "draft", revision: 1 },
    ...{ signatures: [], signed_at: 0, resumes: [], activation_number: 0 },
  };
  world.mandates.push(mandate);
  return mandate;
}

/** Returns the error codes for one more signature. */
export function findSigningErrors(
  name: string,
  mandate: model.Mandate,
  kind: "signatures" | "resumes",
  world: model.World,
) {
  const names = model.listSigners(mandate, kind, world);
  const reasons = names.includes(name) ? ["already_decided"] : [];
  if (!model.maySign(name, mandate, world)) reasons.push("not_an_approver");
  // The keys of una sign unattended, and a mandate needs a person at the key.
  if (name === "una") reasons.push("proof_invalid");
  // A signature that makes no missing one fewer is rejected.
  const before = model.countMissingSignatures(names, mandate, world);
  const after = model.countMissingSignatures([...names, name], mandate, world);
  return before === after ? [...reasons, "not_an_approver"] : reasons;
}

export async function sign(scenario: Scenario, mandate: model.Mandate, name: string): Promise<void> {
  const { world } = scenario;
  const { bounds, created, address, state, id } = mandate;
  // A draft can be signed for seven days.
  const isNotDraft = state !== "draft" || world.now > created + 7 * DAY;
  const isOutdated = bounds.until <= world.now || address !== world.address;
  const reasons = [
    ...(isNotDraft ? ["illegal_transition", "mandate_not_found"] : []),
    ...(isOutdated ? ["illegal_transition"] : []),
    ...model.findPolicyErrors(bounds, created, world.rules),
    ...findSigningErrors(name, mandate, "signatures", world),
  ];
  const reply = await decide(scenario, "mandate", "mandate-sign", name, { mandate_id: id });
  if (!verifyReply(scenario, "sign", reply, reasons)) return;
  mandate.signatures.push({ name, key: world.rules.keys[name]!, actionNumber: world.actionNumber });
  if (model.countMissingSignatures(model.listSigners(mandate, "signatures", world), mandate, world) > 0) return;
  Object.assign(mandate, { state: "active", signed_at: world.now, activation_number: world.actionNumber });
  model.suspend(world, (one) => one === mandate && model.isBelowFloor(one, world.kpis));
}

export async function resume(scenario: Scenario, mandate: model.Mandate, name: string): Promise<void> {
  const { world } = scenario;
  const isIllegal =
    model.currentState(mandate, world) !== "suspended" ||
    !world.rules.mandates ||
    model.isBelowFloor(mandate, world.kpis);
  const isActivationLost = mandate.state === "active";
  // The first resumption after a loss needs all signatures again.
  if (isActivationLost && !isIllegal) mandate.resumes = [];
  const reasons = [...(isIllegal ? ["illegal_transition"] : []), ...findSigningErrors(name, mandate, "resumes", world)];
  const reply = await decide(scenario, "mandate_resume", "mandate-resume", name, { mandate_id: mandate.id });
  if (!verifyReply(scenario, "resume", reply, reasons)) return;
  mandate.resumes.push({ name, key: world.rules.keys[name]!, actionNumber: world.actionNumber });
  const isComplete = model.countMissingSignatures(model.listSigners(mandate, "resumes", world), mandate, world) === 0;
  mandate.state = isComplete ? "active" : "suspended";
  if (isComplete) mandate.activation_number = world.actionNumber;
}

export const isClosed = (mandate: model.Mandate, world: model.World): boolean =>
  ["draft", "ended"].includes(model.currentState(mandate, world));
