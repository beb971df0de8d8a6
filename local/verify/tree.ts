/** Computes the Merkle tree of RFC 6962 leaf by leaf. Hashes are text of 32 characters, one for each byte. */
import { hash } from "node:crypto";

/** The roots of the complete subtrees, largest first. */
export interface Tree {
  leaves: number;
  roots: string[];
}

/** A tree without leaves. */
export const emptyTree = (): Tree => ({ leaves: 0, roots: [] });

const scratch = Buffer.alloc(65);

/** Adds the leaf of an entry, by its `current_hash` in hex. */
export function addLeaf(tree: Tree, currentHash: string): void {
  // RFC 6962 hashes a leaf after a byte 0, a node after a byte 1.
  scratch[0] = 0;
  scratch.write(currentHash, 1, "hex");
  let root = hash("sha256", scratch.subarray(0, 33), "binary");
  // The new subtree is joined with each earlier one of the same size.
  for (let rest = tree.leaves; rest % 2 === 1; rest = (rest - 1) / 2) root = node(tree.roots.pop()!, root);
  tree.roots.push(root);
  tree.leaves++;
}

/** Returns the root in base64, as checkpoints have it. */
export function computeRoot({ roots }: Tree): string {
  const root =
    roots.length === 0 ? hash("sha256", "", "binary") : roots.reduceRight((right, left) => node(left, right));
  return Buffer.from(root, "latin1").toString("base64");
}

/**
 * Returns the root that an inclusion path leads to, in base64 (RFC 9162, 2.1.3.2). `currentHash`: of the leaf's entry; `length`:
 * leaves of the tree. Undefined when the path has a wrong length.
 */
export function computeRootFromPath(
  currentHash: string,
  index: number,
  length: number,
  path: readonly string[],
): string | undefined {
  const leaf = emptyTree();
  addLeaf(leaf, currentHash);
  // `position` and `last` are fn and sn of the RFC.
  let [root, position, last] = [leaf.roots[0]!, index, length - 1];
  if (position > last) return undefined;
  for (const encodedHash of path) {
    if (last === 0) return undefined;
    const sibling = Buffer.from(encodedHash, "base64").toString("latin1");
    if (position % 2 === 1 || position === last) {
      root = node(sibling, root);
      while (position % 2 === 0 && position !== 0) [position, last] = [position / 2, Math.floor(last / 2)];
    } else root = node(root, sibling);
    [position, last] = [Math.floor(position / 2), Math.floor(last / 2)];
  }
  return last === 0 ? Buffer.from(root, "latin1").toString("base64") : undefined;
}

function node(left: string, right: string): string {
  scratch[0] = 1;
  scratch.write(left, 1, "latin1");
  scratch.write(right, 33, "latin1");
  return hash("sha256", scratch, "binary");
}
