/** Proofs of RFC 6962: which parts of the tree make one up, and their hashes from a reader of complete subtrees. */
import type { Sha256 } from "../kit/platform.ts";
import { nodeHash, splitOf } from "./merkle.ts";

/** The leaves from `start` up to and without `end`; places count from 0. */
export interface Range {
  start: number;
  end: number;
}

/** The root of a complete subtree: its height, and its place among those of that height. */
export type NodeReader = (height: number, index: number) => Promise<string>;

/** That the entry at `index` is in the tree of `length` leaves: the siblings on the way up, the leaf's own first. */
export const inclusionRanges = (index: number, length: number): Range[] =>
  siblings(index, length, ({ start, end }) => (end - start === 1 ? [] : undefined));

/** That the tree of `length` leaves continues the one of `from` leaves, 1 ≤ from ≤ length. */
export const consistencyRanges = (from: number, length: number): Range[] =>
  siblings(from - 1, length, (range) => (range.end !== from ? undefined : range.start === 0 ? [] : [range]));

/** What lies beside the way from the root down to the leaf at `index`, deepest first; the way ends where `end` gives what does. */
function siblings(index: number, length: number, last: (range: Range) => Range[] | undefined): Range[] {
  const walk = (start: number, end: number): Range[] => {
    const middle = start + splitOf(end - start);
    return (
      last({ start, end }) ??
      (index < middle
        ? [...walk(start, middle), { start: middle, end }]
        : [...walk(middle, end), { start, end: middle }])
    );
  };
  return walk(0, length);
}

/** The hash of a range that a proof names: one node, or as many as its length has bits. */
export async function rangeHash({ start, end }: Range, node: NodeReader, sha256: Sha256): Promise<string> {
  const size = end - start;
  if (size === 0) return sha256("");
  const height = Math.log2(size);
  if (Number.isInteger(height)) return node(height, start / size);
  const middle = start + splitOf(size);
  const left = await rangeHash({ start, end: middle }, node, sha256);
  return nodeHash(left, await rangeHash({ start: middle, end }, node, sha256), sha256);
}

/** The hashes of a proof, in its order. */
export async function proofHashes(ranges: readonly Range[], node: NodeReader, sha256: Sha256): Promise<string[]> {
  const hashes: string[] = [];
  for (const range of ranges) hashes.push(await rangeHash(range, node, sha256));
  return hashes;
}
