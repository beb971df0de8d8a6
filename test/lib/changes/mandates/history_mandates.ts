/** Acts on mandates in random histories. */
import { agree, decide, type Life, send } from "./history_life.ts";
import { toBounds } from "./history_parts.ts";
import * as model from "./model.ts";
import { DAY } from "./model.ts";

export async function draft(life: Life, bounds: model.Bounds): Promise<model.Mandate | undefined> {
  const { world } = life;
  const reply = await send(life, "mandates", toBounds(bounds));
  const isAgent = world.rules.agents.includes(bounds.agent);
  const reasons = isAgent ? model.notAllowed(bounds, world.now, world.rules) : ["invalid_field"];
  if (!agree(life, "draft", reply, isAgent ? reasons : [...reasons, "mandate_not_allowed"])) return undefined;
  const { mandate_id } = reply.body as { mandate_id: string };
  const mandate: model.Mandate = {
    ...{ id: mandate_id, bounds, created: world.now, address: world.address, state: "draft", revision: 1 },
    ...{ signatures: [], signed_at: 0, resumes: [], counts_from: 0 },
  };
  world.mandates.push(mandate);
  return mandate;
}

/** Reasons against one more signature. */
export function notSigning(name: string, mandate: model.Mandate, which: "signatures" | "resumes", world: model.World) {
  const names = model.listSigners(mandate, which, world);
  const reasons = names.includes(name) ? ["already_decided"] : [];
  if (!model.maySign(name, mandate, world)) reasons.push("not_an_approver");
  if (name === "una") reasons.push("proof_invalid");
  const [before, after] = [names, [...names, name]].map((some) => model.lacking(some, mandate, world));
  return before === after ? [...reasons, "not_an_approver"] : reasons;
}

export async function sign(life: Life, mandate: model.Mandate, name: string): Promise<void> {
  const { world } = life;
  const { bounds, created, address, state, id } = mandate;
  const isDead = state !== "draft" || world.now > created + 7 * DAY;
  const isOver = bounds.until <= world.now || address !== world.address;
  const reasons = [
    ...(isDead ? ["illegal_transition", "mandate_not_found"] : []),
    ...(isOver ? ["illegal_transition"] : []),
    ...model.notAllowed(bounds, created, world.rules),
    ...notSigning(name, mandate, "signatures", world),
  ];
  const reply = await decide(life, "mandate", "mandate-sign", name, { mandate_id: id });
  if (!agree(life, "sign", reply, reasons)) return;
  mandate.signatures.push({ name, key: world.rules.keys[name]!, seq: world.seq });
  if (model.lacking(model.listSigners(mandate, "signatures", world), mandate, world) > 0) return;
  Object.assign(mandate, { state: "active", signed_at: world.now, counts_from: world.seq });
  model.suspend(world, (one) => one === mandate && model.isBelow(one, world.kpis));
}

export async function resume(life: Life, mandate: model.Mandate, name: string): Promise<void> {
  const { world } = life;
  const isIllegal =
    model.showState(mandate, world) !== "suspended" || !world.rules.mandates || model.isBelow(mandate, world.kpis);
  const isLost = mandate.state === "active";
  if (isLost && !isIllegal) mandate.resumes = [];
  const reasons = [...(isIllegal ? ["illegal_transition"] : []), ...notSigning(name, mandate, "resumes", world)];
  const reply = await decide(life, "mandate_resume", "mandate-resume", name, { mandate_id: mandate.id });
  if (!agree(life, "resume", reply, reasons)) return;
  mandate.resumes.push({ name, key: world.rules.keys[name]!, seq: world.seq });
  const isWhole = model.lacking(model.listSigners(mandate, "resumes", world), mandate, world) === 0;
  mandate.state = isWhole ? "active" : "suspended";
  if (isWhole) mandate.counts_from = world.seq;
}

export const isClosed = (mandate: model.Mandate, world: model.World): boolean =>
  ["draft", "ended"].includes(model.showState(mandate, world));
