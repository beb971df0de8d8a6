/** What an intent may ask of a consent beyond the tier's quorum. */
import { approver, count, finite, list, object, pattern } from "./intent_parts.ts";
import * as z from "zod";

/** Those who must consent to changes of their targets, so many of them. */
const owners = object({
  targets: list(pattern).min(1, "must name a target"),
  approvers: list(approver).min(1, "must name somebody"),
  required: count(1).default(1),
});

/** Fields of `policy`. */
export const consentRules = {
  /** Beside the tier's quorum. */
  owners: list(owners).default([]),
  /** How long an approved change may wait for its apply. */
  approval_ttl_hours: finite.positive("must be above 0").optional(),
  /** What an apply does when another change was applied on the target since the consent. */
  on_stale: z.enum(["report", "block"], "must be report or block").default("report"),
};

interface Unreachable {
  path: PropertyKey[];
  message: string;
}

/** Rules of consent that nobody could ever meet. */
export function unreachableConsent(rules: { owners: z.output<typeof owners>[] }): Unreachable[] {
  return rules.owners.flatMap(({ approvers, required }, index) => {
    const named = new Set(approvers).size;
    const message = `asks for ${required}, and its approvers are ${named}`;
    return required > named ? [{ path: ["owners", index, "required"], message }] : [];
  });
}
