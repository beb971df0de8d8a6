/** Actions on mandates in random scenarios. */
import { agree, decide, type Scenario, send } from "./history_life.ts";
import { toBounds } from "./history_parts.ts";
import * as model from "./model.ts";
import { DAY } from "./model.ts";

export async function draft(scenario: Scenario, bounds: model.Bounds): Promise<model.Mandate | undefined> {
  const { world } = scenario;
  const reply = await send(scenario, "mandates", toBounds(bounds));
  const isAgent = world.rules.agents.includes(bounds.agent);
  const reasons = isAgent ? model.findPolicyErrors(bounds, world.now, world.rules) : ["invalid_field"];
  if (!agree(scenario, "draft", reply, isAgent ? reasons : [...reasons, "mandate_not_allowed"])) return undefined;
  const { mandate_id } = reply.body as { mandate_id: string };
  const mandate: model.Mandate = {
    ...{ id: mandate_id, bounds, created: world.now, address: world.address, state: "draft", revision: 1 },
    ...{ signatures: [], signed_at: 0, resumes: [], counts_from: 0 },
  };
  world.mandates.push(mandate);
  return mandate;
}

/** Returns the error codes for one more signature. */
export function findSigningErrors(
  name: string,
  mandate: model.Mandate,
  which: "signatures" | "resumes",
  world: model.World,
) {
  const names = model.listSigners(mandate, which, world);
  const reasons = names.includes(name) ? ["already_decided"] : [];
  if (!model.maySign(name, mandate, world)) reasons.push("not_an_approver");
  if (name === "una") reasons.push("proof_invalid");
  const [before, after] = [names, [...names, name]].map((some) => model.countMissingSignatures(some, mandate, world));
  return before === after ? [...reasons, "not_an_approver"] : reasons;
}

export async function sign(scenario: Scenario, mandate: model.Mandate, name: string): Promise<void> {
  const { world } = scenario;
  const { bounds, created, address, state, id } = mandate;
  const isNoDraft = state !== "draft" || world.now > created + 7 * DAY;
  const isOutdated = bounds.until <= world.now || address !== world.address;
  const reasons = [
    ...(isNoDraft ? ["illegal_transition", "mandate_not_found"] : []),
    ...(isOutdated ? ["illegal_transition"] : []),
    ...model.findPolicyErrors(bounds, created, world.rules),
    ...findSigningErrors(name, mandate, "signatures", world),
  ];
  const reply = await decide(scenario, "mandate", "mandate-sign", name, { mandate_id: id });
  if (!agree(scenario, "sign", reply, reasons)) return;
  mandate.signatures.push({ name, key: world.rules.keys[name]!, seq: world.seq });
  if (model.countMissingSignatures(model.listSigners(mandate, "signatures", world), mandate, world) > 0) return;
  Object.assign(mandate, { state: "active", signed_at: world.now, counts_from: world.seq });
  model.suspend(world, (one) => one === mandate && model.isBelow(one, world.kpis));
}

export async function resume(scenario: Scenario, mandate: model.Mandate, name: string): Promise<void> {
  const { world } = scenario;
  const isIllegal =
    model.currentState(mandate, world) !== "suspended" || !world.rules.mandates || model.isBelow(mandate, world.kpis);
  const isLost = mandate.state === "active";
  if (isLost && !isIllegal) mandate.resumes = [];
  const reasons = [...(isIllegal ? ["illegal_transition"] : []), ...findSigningErrors(name, mandate, "resumes", world)];
  const reply = await decide(scenario, "mandate_resume", "mandate-resume", name, { mandate_id: mandate.id });
  if (!agree(scenario, "resume", reply, reasons)) return;
  mandate.resumes.push({ name, key: world.rules.keys[name]!, seq: world.seq });
  const isComplete = model.countMissingSignatures(model.listSigners(mandate, "resumes", world), mandate, world) === 0;
  mandate.state = isComplete ? "active" : "suspended";
  if (isComplete) mandate.counts_from = world.seq;
}

export const isClosed = (mandate: model.Mandate, world: model.World): boolean =>
  ["draft", "ended"].includes(model.currentState(mandate, world));
