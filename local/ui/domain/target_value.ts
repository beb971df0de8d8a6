/** The current value of a target, as a dry run answers it. */
import type { Operation } from "../core/api_types.ts";

/** A value; `null`: the target has none; undefined: not known. */
export type TargetValue = { value?: unknown } | null | undefined;

/** A preview with the value before and after. */
interface BeforeAfter {
  before: unknown;
  after: unknown;
  present_before?: boolean;
}

/** Returns the current value in the host product; undefined if the answer does not contain it. */
export function readHostValue({ adapter }: Operation): TargetValue {
  if (adapter?.holds !== undefined) return adapter.holds;
  const preview = adapter?.preview;
  if (typeof preview !== "object" || preview === null || !("before" in preview && "after" in preview)) return undefined;
  const { before, present_before } = preview as BeforeAfter;
  return present_before === false ? null : { value: before };
}
