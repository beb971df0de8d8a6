/** Values that were changed on a target system after somebody consented to replace them. */
import * as z from "zod";
import { canonicalJson } from "../../kit/canonical_json.ts";
import { once } from "../../kit/once.ts";
import type { Sha256 } from "../../kit/platform.ts";
import type { Change } from "./change.ts";
import type { Intent } from "./intent.ts";
import { isMandateApproval, isApprovedByMandate } from "./mandate_approval.ts";
import { listValidApprovals } from "./policy.ts";

/** The value of a place, by its digest. */
export const observedValueSchema = once(() =>
  z
    .object({
      place: z.string().describe("The place that was read."),
      digest: z.string().describe("SHA-256 (hex) of its RFC 8785 JSON; absent: it holds nothing."),
      version: z.string().describe("The version that its system gives it."),
      at: z.iso.datetime().describe("When it was read."),
    })
    .describe("What a place held when it was read."),
);
export type ObservedValue = z.infer<ReturnType<typeof observedValueSchema>>;

/** Returns the digest of a value as a consent records it. */
export const digestObservedValue = ({ value }: { value?: unknown }, sha256: Sha256): string =>
  value === undefined ? "absent" : sha256(canonicalJson(value));

/** Places that hold something else than a counted consent saw. */
export interface MovedValues {
  moved: readonly Pick<ObservedValue, "place" | "digest">[];
  /** The apply is rejected: for a consent of the policy always, otherwise as `policy.on_moved` says. */
  blocks: boolean;
}

/** Compares what places hold with what each counted consent saw; undefined where no consent saw anything else. */
export function findMovedValues(
  change: Change,
  intent: Intent,
  current: readonly ObservedValue[],
): MovedValues | undefined {
  const isBlocked = intent.policy.on_moved === "block";
  const observed = [
    ...(change.seen_by_policy ? [change.seen_by_policy] : []),
    // A consent without digests, made before such a policy, does not show that it saw these values: they count as moved.
    ...change.approvals.flatMap((approval) =>
      isMandateApproval(approval) && !approval.inactive ? [approval.seen ?? []] : [],
    ),
    ...listValidApprovals(change, intent).flatMap(({ seen }) => (seen ? [seen] : isBlocked ? [[]] : [])),
  ];
  const moved = current
    .filter(({ digest }, index) => observed.some((digests) => digests[index] !== digest))
    .map(({ place, digest }) => ({ place, digest }));
  return moved.length === 0 ? undefined : { moved, blocks: requiresUnchangedValues(change, intent) };
}

/** Returns true where an apply may replace nothing but what its consents saw. */
export const requiresUnchangedValues = (change: Change, { policy }: Intent): boolean =>
  change.seen_by_policy !== undefined || isApprovedByMandate(change, policy) || policy.on_moved === "block";

/** Says which places hold something else than was seen. */
export const describeMovedValues = ({ moved }: Pick<MovedValues, "moved">): string =>
  `${moved.map(({ place }) => place).join(", ")} ${moved.length === 1 ? "holds" : "hold"} another value than the consent saw`;
