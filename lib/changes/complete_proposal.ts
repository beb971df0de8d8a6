/** Completes a proposal that promotes another change. */
import { invalidField, invalidFields } from "../kit/errors.ts";
import type { ChangesDeps } from "./deps.ts";
import { readLedger } from "./ledger/ledger.ts";
import { createMismatchError } from "./mismatch.ts";
import { changeNotFound } from "./records.ts";
import type { ProposeInput, RequestedProposal } from "./rules/command.ts";
import type { Change } from "./rules/change.ts";
import { isPlan } from "./rules/list_entries.ts";
import { canRead } from "./rules/reader.ts";
import { isSameTarget } from "./rules/target_key.ts";

/**
 * Returns a proposal with its kind and target. If it promotes another change, it gets that change's kind and values, and its target
 * unless it names one. The promotion of a plan may not name one. Errors: 400 `invalid_field`, 404 `change_not_found`, 409 `evidence_mismatch`.
 */
export async function completeProposal(deps: ChangesDeps, requested: RequestedProposal): Promise<ProposeInput> {
  if (requested.promotes === undefined) return requireKindAndTarget(requested);
  for (const field of ["kind", "value", "sets"] as const)
    if (requested[field] !== undefined)
      throw invalidField(field, "belongs to the change that is promoted; leave it out");
  const { record, fields: mismatchedFields } = await readLedger(deps, (ledger) => ledger.change(requested.promotes!));
  const { change } = record;
  const { change_id } = change;
  if (!canRead(deps.reader, change)) throw changeNotFound(change_id);
  if (mismatchedFields.length > 0) throw createMismatchError(change_id, mismatchedFields);
  if (change.erased) throw invalidField("promotes", `names ${change_id}, whose content was erased`);
  const { kind, value } = change;
  if (isPlan(change)) return promotePlan(requested, change);
  const target = requested.target ?? change.target;
  const completed = { ...requested, kind, target, ...(value !== undefined && { value }) };
  if (isSameTarget(completed, change))
    throw invalidField("tenant_id", `is where ${change_id} is already; name another place`);
  return completed;
}

/** Returns a proposal of a plan's entries, each for the tenant of the promotion. */
function promotePlan(requested: RequestedProposal, { change_id, kind, target, sets = [] }: Change): ProposeInput {
  if (requested.target !== undefined)
    throw invalidField("target", "is the name of the plan that is promoted; leave it out");
  const { tenant_id } = requested;
  if (sets.every((entry) => entry.tenant_id === tenant_id))
    throw invalidField("tenant_id", `is where ${change_id} is already; name another one`);
  const promoted = sets.map((entry) => ({ ...entry, tenant_id }));
  const repeated = promoted.find((entry, index) => promoted.findIndex((other) => isSameTarget(other, entry)) < index);
  if (repeated)
    throw invalidField("promotes", `names a plan that would set ${repeated.target} of tenant ${tenant_id} twice`);
  return { ...requested, kind, target, sets: promoted };
}

function requireKindAndTarget({ kind, target, ...rest }: RequestedProposal): ProposeInput {
  if (kind !== undefined && target !== undefined) return { kind, target, ...rest };
  const missing = [...(kind === undefined ? ["kind"] : []), ...(target === undefined ? ["target"] : [])];
  throw invalidFields(missing.map((field) => ({ field, message: "is required" })));
}
