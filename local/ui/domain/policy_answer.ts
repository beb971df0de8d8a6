/** What the intent's rules will say to a proposal, before it is sent. The service decides; this only foretells it. */
import { RISKS } from "../../../lib/changes/rules/change_terms.ts";
import { isInScope } from "../../../lib/changes/rules/list_entries.ts";
import { matchesPattern } from "../../../lib/changes/rules/target_pattern.ts";
import type { Kind, Policy, Risk, Tier } from "../core/api_types.ts";
import { figure } from "../core/format.ts";
import { sameName } from "./offers.ts";

/** What a proposer states; undefined is "not stated". */
export interface Stated {
  tenant_id: string;
  kind: Kind;
  target: string;
  proposer: string | undefined;
  affected_users: number | undefined;
  reversible: boolean | undefined;
  risk: Risk | undefined;
  tier: Tier | undefined;
}

/** The foretold answer: a refusal, or a tier with the consents it needs, and the reasons. */
export interface Foretold {
  refused: string | null;
  tier: Tier;
  required: number;
  reasons: string[];
}

/** The answer under these rules. */
export function foretell(stated: Stated, policy: Policy): Foretold {
  const { tier, reasons } = tierOf(stated, policy);
  const required = tier === "minor" ? 0 : policy.required_approvers[tier];
  return { refused: refusalOf(stated, policy, tier), tier, required, reasons };
}

function refusalOf({ target, proposer }: Stated, policy: Policy, tier: Tier): string | null {
  const pattern = policy.forbidden_targets.find((one) => matchesPattern(target, one));
  if (pattern !== undefined) return `The intent forbids targets like ${pattern}.`;
  if (!policy.self_approval && tier !== "minor" && !proposer)
    return "The intent forbids self-approval, so it must be said who proposes.";
  return null;
}

function tierOf(stated: Stated, policy: Policy): { tier: Tier; reasons: string[] } {
  const major = [
    stated.tier === "major" && "You ask for the major tier.",
    stated.reversible === false && "It cannot be undone.",
    stated.risk === "high" && "Its risk is high.",
  ].filter((reason) => reason !== false);
  if (major.length > 0) return { tier: "major", reasons: major };
  if (stated.tier !== "minor")
    return { tier: "standard", reasons: ["Nothing makes it major, and minor is not asked for."] };
  const missing = outsideMinor(stated, policy);
  return missing.length === 0
    ? { tier: "minor", reasons: ["The intent consents by itself, unless today's number of minor changes is used up."] }
    : { tier: "standard", reasons: missing };
}

/** Why the intent's own consent does not cover it. */
function outsideMinor(stated: Stated, { minor, owners }: Policy): string[] {
  if (!minor) return ["The intent makes no change minor."];
  const { kind, target, affected_users, risk, reversible } = stated;
  return [
    owners?.some((rule) => isInScope(stated, rule)) && "Its target has owners, who must consent.",
    !minor.kinds.includes(kind) && `Minor does not cover the kind ${kind}.`,
    minor.tenants &&
      !minor.tenants.includes(stated.tenant_id) &&
      `Minor covers only the tenants ${minor.tenants.join(", ")}.`,
    !minor.targets.some((one) => matchesPattern(target, one)) &&
      (minor.targets.length > 0
        ? `Minor covers only targets like ${minor.targets.join(", ")}.`
        : "Minor covers no target."),
    affected_users === undefined && "To be minor, it must say how many people are affected.",
    affected_users !== undefined &&
      affected_users > (minor.max_affected_users ?? Infinity) &&
      `Minor covers at most ${figure(minor.max_affected_users!)} people.`,
    risk === undefined && "To be minor, it must state its risk.",
    risk !== undefined &&
      RISKS.indexOf(risk) > RISKS.indexOf(minor.max_risk) &&
      `Minor covers at most ${minor.max_risk} risk.`,
    reversible !== true && "To be minor, it must be said that it can be undone.",
  ].filter((reason) => typeof reason === "string");
}

/** Who may decide, in words. */
export function decidersOf(policy: Policy, proposer: string | undefined): string {
  if (policy.approvers === undefined)
    return policy.self_approval ? "Anybody may approve it." : "Anybody but its proposer may approve it.";
  const names = policy.approvers.filter((one) => policy.self_approval || !sameName(one, proposer ?? ""));
  return names.length === 0 ? "Nobody may approve it." : `May approve it: ${names.join(", ")}.`;
}
