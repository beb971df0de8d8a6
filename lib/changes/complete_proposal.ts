/** Completes a proposal that promotes another change. */
import { invalidField, invalidFields } from "../kit/errors.ts";
import type { ChangesDeps } from "./deps.ts";
import { readLedger } from "./ledger/ledger.ts";
import { mismatch } from "./mismatch.ts";
import { changeNotFound } from "./records.ts";
import type { ProposeInput, RequestedProposal } from "./rules/command.ts";
import { maySee } from "./rules/reader.ts";
import { samePlace } from "./rules/same_target.ts";

/**
 * Returns a proposal with its kind and target; one that promotes another change takes kind, value and, unless it names one, target
 * of that. Errors: 400 `invalid_field`, 404 `change_not_found`, 409 `evidence_mismatch`.
 */
export async function completeProposal(deps: ChangesDeps, requested: RequestedProposal): Promise<ProposeInput> {
  if (requested.promotes === undefined) return requireWhole(requested);
  for (const field of ["kind", "value"] as const)
    if (requested[field] !== undefined)
      throw invalidField(field, "belongs to the change that is promoted; leave it out");
  const { record, fields } = await readLedger(deps, (ledger) => ledger.change(requested.promotes!));
  const { change } = record;
  const { change_id } = change;
  if (!maySee(deps.reader, change)) throw changeNotFound(change_id);
  if (fields.length > 0) throw mismatch(change_id, fields);
  if (change.erased) throw invalidField("promotes", `names ${change_id}, whose content was erased`);
  const { kind, value } = change;
  const target = requested.target ?? change.target;
  const completed = { ...requested, kind, target, ...(value !== undefined && { value }) };
  if (samePlace(completed, change))
    throw invalidField("tenant_id", `is where ${change_id} is already; name another place`);
  return completed;
}

function requireWhole({ kind, target, ...rest }: RequestedProposal): ProposeInput {
  if (kind !== undefined && target !== undefined) return { kind, target, ...rest };
  const missing = [...(kind === undefined ? ["kind"] : []), ...(target === undefined ? ["target"] : [])];
  throw invalidFields(missing.map((field) => ({ field, message: "is required" })));
}
