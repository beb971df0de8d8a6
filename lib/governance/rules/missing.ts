/** Whose consent is still missing under today's intent: of the tier's quorum, and of the owners of the target. */
import * as z from "zod";
import { isEmergency } from "./break_glass.ts";
import type { Change } from "./change.ts";
import { matchesAny, sameName } from "./names.ts";
import { approvesOwn, type Electorate, consentsNeeded, mayDecide, standingApprovals } from "./policy.ts";

export const missingSchema = z.object({
  /** `required_approvers`, or `owners` with the targets of the rule. */
  rule: z.string(),
  /** How many more must consent. */
  count: z.number().int(),
  /** Who may; empty: anybody. */
  of: z.array(z.string()),
});
export type Missing = z.infer<typeof missingSchema>;

/** The rule of the tier. */
export const QUORUM = "required_approvers";

/** What each rule still lacks; empty when apply has all that it asks for, an emergency's consents included. */
export const missingConsents = (change: Change, intent: Electorate): Missing[] =>
  isEmergency(change, intent) ? [] : missingOrdinary(change, intent);

/** What quorum and owners still lack, emergency or not. */
export function missingOrdinary(change: Change, intent: Electorate): Missing[] {
  const standing = standingNames(change, intent);
  const still = (names: readonly string[]) =>
    names.filter((name) => !standing.includes(name) && !approvesOwn(change, name, intent.policy));
  const { given, needed } = quorumOf(change, intent);
  const quorum: Missing = {
    rule: QUORUM,
    count: needed - given,
    of: still([...new Set(intent.policy.approvers ?? [])]),
  };
  const owned = intent.policy.owners
    .filter(({ targets }) => matchesAny(change.target, targets))
    .map(({ targets, approvers, required }): Missing => {
      const named = [...new Set(approvers)];
      const given = named.filter((name) => standing.includes(name)).length;
      return { rule: `owners ${targets.join(", ")}`, count: required - given, of: still(named) };
    });
  return [quorum, ...owned].filter(({ count }) => count > 0);
}

/** How many consents of the tier's quorum there are, and how many it asks for. An owner's counts where approvers name them. */
export function quorumOf(change: Change, intent: Electorate): { given: number; needed: number } {
  const given = standingNames(change, intent).filter((name) => mayDecide(name, intent)).length;
  return { given, needed: consentsNeeded(change, intent.policy) };
}

const standingNames = (change: Change, intent: Electorate): string[] => [
  ...new Set(
    standingApprovals(change, intent).flatMap(({ approver, emergency }) => (emergency ? [] : sameName(approver))),
  ),
];
