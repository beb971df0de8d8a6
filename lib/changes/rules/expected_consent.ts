/** Changes that wait for the consent of a given person. */
import type { Change } from "./change.ts";
import { isOpenChange } from "./current_state.ts";
import { listMissingConsents } from "./missing_consents.ts";
import { normalizeName } from "./names.ts";
import { isForbiddenSelfApproval, type Electorate, isDecider, listValidApprovals } from "./policy.ts";
import { canSign } from "./signing.ts";

/** Returns true if a rule still lacks a consent that this person can give. */
export function isConsentExpected(change: Change, name: string, intent: Electorate): boolean {
  const { policy } = intent;
  const normalizedName = normalizeName(name);
  const canConsent =
    isDecider(change, name, intent) && !isForbiddenSelfApproval(change, name, policy) && canSign(name, policy.signing);
  if (!canConsent || !isOpenChange(change.status)) return false;
  const missing = listMissingConsents(change, intent);
  // After the rules became looser, a change may lack no consent and wait only for its next event.
  if (missing.length === 0) return change.status === "pending_consent";
  // An emergency approval is no consent of the quorum or of an owner.
  const hasConsented = listValidApprovals(change, intent).some(
    ({ approver, emergency }) => !emergency && normalizeName(approver) === normalizedName,
  );
  return (
    !hasConsented &&
    missing.some(
      ({ of, unreachable }) =>
        // An empty `of` means anybody, unless nobody is left who could consent.
        of.some((listed) => normalizeName(listed) === normalizedName) || (of.length === 0 && !unreachable),
    )
  );
}
