/** Attests that a change has its consents and is in force: an in-toto Statement for other verifiers, in a signed envelope. */
import { canonicalJson } from "../../kit/canonical_json.ts";
import { type Envelope, type EnvelopeSigner, signEnvelope } from "../../kit/dsse.ts";
import { AppError } from "../../kit/errors.ts";
import type { ChangesDeps } from "../deps.ts";
import type { Change } from "../rules/change.ts";
import { parseDetail } from "../rules/event.ts";
import { NoTargetSystem } from "../operations/adapter_port.ts";
import { listEntries } from "../rules/list_entries.ts";
import { HEAD_PATTERN, findReleaseHead } from "../rules/release.ts";
import { runTransaction, type Transaction } from "../transaction.ts";
import { isGate } from "./ask_gate.ts";
import { judgeRelease } from "./judge_release.ts";

const PAYLOAD_TYPE = "application/vnd.in-toto+json";

/** The service that attests, and its key. */
export interface Attester {
  signer: EnvelopeSigner;
  /** Address of the console, which identifies the service to verifiers; undefined: the origin of the log does. */
  publicUrl: string | undefined;
}

/**
 * Attests a release that is allowed, or another change that is applied and owns its targets. Writes nothing. Errors: 404
 * `change_not_found`, 409 `evidence_mismatch`, `approval_stale`, `not_in_force`, 503 `chain_broken`.
 */
export async function attest(deps: ChangesDeps, changeId: string, { signer, publicUrl }: Attester): Promise<Envelope> {
  const statement = await runTransaction<object>({ deps }, async (transaction) => {
    const { fields } = await transaction.ledger.change(changeId);
    // `closing` accepts content that does not match; the error for it is `approval_stale`.
    const { change, applied } = await transaction.change(changeId, "closing");
    if (fields.length > 0)
      throw new AppError("approval_stale", `the content of ${changeId} is not what was proposed; it is not attested`);
    const head = findHead(transaction, change);
    if (head === undefined) await requireInForce(transaction, change);
    else await requireAllowedRelease(transaction, change, head);
    // A release is judged now, under the current intent; the consents of another change were judged when it was applied.
    const entry = head === undefined ? await transaction.evidence.storedEntry(applied?.entry) : undefined;
    const policy = (entry && parseDetail(entry.detail).manifest_hash) ?? transaction.product.manifest_hash;
    return createStatement(transaction, { change, head, policy, publicUrl });
  });
  return signEnvelope(PAYLOAD_TYPE, canonicalJson(statement), { signer, sha256: deps.sha256 });
}

/**
 * Returns the commit that a change releases; undefined for a change that is no release. A release sets one target, of kind `config`,
 * whose value no target system sets, since other tools ask for it. Errors: 409 `not_in_force`.
 */
function findHead({ product }: Transaction, change: Change): string | undefined {
  const [entry, ...others] = listEntries(change);
  if (!entry || others.length > 0 || change.kind !== "config") return undefined;
  try {
    if (!isGate(product.adapter, entry)) return undefined;
  } catch (error) {
    throw error instanceof NoTargetSystem ? createNotInForceError(change, error.message) : error;
  }
  const head = findReleaseHead(entry.target, entry.value);
  return head !== undefined && HEAD_PATTERN.test(head) ? head : undefined;
}

async function requireAllowedRelease(transaction: Transaction, change: Change, head: string): Promise<void> {
  const { change_id, tenant_id, target } = change;
  const decision = await judgeRelease(transaction, { tenant_id, target, head });
  if (decision.state === "allowed" && decision.change_id === change_id) return;
  const isOther = decision.change_id !== null && decision.change_id !== change_id;
  const reason = isOther ? `${decision.change_id} releases this head` : decision.reasons.join("; ");
  throw createNotInForceError(change, reason);
}

async function requireInForce({ ledger }: Transaction, change: Change): Promise<void> {
  const { change_id, status } = change;
  if (status !== "applied") throw createNotInForceError(change, `it is ${status}, and not applied`);
  for (const { tenant_id, target } of listEntries(change)) {
    const inForce = await ledger.owner({ tenant_id, target });
    if (inForce !== change_id)
      throw createNotInForceError(change, `${target} belongs to ${inForce ?? "no change"} now`);
  }
}

const createNotInForceError = ({ change_id, status }: Change, reason: string): AppError =>
  new AppError("not_in_force", `${change_id} is not in force: ${reason}`, { change_id, current_status: status });

interface StatementFacts {
  change: Change;
  head: string | undefined;
  /** Hash of the intent under which the consents were judged. */
  policy: string;
  publicUrl: string | undefined;
}

/** Creates an in-toto Statement v1 with a Simple Verification Result 0.2. */
function createStatement({ origin, at }: Transaction, { change, head, policy, publicUrl }: StatementFacts): object {
  const { change_id, digest, tenant_id, target, status } = change;
  const annotations = { tenant_id };
  const id = publicUrl ?? `urn:countersign:${encodeURIComponent(origin)}`;
  return {
    _type: "https://in-toto.io/Statement/v1",
    subject: [
      { name: change_id, digest: { sha256: digest }, annotations },
      ...(head === undefined ? [] : [{ name: target, digest: { gitCommit: head }, annotations }]),
    ],
    predicateType: "https://in-toto.io/attestation/svr/v0.2",
    predicate: {
      verifier: { id, policies: [{ uri: `${id}/api/product/intent`, digest: { sha256: policy } }] },
      timeCreated: at,
      properties: ["COUNTERSIGN_CHANGE_APPROVED", ...(status === "applied" ? ["COUNTERSIGN_CHANGE_APPLIED"] : [])],
    },
  };
}
