/** The signatures of the entries of a certificate. */
import { decoded, readManifestHash, type RecordedEntry } from "./detail.ts";
import type { Intent } from "./intent.ts";
import { asText } from "./json.ts";
import { type Found, findSigner } from "./life.ts";
import { type Policy, sameName } from "./policy.ts";
import { createProofCheck, readProposal } from "./proofs.ts";

/** The keys that signed decisions, by entry, where the signature is valid with a key that is the approver's; and what lacks one. */
export function signatures(
  life: readonly RecordedEntry[],
  intents: ReadonlyMap<string, Intent>,
  people: Policy | undefined,
  found: Found,
): { signed: Map<number, string>; unsigned: Set<number> } {
  const signed = new Map<number, string>();
  const unsigned = new Set<number>();
  const { entry: proposal, detail: proposed } = life[0] ?? {};
  const proposals = new Map(proposal && [[decoded(proposal.changeId), readProposal(proposed!)]]);
  const lacks = (entry: number, message: string): void => {
    unsigned.add(entry);
    found(entry, "proof", message);
  };
  for (const step of life) {
    const { entry, detail } = step;
    const intent = intents.get(readManifestHash(detail));
    const keys = people ?? intent?.keys;
    if (detail["proof"] === undefined) {
      const signer = findSigner(step);
      if (!signer) continue;
      const { by } = signer;
      const hasKeys = by !== undefined && (keys?.get(sameName(by)) ?? []).length > 0;
      if (hasKeys || intent?.signedOnly)
        lacks(entry.id, `${by ?? "somebody without a name"} had to sign it, and did not`);
    } else if (keys) {
      const finding = createProofCheck(keys, proposals).check(entry, 0);
      if (finding) lacks(entry.id, finding.message);
      else signed.set(entry.id, asText(detail["key"]) ?? "");
    }
  }
  return { signed, unsigned };
}
