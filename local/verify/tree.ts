/** The Merkle tree of RFC 6962, grown leaf by leaf; hashes are 32 characters, one a byte. */
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
  scratch[0] = 0;
  scratch.write(currentHash, 1, "hex");
  let root = hash("sha256", scratch.subarray(0, 33), "binary");
  for (let rest = tree.leaves; rest % 2 === 1; rest = (rest - 1) / 2) root = node(tree.roots.pop()!, root);
  tree.roots.push(root);
  tree.leaves++;
}

/** The root as base64, as checkpoints give it. */
export function computeRoot({ roots }: Tree): string {
  const root =
    roots.length === 0 ? hash("sha256", "", "binary") : roots.reduceRight((right, left) => node(left, right));
  return Buffer.from(root, "latin1").toString("base64");
}

/**
 * The root that a path leads to, from a leaf by its `current_hash` at a place of a tree: RFC 9162, 2.1.3.2. Hashes are
 * base64; undefined when the path is not as long as the tree has it.
 */
export function includedRoot(
  currentHash: string,
  index: number,
  length: number,
  path: readonly string[],
): string | undefined {
  const leaf = emptyTree();
  addLeaf(leaf, currentHash);
  let [root, place, last] = [leaf.roots[0]!, index, length - 1];
  if (place > last) return undefined;
  for (const hash of path) {
    if (last === 0) return undefined;
    const sibling = Buffer.from(hash, "base64").toString("latin1");
    if (place % 2 === 1 || place === last) {
      root = node(sibling, root);
      while (place % 2 === 0 && place !== 0) [place, last] = [place / 2, Math.floor(last / 2)];
    } else root = node(root, sibling);
    [place, last] = [Math.floor(place / 2), Math.floor(last / 2)];
  }
  return last === 0 ? Buffer.from(root, "latin1").toString("base64") : undefined;
}

function node(left: string, right: string): string {
  scratch[0] = 1;
  scratch.write(left, 1, "latin1");
  scratch.write(right, 33, "latin1");
  return hash("sha256", scratch, "binary");
}
