/**
 * The Merkle tree of RFC 6962 over the log. Its leaves are the 32-byte `current_hash` values of the entries; every hash
 * here is lower-case hex.
 */
import type { Sha256 } from "../kit/platform.ts";

/** A tree as far as it has grown: the roots of its complete subtrees, largest first, one for each bit set in `length`. */
export interface Frontier {
  length: number;
  roots: readonly string[];
}

export const EMPTY_TREE: Frontier = { length: 0, roots: [] };

/** Told of each subtree that a new leaf completes: its height, and its root. */
export type Completed = (height: number, root: string) => void;

/** SHA-256(0x00 ‖ leaf): the prefixes keep a leaf from passing for a node. */
export const leafHash = (currentHash: string, sha256: Sha256): string => sha256(bytesOf(`00${currentHash}`));

/** SHA-256(0x01 ‖ left ‖ right) */
export const nodeHash = (left: string, right: string, sha256: Sha256): string => sha256(bytesOf(`01${left}${right}`));

/** The tree with one more leaf. */
export function withLeaf(
  { length, roots }: Frontier,
  currentHash: string,
  sha256: Sha256,
  completed: Completed,
): Frontier {
  const next = [...roots];
  let root = leafHash(currentHash, sha256);
  let height = 0;
  completed(height, root);
  for (let rest = length; rest % 2 === 1; rest = (rest - 1) / 2) {
    root = nodeHash(next.pop()!, root, sha256);
    completed(++height, root);
  }
  return { length: length + 1, roots: [...next, root] };
}

/** The root of the tree as it stands; SHA-256 of nothing for an empty one. */
export function rootOf({ roots }: Frontier, sha256: Sha256): string {
  if (roots.length === 0) return sha256("");
  return roots.reduceRight((right, left) => nodeHash(left, right, sha256));
}

/** The greatest power of two below `n`, for n of 2 or more: where RFC 6962 splits a tree. */
export function splitOf(n: number): number {
  let k = 1;
  while (k * 2 < n) k *= 2;
  return k;
}

/** Bytes of lower-case hex. */
export function bytesOf(hex: string): Uint8Array<ArrayBuffer> {
  const bytes = new Uint8Array(hex.length / 2);
  for (let i = 0; i < bytes.length; i++) bytes[i] = Number.parseInt(hex.slice(2 * i, 2 * i + 2), 16);
  return bytes;
}
