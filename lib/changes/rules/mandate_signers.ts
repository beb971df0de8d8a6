/** The signatures that a mandate needs: the quorum of major changes, and the owners of every pattern that it covers. Pure. */
import type { Electorate } from "./policy.ts";
import { listElectors, canDecide } from "./policy.ts";
import type { MandateBounds } from "./mandate.ts";
import { type MissingConsent, QUORUM } from "./missing_consents.ts";
import { normalizeName } from "./names.ts";
import { hasOverlap } from "./pattern_overlap.ts";
import type { Policy } from "./intent.ts";
import { listKeys, type Signing } from "./signing.ts";
import { isCovered } from "./target_pattern.ts";

type MandateScope = Pick<MandateBounds, "targets" | "tenants">;
type OwnerRule = Policy["owners"][number];

/** Returns true if a rule of owners applies to some targets of a pattern. */
const overlapsScope = (pattern: string, tenants: MandateBounds["tenants"], rule: OwnerRule): boolean =>
  rule.targets.some((owned) => hasOverlap(pattern, owned)) &&
  (!rule.tenants || tenants === "all" || rule.tenants.some((tenant) => tenants.includes(tenant)));

/** Returns true if a rule of owners applies to all targets of a pattern. */
const coversScope = (pattern: string, tenants: MandateBounds["tenants"], rule: OwnerRule): boolean =>
  isCovered(pattern, rule.targets) &&
  (!rule.tenants || (tenants !== "all" && tenants.every((tenant) => rule.tenants!.includes(tenant))));

/** Finds a pattern that a rule of owners covers in part. */
export function findPartlyOwned(
  { targets, tenants }: MandateScope,
  { owners }: Pick<Policy, "owners">,
): { pattern: string; owned: string } | undefined {
  for (const pattern of targets)
    for (const rule of owners)
      if (overlapsScope(pattern, tenants, rule) && !coversScope(pattern, tenants, rule))
        return { pattern, owned: rule.targets.join(", ") };
  return undefined;
}

/** Lists the rules whose owners must sign. */
const listOwnerRules = ({ targets, tenants }: MandateScope, { owners }: Pick<Policy, "owners">): OwnerRule[] =>
  owners.filter((rule) => targets.some((pattern) => overlapsScope(pattern, tenants, rule)));

/** Returns true for a person who may sign a mandate: one who may decide on any change, or an owner of what it covers. */
export const canSignMandate = (name: string, bounds: MandateScope, intent: Electorate): boolean =>
  canDecide(name, intent) ||
  listOwnerRules(bounds, intent.policy).some(({ approvers }) => approvers.includes(normalizeName(name)));

/** Returns true for a person with a key that needs their presence, as every passkey does. */
export const hasAttendedKey = (name: string, signing: Signing): boolean =>
  listKeys(name, signing).some((key) => key.type !== "ssh" || !key.unattended);

/** Lists the signatures that a mandate lacks; `signers`: those whose signatures count. */
export function listMissingSignatures(
  signers: readonly string[],
  bounds: MandateScope,
  intent: Electorate,
): MissingConsent[] {
  const { policy } = intent;
  const signed = new Set(signers.map(normalizeName));
  const createMissing = (rule: string, required: number, names: readonly string[]): MissingConsent => {
    const signedCount = names.filter((name) => signed.has(name)).length;
    const possibleSigners = names.filter((name) => hasAttendedKey(name, policy.signing) && !signed.has(name));
    const count = required - signedCount;
    return { rule, count, of: possibleSigners, ...(possibleSigners.length < count ? { unreachable: true } : {}) };
  };
  // Mandates need `signed_only`, under which electors are always listed.
  const quorum = createMissing(QUORUM, policy.required_approvers.major, listElectors(intent) ?? []);
  const owned = listOwnerRules(bounds, policy).map(({ targets, tenants, approvers, required }) => {
    const ofTenants = tenants ? ` for ${tenants.join(", ")}` : "";
    return createMissing(`owners ${targets.join(", ")}${ofTenants}`, required, [...new Set(approvers)]);
  });
  return [quorum, ...owned].filter(({ count }) => count > 0);
}
