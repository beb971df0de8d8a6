/**
 * The Merkle tree of RFC 6962 over the log. Its leaves are the 32-byte `current_hash` values of the entries; hashes are lower-case
 * hex. A proof is a list of hashes of subtrees, read with a `NodeReader`.
 */
import { hexToBytes } from "@noble/hashes/utils.js";
import type { Sha256 } from "../kit/platform.ts";

/** A tree as far as it has grown: the roots of its complete subtrees, largest first, one for each bit set in `length`. */
export interface Frontier {
  length: number;
  roots: readonly string[];
}

export const EMPTY_TREE: Frontier = { length: 0, roots: [] };

/** Called for each subtree that a new leaf completes: its height, and its root. */
export type OnSubtree = (height: number, root: string) => void;

/** Computes the hash of a leaf: SHA-256(0x00 ‖ leaf); the prefix distinguishes leaves from nodes. */
export const leafHash = (currentHash: string, sha256: Sha256): string => sha256(hexBytes(`00${currentHash}`));

/** Computes the hash of a node: SHA-256(0x01 ‖ left ‖ right). */
export const nodeHash = (left: string, right: string, sha256: Sha256): string => sha256(hexBytes(`01${left}${right}`));

/** Returns the tree with one more leaf; calls `onSubtree` for each subtree that the leaf completes. */
export function appendLeaf(
  { length, roots }: Frontier,
  currentHash: string,
  sha256: Sha256,
  onSubtree: OnSubtree,
): Frontier {
  const next = [...roots];
  let root = leafHash(currentHash, sha256);
  let height = 0;
  onSubtree(height, root);
  // Each bit that is set at the end of `length` is a complete subtree that the new one is joined to.
  for (let bits = length; bits % 2 === 1; bits = (bits - 1) / 2) {
    root = nodeHash(next.pop()!, root, sha256);
    onSubtree(++height, root);
  }
  return { length: length + 1, roots: [...next, root] };
}

/** Returns the root of the tree; the SHA-256 of no bytes for an empty tree. */
export function computeRoot({ roots }: Frontier, sha256: Sha256): string {
  if (roots.length === 0) return sha256("");
  // Joined from the smallest subtree on: each larger one is the left side of the next node.
  return roots.reduceRight((right, left) => nodeHash(left, right, sha256));
}

/** Returns the greatest power of two below `n`, for n of 2 or more, at which RFC 6962 splits a tree. */
export function splitPoint(n: number): number {
  let k = 1;
  while (k * 2 < n) k *= 2;
  return k;
}

/** A range of leaves, counted from 0; `end` is exclusive. */
export interface Range {
  start: number;
  end: number;
}

/** Reads the root of a complete subtree by its height, and its index among the subtrees of that height. */
export type NodeReader = (height: number, index: number) => Promise<string>;

/** Lists the ranges of the proof that the leaf at `index` is in the tree of `length` leaves: its siblings from the bottom up. */
export const inclusionRanges = (index: number, length: number): Range[] =>
  listSiblings(index, length, ({ start, end }) => (end - start === 1 ? [] : undefined));

/** Lists the ranges of the proof that the tree of `length` leaves continues the tree of `from` leaves, 1 ≤ from ≤ length. */
export const consistencyRanges = (from: number, length: number): Range[] =>
  listSiblings(from - 1, length, (range) => {
    if (range.end !== from) return undefined;
    return range.start === 0 ? [] : [range];
  });

/**
 * Lists siblings on the path from the root to the leaf at `index`, deepest first. The path ends at the range for which
 * `findLastRanges` returns ranges, which are listed before the siblings.
 */
function listSiblings(index: number, length: number, findLastRanges: (range: Range) => Range[] | undefined): Range[] {
  const walk = (start: number, end: number): Range[] => {
    const lastRanges = findLastRanges({ start, end });
    if (lastRanges) return lastRanges;
    const middle = start + splitPoint(end - start);
    if (index < middle) return [...walk(start, middle), { start: middle, end }];
    return [...walk(middle, end), { start, end: middle }];
  };
  return walk(0, length);
}

/** Computes the hash of a range from one node, or from one node for each bit set in its length. */
export async function computeRangeHash({ start, end }: Range, node: NodeReader, sha256: Sha256): Promise<string> {
  const size = end - start;
  if (size === 0) return sha256("");
  const height = Math.log2(size);
  if (Number.isInteger(height)) return node(height, start / size);
  const middle = start + splitPoint(size);
  const left = await computeRangeHash({ start, end: middle }, node, sha256);
  return nodeHash(left, await computeRangeHash({ start: middle, end }, node, sha256), sha256);
}

/** Computes the hashes of a proof, in its order. */
export async function computeProofHashes(
  ranges: readonly Range[],
  node: NodeReader,
  sha256: Sha256,
): Promise<string[]> {
  const hashes: string[] = [];
  for (const range of ranges) hashes.push(await computeRangeHash(range, node, sha256));
  return hashes;
}

/** Parses lower-case hex. */
export const hexBytes = (hex: string): Uint8Array<ArrayBuffer> => hexToBytes(hex) as Uint8Array<ArrayBuffer>;
