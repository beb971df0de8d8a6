/** The operands of an operation: the change itself, or one operand for each entry of a plan. */
import type { Change } from "./change.ts";
import { isSameTarget } from "./target_key.ts";

/** Separates the id of a plan from the number of an entry; no UUID has it. */
const SEPARATOR = ".";

/**
 * Lists the changes that target systems receive for a change, in order. The operand of a plan's entry has its own id,
 * `<change_id>.<number from 1>`: a system knows a change by its id.
 */
export function listOperands(change: Change): readonly Change[] {
  const { sets, places, ...plan } = change;
  if (!sets) return [change];
  return sets.map((entry, index) => {
    const location = places?.find((place) => isSameTarget(place, entry));
    const change_id = formatOperandId({ ...change, entry: index + 1 });
    return { ...plan, ...entry, change_id, ...(location && { places: [location] }) };
  });
}

/** Splits an operand's id into the id of its change and the number of a plan's entry. */
export function parseOperandId(id: string): { change_id: string; entry?: number } {
  const [change_id, entry] = id.split(SEPARATOR) as [string, string?];
  return entry === undefined ? { change_id } : { change_id, entry: Number(entry) };
}

/** Composes the id of an operand. */
export const formatOperandId = ({ change_id, entry }: { change_id: string; entry?: number }): string =>
  entry === undefined ? change_id : change_id + SEPARATOR + entry;

export const toChangeId = (operandId: string): string => parseOperandId(operandId).change_id;
