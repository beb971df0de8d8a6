/** Verifies the signatures of the entries of a certificate. */
import { decodeUtf8, readManifestHash, type RecordedEntry } from "./entry_detail.ts";
import type { Intent } from "./intent.ts";
import { stringOrUndefined } from "./json.ts";
import { type AddFinding, findRequiredSigner } from "./change_life.ts";
import { type KeysByName, normalizeName } from "./policy.ts";
import { createProofCheck, readProposal } from "./proofs.ts";

/**
 * Returns the ids of the keys that validly signed entries (`signed`, by entry id), and the entries that had to be signed and are
 * not, or not validly (`unsigned`). A proof that no known keys can check is in neither. `life`: the entries of the change, its
 * proposal first. `trustedKeys`: keys that count instead of those of the intents.
 */
export function verifySignatures(
  life: readonly RecordedEntry[],
  intents: ReadonlyMap<string, Intent>,
  trustedKeys: KeysByName | undefined,
  addFinding: AddFinding,
): { signed: Map<number, string>; unsigned: Set<number> } {
  const signed = new Map<number, string>();
  const unsigned = new Set<number>();
  const { entry: proposal, detail: proposed } = life[0] ?? {};
  const proposals = new Map(proposal && [[decodeUtf8(proposal.changeId), readProposal(proposed!)]]);
  const addUnsigned = (entry: number, message: string): void => {
    unsigned.add(entry);
    addFinding(entry, "proof", message);
  };
  for (const step of life) {
    const { entry, detail } = step;
    const intent = intents.get(readManifestHash(detail));
    const keys = trustedKeys ?? intent?.keys;
    if (detail["proof"] === undefined) {
      const message = findMissingSignature(step, keys, intent);
      if (message !== undefined) addUnsigned(entry.id, message);
    } else if (keys) {
      // The entries of a certificate have no line numbers, so 0.
      const finding = createProofCheck(keys, proposals).check(entry, 0);
      if (finding) addUnsigned(entry.id, finding.message);
      else signed.set(entry.id, stringOrUndefined(detail["key"]) ?? "");
    }
  }
  return { signed, unsigned };
}

/** Explains why an entry without a signature had to be signed: its author has keys, or its intent accepts only signatures. */
function findMissingSignature(
  step: RecordedEntry,
  keys: KeysByName | undefined,
  intent: Intent | undefined,
): string | undefined {
  const signer = findRequiredSigner(step);
  if (!signer) return undefined;
  const { by } = signer;
  const hasKeys = by !== undefined && (keys?.get(normalizeName(by)) ?? []).length > 0;
  return hasKeys || intent?.signedOnly
    ? `it must be signed by ${by ?? "a person whom it does not name"}, and has no signature`
    : undefined;
}
