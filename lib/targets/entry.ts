/** Validates entries of target systems, and compares their values. */
import { canonicalJson } from "../kit/canonical_json.ts";
import type { Entry, TargetValue } from "./port.ts";

const MAX_VALUE_DEPTH = 64;

/** Returns true for an entry that sets a value. */
export const setsValue = ({ value }: Pick<Entry, "value">): boolean => value !== undefined;

/** Compares values as JSON and ignores versions; two absent values are equal. */
export function isEqual(a: Partial<TargetValue> | undefined, b: Partial<TargetValue> | undefined): boolean {
  if (a?.value === undefined || b?.value === undefined) return a?.value === b?.value;
  return canonicalJson(a.value) === canonicalJson(b.value);
}

/** Converts a value to the form of the adapter port: `null` if the target holds nothing. */
export const toAdapterValue = (current: TargetValue | undefined): { value: unknown } | null =>
  current?.value === undefined ? null : { value: current.value };

/** Explains why no target system can hold the entry; undefined for a valid entry. */
export function findEntryProblem({ tenant_id, target, value = null }: Entry): string | undefined {
  if (tenant_id === "" || !tenant_id.isWellFormed()) return "tenant_id is empty or not well-formed Unicode";
  if (target === "" || !target.isWellFormed()) return "target is empty or not well-formed Unicode";
  if (isDeeper(value, MAX_VALUE_DEPTH)) return `value nests more than ${MAX_VALUE_DEPTH} levels deep`;
  try {
    canonicalJson(value);
  } catch {
    return "value is not JSON of well-formed Unicode";
  }
  return undefined;
}

function isDeeper(value: unknown, limit: number): boolean {
  if (typeof value !== "object" || value === null) return false;
  return limit === 0 || Object.values(value).some((member) => isDeeper(member, limit - 1));
}
