/** What an approver sees of a dry run: what the host product holds now, and what it would hold. */
import type { Change, Operation } from "../core/api_types.ts";

/** One side of a comparison; `null`: nothing is there. */
type Side = { value: unknown } | null;

/** What an adapter that shows both sides answers. */
interface BeforeAfter {
  before: unknown;
  after: unknown;
  present_before?: boolean;
}

/** What the host product holds, as far as the answer says it; undefined where it does not. */
export function heldIn({ adapter }: Operation): Side | undefined {
  if (adapter === null) return undefined;
  if (adapter.holds !== undefined) return adapter.holds;
  const { preview } = adapter;
  if (!isBeforeAfter(preview)) return undefined;
  return preview.present_before === false ? null : { value: preview.before };
}

/** Both sides of an apply; undefined where the adapter does not show them. */
export function sidesOf(answer: Operation, change: Change): { before: Side; after: Side } | undefined {
  const before = heldIn(answer);
  return before === undefined
    ? undefined
    : { before, after: change.value === undefined ? before : { value: change.value } };
}

const isBeforeAfter = (given: unknown): given is BeforeAfter =>
  typeof given === "object" && given !== null && "before" in given && "after" in given;
