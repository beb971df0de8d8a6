/** The current value of a target, as a dry run answers it. */
import type { Operation } from "../core/api_types.ts";

/** A value; `null`: nothing is there; undefined: not known. */
export type TargetValue = { value?: unknown } | null | undefined;

/** The answer of an adapter that shows both sides. */
interface BeforeAfter {
  before: unknown;
  after: unknown;
  present_before?: boolean;
}

/** Returns what the host product holds, as far as the answer says it; undefined where it does not. */
export function readHostValue({ adapter }: Operation): TargetValue {
  if (adapter?.holds !== undefined) return adapter.holds;
  const preview = adapter?.preview;
  if (typeof preview !== "object" || preview === null || !("before" in preview && "after" in preview)) return undefined;
  const { before, present_before } = preview as BeforeAfter;
  return present_before === false ? null : { value: before };
}
