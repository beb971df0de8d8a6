/** Makes proofs from the stored tree, with roots and hashes in base64 as the API returns them. */
import type { AuditDeps } from "./deps.ts";
import { toBase64 } from "../kit/base64.ts";
import type { Store } from "../store/store.ts";
import { entryKey } from "./chain.ts";
import {
  hexBytes,
  consistencyRanges,
  inclusionRanges,
  type NodeReader,
  computeProofHashes,
  computeRangeHash,
} from "./merkle.ts";
import { createNodeReader, rebuildTree, TreeIncomplete } from "./tree.ts";
import { openTreeView } from "./tree_view.ts";

type ProofDeps = Pick<AuditDeps, "store" | "sha256">;

const hexToBase64 = (hash: string): string => toBase64(hexBytes(hash));

/** Computes the inclusion path of entry `id` in the log of `length` entries: sibling hashes, the leaf's sibling first. */
export const computeInclusionPath = async (
  deps: ProofDeps,
  id: number,
  length: number,
  node: NodeReader = createNodeReader(deps),
): Promise<string[]> => (await computeProofHashes(inclusionRanges(id - 1, length), node, deps.sha256)).map(hexToBase64);

/** Proves that entry `id` is in the log of `length` entries, 1 ≤ id ≤ length; the tree must have grown that far. */
export async function proveInclusion(deps: ProofDeps, id: number, length: number) {
  const entry = (await deps.store.get("audit", entryKey(id)))?.value;
  if (!entry) throw new Error(`audit entry ${id} is missing from the store`);
  const node = createNodeReader(deps);
  return {
    kind: "inclusion" as const,
    id,
    leaf: entry.current_hash,
    length,
    root: hexToBase64(await computeRangeHash({ start: 0, end: length }, node, deps.sha256)),
    proof: await computeInclusionPath(deps, id, length, node),
  };
}

/** Proves that the log of `length` entries continues the one of `from` entries, 1 ≤ from ≤ length. */
export async function proveConsistency(deps: ProofDeps, from: number, length: number) {
  const node = createNodeReader(deps);
  return {
    kind: "consistency" as const,
    from,
    from_root: hexToBase64(await computeRangeHash({ start: 0, end: from }, node, deps.sha256)),
    length,
    root: hexToBase64(await computeRangeHash({ start: 0, end: length }, node, deps.sha256)),
    proof: (await computeProofHashes(consistencyRanges(from, length), node, deps.sha256)).map(hexToBase64),
  };
}

/**
 * Makes a proof from the tree, read through `view` if provided. If a part of the tree is missing, the tree is rebuilt in
 * memory, and the next cycle stores it.
 */
export async function runWithCompleteTree<T>(
  deps: ProofDeps & Pick<AuditDeps, "integrity" | "mutex">,
  prove: (reads: ProofDeps) => Promise<T>,
  view?: Store,
): Promise<T> {
  const reads = { sha256: deps.sha256, store: view ?? (await openTreeView(deps.store)) };
  try {
    return await prove(reads);
  } catch (error) {
    if (!(error instanceof TreeIncomplete) || deps.integrity.breach) throw error;
    deps.integrity.isTreeIncomplete = true;
    await deps.mutex("checkpoint", () => rebuildTree(reads));
    return prove(reads);
  }
}
