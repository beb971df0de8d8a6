/** Consents that are still missing under today's intent: of the tier's quorum, and of the owners of the target. */
import * as z from "zod";
import { once } from "../../kit/once.ts";
import { isEmergencyApproved } from "./break_glass.ts";
import type { Change } from "./change.ts";
import { findApprovingMandate, isApprovedByMandate } from "./mandate_approval.ts";
import { normalizeName } from "./names.ts";
import { findCoveredTarget } from "./list_entries.ts";
import {
  isForbiddenSelfApproval,
  type Electorate,
  countRequiredConsents,
  listElectors,
  canDecide,
  listValidApprovals,
} from "./policy.ts";
import { canSign } from "./signing.ts";

export const missingSchema = once(() =>
  z
    .object({
      rule: z.string().meta({
        description: "Which rule asks: required_approvers, or owners with the targets of the rule.",
        examples: ["required_approvers"],
      }),
      count: z.number().int().describe("How many more must consent."),
      of: z.array(z.string()).meta({ description: "Who may; empty: anybody.", examples: [["ana@acme.example"]] }),
      mandate: z.string().optional().describe("The mandate that approved it and is not active."),
      unreachable: z.literal(true).optional().describe("Present when fewer are left who may than are missing."),
    })
    .describe("Consent that a rule of the intent still asks for."),
);
export type MissingConsent = z.infer<ReturnType<typeof missingSchema>>;

/** Name of the tier's rule. */
export const QUORUM = "required_approvers";

/**
 * Lists the consents that each rule still lacks. Empty if none is missing, or if emergency consents or a mandate
 * replace them.
 */
export const listMissingConsents = (change: Change, intent: Electorate): MissingConsent[] =>
  isEmergencyApproved(change, intent) || isApprovedByMandate(change, intent.policy)
    ? []
    : listMissingOrdinaryConsents(change, intent);

/** Lists the consents that quorum and owners still lack, without regard to emergencies and mandates. */
export function listMissingOrdinaryConsents(change: Change, intent: Electorate): MissingConsent[] {
  const consentingNames = listConsentingNames(change, intent);
  const mandate = findApprovingMandate(change);
  const { policy } = intent;
  const createMissing = (rule: string, count: number, names: readonly string[] | undefined): MissingConsent => {
    const possibleApprovers = (names ?? []).filter(
      (name) => !consentingNames.includes(name) && !isForbiddenSelfApproval(change, name, policy),
    );
    return {
      rule,
      count,
      of: possibleApprovers,
      ...(mandate !== undefined && { mandate }),
      ...(names && possibleApprovers.length < count ? { unreachable: true } : {}),
    };
  };
  const quorum = createMissing(
    QUORUM,
    countRequiredConsents(change, policy) - countElectors(consentingNames, intent),
    listElectors(intent),
  );
  const owned = policy.owners
    .filter((rule) => findCoveredTarget(change, rule) !== undefined)
    .map(({ targets, tenants, approvers, required }): MissingConsent => {
      const owners = [...new Set(approvers)];
      const consentCount = owners.filter((name) => consentingNames.includes(name)).length;
      const signers = owners.filter((name) => canSign(name, policy.signing));
      const ofTenants = tenants ? ` for ${tenants.join(", ")}` : "";
      return createMissing(`owners ${targets.join(", ")}${ofTenants}`, required - consentCount, signers);
    });
  return [quorum, ...owned].filter(({ count }) => count > 0);
}

/**
 * Counts the consents of the tier's quorum and those that it needs. An owner's consent counts if the owner is also an approver.
 */
export const countQuorum = (change: Change, intent: Electorate): { received: number; needed: number } => ({
  received: countElectors(listConsentingNames(change, intent), intent),
  needed: countRequiredConsents(change, intent.policy),
});

const countElectors = (consentingNames: readonly string[], intent: Electorate): number =>
  consentingNames.filter((name) => canDecide(name, intent)).length;

const listConsentingNames = (change: Change, intent: Electorate): string[] => [
  ...new Set(
    listValidApprovals(change, intent).flatMap(({ approver, emergency }) => (emergency ? [] : normalizeName(approver))),
  ),
];
