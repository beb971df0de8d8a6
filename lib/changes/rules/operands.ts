/** The operands of an operation: a change that sets one target is its own, and a plan has one for each of its entries. */
import type { Change } from "./change.ts";
import { isSameTarget } from "./target_key.ts";

/** Separates the id of a plan from the number of an entry; no UUID has it. */
const SEPARATOR = ".";

/**
 * Lists the changes that target systems get for a change, in their order. The operand of an entry has an id of its own,
 * `<change_id>.<number from 1>`: a system knows a change by its id.
 */
export function listOperands(change: Change): readonly Change[] {
  const { sets, places, ...plan } = change;
  if (!sets) return [change];
  return sets.map((entry, index) => {
    const location = places?.find((one) => isSameTarget(one, entry));
    const change_id = formatOperandId({ ...change, entry: index + 1 });
    return { ...plan, ...entry, change_id, ...(location && { places: [location] }) };
  });
}

/** Splits the id of an operand into that of its change, and the number of a plan's entry. */
export function parseOperandId(id: string): { change_id: string; entry?: number } {
  const [change_id, entry] = id.split(SEPARATOR) as [string, string?];
  return entry === undefined ? { change_id } : { change_id, entry: Number(entry) };
}

/** Composes the id of an operand. */
export const formatOperandId = ({ change_id, entry }: { change_id: string; entry?: number }): string =>
  entry === undefined ? change_id : change_id + SEPARATOR + entry;

/** Returns the id of the change that an operand belongs to. */
export const toChangeId = (operandId: string): string => parseOperandId(operandId).change_id;
