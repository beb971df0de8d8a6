/** Carries a proposal through one governed transaction. */
import type { GovernanceDeps } from "./deps.ts";
import { AppError } from "../kit/errors.ts";
import type { Call } from "../http/endpoint.ts";
import { type Answer, answer, etag } from "../http/answer.ts";
import { addGrowth } from "../follow/growth_log.ts";
import type { Tx } from "../store/store.ts";
import { requirePerson } from "./record_decision.ts";
import { propose, type ProposeInput } from "./rules/propose.ts";
import { type LiveTarget, targetKey } from "./records.ts";
import { governed, type Unit } from "./transaction.ts";

/** Admits a proposal and answers 201 with the change and its entry. A forbidden target leaves a growth row. */
export function admit(call: Call<GovernanceDeps>, stated: ProposeInput): Promise<Answer> {
  return governed(call, async (unit) => {
    const input = named(call, stated);
    const day = unit.at.slice(0, 10);
    const minorToday = await countMinor(unit.tx, day);
    const context = {
      product: unit.product,
      sha256: unit.sha256,
      changeId: `chg_${unit.ids.uuid(unit.now)}`,
      at: unit.at,
      minorToday,
      live: await liveOn(unit.tx, input),
    };
    const decided = decideOrRefuse(input, context);
    if (decided instanceof AppError) return refuseForbidden(unit, input, decided);
    const { record, entry } = await unit.save(undefined, decided.change, {
      event_type: "change_proposed",
      detail: decided.detail,
    });
    if (record.change.tier === "minor") unit.tx.put("counts", "minor", { day, count: minorToday + 1 });
    return answer({ ...record.change, conflicts: context.live.ids, audit_entry: entry }, 201, {
      etag: etag(record.change.revision),
    });
  });
}

/** With a trusted proxy the proposer is the person it names, and may say no other name. */
function named(call: Call<GovernanceDeps>, input: ProposeInput): ProposeInput {
  if (input.proposer !== undefined) requirePerson(call, "proposer", input.proposer);
  else if (call.person !== undefined && call.person.trim() !== "")
    return { ...input, proposer: call.person.normalize("NFKC").trim() };
  return input;
}

function decideOrRefuse(...[input, context]: Parameters<typeof propose>): ReturnType<typeof propose> | AppError {
  try {
    return propose(input, context);
  } catch (error) {
    if (error instanceof AppError && error.code === "forbidden_target") return error;
    throw error;
  }
}

async function refuseForbidden(unit: Unit, input: ProposeInput, refusal: AppError): Promise<AppError> {
  await addGrowth(unit.tx, {
    at: unit.at,
    kind: "proposal_refused",
    title: `A proposal on ${input.target} was refused`,
    detail: refusal.message,
  });
  return refusal;
}

async function countMinor(tx: Tx, day: string): Promise<number> {
  const kept = (await tx.get("counts", "minor"))?.value;
  return kept?.day === day ? kept.count : 0;
}

/** The live changes of the same tenant and target. */
export async function liveOn(
  reader: Pick<Tx, "get">,
  place: { target: string; tenant_id: string },
): Promise<LiveTarget> {
  return (await reader.get("live_targets", targetKey(place)))?.value ?? { count: 0, ids: [] };
}
