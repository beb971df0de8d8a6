/** Values that changed on a target system after a consent to replace them. */
import * as z from "zod";
import { canonicalJson } from "../../kit/canonical_json.ts";
import { once } from "../../kit/once.ts";
import type { Sha256 } from "../../kit/platform.ts";
import type { Change } from "./change.ts";
import type { Intent } from "./intent.ts";
import { isMandateApproval, isApprovedByMandate } from "./mandate_approval.ts";
import { listValidApprovals } from "./policy.ts";

/** The digest of a value that a target system held. */
export const observedValueSchema = once(() =>
  z
    .object({
      place: z.string().describe("The place that was read."),
      digest: z.string().describe("SHA-256 (hex) of its RFC 8785 JSON; absent: it holds nothing."),
      version: z.string().describe("The version that its system gives it."),
      at: z.iso.datetime().describe("When it was read."),
    })
    .describe("Value of a place when it was read."),
);
export type ObservedValue = z.infer<ReturnType<typeof observedValueSchema>>;

/** Returns the digest of a value as a consent records it. */
export const digestObservedValue = ({ value }: { value?: unknown }, sha256: Sha256): string =>
  value === undefined ? "absent" : sha256(canonicalJson(value));

/** Values that differ from those that a counted consent saw. */
export interface MovedValues {
  moved: readonly Pick<ObservedValue, "place" | "digest">[];
  /** True if the apply is rejected. */
  blocks: boolean;
}

/** Compares current values, place by place, with those that each counted consent saw; undefined if none differs. */
export function findMovedValues(
  change: Change,
  intent: Intent,
  current: readonly ObservedValue[],
): MovedValues | undefined {
  const requiresDigests = intent.policy.on_moved === "block";
  const observed = [
    ...(change.seen_by_policy ? [change.seen_by_policy] : []),
    // A mandate's consent without digests does not prove which values it saw, so they all count as changed.
    ...change.approvals.flatMap((approval) =>
      isMandateApproval(approval) && !approval.inactive ? [approval.seen ?? []] : [],
    ),
    ...listValidApprovals(change, intent).flatMap(({ seen }) => {
      if (seen) return [seen];
      // The same holds for a person's consent that was given before `on_moved: block`.
      return requiresDigests ? [[]] : [];
    }),
  ];
  const moved = current
    .filter(({ digest }, index) => observed.some((digests) => digests[index] !== digest))
    .map(({ place, digest }) => ({ place, digest }));
  return moved.length === 0 ? undefined : { moved, blocks: requiresUnchangedValues(change, intent) };
}

/** Returns true if an apply may replace only the values that its consents saw. */
export const requiresUnchangedValues = (change: Change, { policy }: Intent): boolean =>
  change.seen_by_policy !== undefined || isApprovedByMandate(change, policy) || policy.on_moved === "block";

/** Describes which values differ from those that a consent saw. */
export const describeMovedValues = ({ moved }: Pick<MovedValues, "moved">): string =>
  `${moved.map(({ place }) => place).join(", ")} ${moved.length === 1 ? "holds" : "hold"} another value than the consent saw`;
