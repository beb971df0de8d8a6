/** Rejects decisions that lack a required signature. */
import { AppError } from "../../kit/errors.ts";
import { type Actor, isNamedByProxy } from "./actor.ts";
import type { Policy } from "./intent.ts";
import type { MandateDecision } from "./mandate.ts";
import { type PermissionAction, isListed } from "./permission_lists.ts";
import type { Proof } from "./proof.ts";
import { type KnownKey, listKeys, requiresSignature, type Signing } from "./signing.ts";

/** A verified proof: the statement that it signs, and its key. */
interface Signature {
  statement: string;
  proof: Proof;
  key: KnownKey;
}

/** A verified signature of a decision, or the reason why it is invalid. */
export type SignatureResult = Signature | { invalid: string };

/** A decision, the name of its person, and the signature that came with it. */
interface SignableDecision {
  type:
    | "approve"
    | "deny"
    | "withdraw"
    | "revoke"
    | "review"
    | "propose"
    | "stage"
    | "stage_hold"
    | MandateDecision
    | PermissionAction;
  name: string;
  signature?: SignatureResult | undefined;
  /** A rollback over a value that another program set. */
  over_drift?: boolean | undefined;
}

/** Returns the fields that a signature adds to the entry. Errors: 403 `proof_invalid`, `proof_required`, `proposer_unknown`. */
export function requireSignature(decision: SignableDecision, policy: Policy, actor: Actor): object {
  const { signature } = decision;
  if (!signature) {
    requireUnsignedAllowed(decision, policy, actor);
    return {};
  }
  if ("invalid" in signature) {
    const message = `the proof is not one of this decision by ${decision.name}: ${signature.invalid}`;
    throw new AppError("proof_invalid", message);
  }
  return { key: signature.key.id, statement: signature.statement, proof: signature.proof };
}

/** Decisions that need a signature if only signed decisions count. */
const SIGNED_DECISIONS: ReadonlySet<string> = new Set([
  "approve",
  "deny",
  "revoke",
  "review",
  "stage",
  "mandate",
  "mandate_narrow",
  "mandate_resume",
  "mandate_revoke",
  "unfreeze",
  "accept_clock",
  "accept_loss",
  "erase",
]);

/** Actions that a name with keys must sign, and other names need not: they are safe, or only set a value that has consent. */
const SIGNED_BY_KEY_HOLDERS: ReadonlySet<string> = new Set(["freeze", "note", "restore", "stage_hold"]);

/** Actions that a name with keys must sign if the intent lists who may take them. */
const SIGNED_WHERE_LISTED: ReadonlySet<string> = new Set(["apply", "rollback", "feed_kpis"]);

/** Requires that a decision counts without a signature. Errors: 403 `proof_required`, `proposer_unknown`. */
function requireUnsignedAllowed({ type, name, over_drift }: SignableDecision, policy: Policy, actor: Actor): void {
  const { signing, self_approval } = policy;
  const hasKeys = listKeys(name, signing).length > 0;
  const isVouchedFor = isNamedByProxy(actor) || actor.authenticated === "agent";
  if (SIGNED_DECISIONS.has(type) || over_drift === true) {
    if (requiresSignature(name, signing)) rejectMissingProof(name, signing);
    return;
  }
  const isSafeAction = SIGNED_BY_KEY_HOLDERS.has(type);
  const isListableAction = SIGNED_WHERE_LISTED.has(type);
  // The cast: all actions of `SIGNED_WHERE_LISTED` are permission actions.
  const mustKeyHoldersSign = isListableAction
    ? isListed(type as PermissionAction, policy)
    : isSafeAction || (type === "withdraw" && !isVouchedFor);
  if (mustKeyHoldersSign && hasKeys) rejectMissingProof(name, signing);
  if (isVouchedFor || isSafeAction || isListableAction) return;
  // Only `propose` and `withdraw` are left, by a caller who is not vouched for: such a caller could propose under another name,
  // and approve under their own.
  if ((signing.signedOnly && !self_approval) || (type === "propose" && hasKeys))
    throw new AppError(
      "proposer_unknown",
      `nothing but the request says that this is ${name}: sign it, or come through the proxy that names people, or with an agent's secret`,
    );
}

function rejectMissingProof(name: string, signing: Signing): never {
  throw new AppError(
    "proof_required",
    listKeys(name, signing).length > 0
      ? `${name} must sign this: send proof and at; POST /api/product/consent-statement says what to sign`
      : `only signed decisions count, and the intent lists no key of ${name}: ask somebody whose key it lists, or have one of ${name} listed`,
  );
}
