/** Whose signatures a mandate needs: the quorum of major changes, and the owners of every pattern that it covers. Pure. */
import type { Electorate } from "./policy.ts";
import { listElectors, canDecide } from "./policy.ts";
import type { MandateBounds } from "./mandate.ts";
import { type MissingConsent, QUORUM } from "./missing.ts";
import { normalizeName } from "./names.ts";
import { overlaps } from "./pattern_overlap.ts";
import type { Policy } from "./intent.ts";
import { listKeys, type Signing } from "./signing.ts";
import { isCovered } from "./target_pattern.ts";

type Covering = Pick<MandateBounds, "targets" | "tenants">;
type OwnerRule = Policy["owners"][number];

/** Returns true where a rule of owners is for some of what a pattern covers. */
const touches = (pattern: string, tenants: MandateBounds["tenants"], rule: OwnerRule): boolean =>
  rule.targets.some((owned) => overlaps(pattern, owned)) &&
  (!rule.tenants || tenants === "all" || rule.tenants.some((tenant) => tenants.includes(tenant)));

/** Returns true where a rule of owners is for all of what a pattern covers. */
const coversAll = (pattern: string, tenants: MandateBounds["tenants"], rule: OwnerRule): boolean =>
  isCovered(pattern, rule.targets) &&
  (!rule.tenants || (tenants !== "all" && tenants.every((tenant) => rule.tenants!.includes(tenant))));

/** Finds a pattern that a rule of owners covers in part. */
export function findPartlyOwned(
  { targets, tenants }: Covering,
  { owners }: Pick<Policy, "owners">,
): { pattern: string; owned: string } | undefined {
  for (const pattern of targets)
    for (const rule of owners)
      if (touches(pattern, tenants, rule) && !coversAll(pattern, tenants, rule))
        return { pattern, owned: rule.targets.join(", ") };
  return undefined;
}

/** Lists the rules whose owners must sign. */
const ownerRules = ({ targets, tenants }: Covering, { owners }: Pick<Policy, "owners">): OwnerRule[] =>
  owners.filter((rule) => targets.some((pattern) => touches(pattern, tenants, rule)));

/** Returns true for a person who may sign a mandate: one who may decide on any change, or an owner of what it covers. */
export const canSignMandate = (name: string, bounds: Covering, intent: Electorate): boolean =>
  canDecide(name, intent) ||
  ownerRules(bounds, intent.policy).some(({ approvers }) => approvers.includes(normalizeName(name)));

/** Returns true for a person with a key that needs their presence. */
export const hasAttendedKey = (name: string, signing: Signing): boolean =>
  listKeys(name, signing).some((key) => key.type !== "ssh" || !key.unattended);

/** Lists the signatures that a mandate lacks; `signers`: those whose signatures count. */
export function listMissingSignatures(
  signers: readonly string[],
  bounds: Covering,
  intent: Electorate,
): MissingConsent[] {
  const { policy } = intent;
  const signed = new Set(signers.map(normalizeName));
  const lack = (rule: string, required: number, names: readonly string[]): MissingConsent => {
    const able = names.filter((name) => hasAttendedKey(name, policy.signing));
    const given = names.filter((name) => signed.has(name)).length;
    const of = able.filter((name) => !signed.has(name));
    const count = required - given;
    return { rule, count, of, ...(of.length < count ? { unreachable: true } : {}) };
  };
  const electors = listElectors(intent) ?? [];
  const owned = ownerRules(bounds, policy).map(({ targets, tenants, approvers, required }) =>
    lack(`owners ${targets.join(", ")}${tenants ? ` for ${tenants.join(", ")}` : ""}`, required, [
      ...new Set(approvers),
    ]),
  );
  return [lack(QUORUM, policy.required_approvers.major, electors), ...owned].filter(({ count }) => count > 0);
}
