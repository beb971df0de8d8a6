/** Proofs out of the stored tree, as they are answered: roots and hashes in base64. */
import type { AuditDeps } from "./deps.ts";
import { toBase64 } from "../kit/base64.ts";
import type { Store } from "../store/store.ts";
import { entryKey } from "./chain.ts";
import { hexBytes, consistencyRanges, inclusionRanges, type NodeReader, proofHashes, rangeHash } from "./merkle.ts";
import { nodeReader, regrowTree, TreeIncomplete } from "./tree.ts";
import { treeView } from "./tree_view.ts";

type Reading = Pick<AuditDeps, "store" | "sha256">;

const encoded = (hash: string): string => toBase64(hexBytes(hash));

/** Sibling hashes of entry `id` on the way to the root of the log of `length` entries, the leaf's sibling first. */
export const inclusionPath = async (
  deps: Reading,
  id: number,
  length: number,
  node: NodeReader = nodeReader(deps),
): Promise<string[]> => (await proofHashes(inclusionRanges(id - 1, length), node, deps.sha256)).map(encoded);

/** Proves that entry `id` is in the log of `length` entries, 1 ≤ id ≤ length; the tree must have grown that far. */
export async function proveInclusion(deps: Reading, id: number, length: number) {
  const entry = (await deps.store.get("audit", entryKey(id)))?.value;
  if (!entry) throw new Error(`audit entry ${id} is missing from the store`);
  const node = nodeReader(deps);
  return {
    kind: "inclusion" as const,
    id,
    leaf: entry.current_hash,
    length,
    root: encoded(await rangeHash({ start: 0, end: length }, node, deps.sha256)),
    proof: await inclusionPath(deps, id, length, node),
  };
}

/** Proves that the log of `length` entries continues the one of `from` entries, 1 ≤ from ≤ length. */
export async function proveConsistency(deps: Reading, from: number, length: number) {
  const node = nodeReader(deps);
  return {
    kind: "consistency" as const,
    from,
    from_root: encoded(await rangeHash({ start: 0, end: from }, node, deps.sha256)),
    length,
    root: encoded(await rangeHash({ start: 0, end: length }, node, deps.sha256)),
    proof: (await proofHashes(consistencyRanges(from, length), node, deps.sha256)).map(encoded),
  };
}

/**
 * Makes a proof from the tree; `view`: the view of it, where one is read already. Where a part of it is missing, the tree is
 * grown again in memory, and the next cycle stores it.
 */
export async function withCompleteTree<T>(
  deps: Reading & Pick<AuditDeps, "integrity" | "mutex">,
  prove: (reads: Reading) => Promise<T>,
  view?: Store,
): Promise<T> {
  const reads = { sha256: deps.sha256, store: view ?? (await treeView(deps.store)) };
  try {
    return await prove(reads);
  } catch (error) {
    if (!(error instanceof TreeIncomplete) || deps.integrity.breach) throw error;
    deps.integrity.isTreeIncomplete = true;
    await deps.mutex("checkpoint", () => regrowTree(reads));
    return prove(reads);
  }
}
