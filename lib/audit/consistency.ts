/** Checks that a Merkle tree grew from an earlier one without changing it (RFC 9162, section 2.1.4.2). */
import { sha256 } from "@noble/hashes/sha2.js";
import { concatBytes } from "@noble/hashes/utils.js";

const NODE = Uint8Array.of(1);
const nodeHash = (left: Uint8Array, right: Uint8Array): Uint8Array => sha256(concatBytes(NODE, left, right));
const isOdd = (n: number): boolean => n % 2 === 1;
const half = (n: number): number => Math.floor(n / 2);

/**
 * Verifies by a proof that the tree of `second` leaves begins with the tree of `first` leaves, as every tree begins with the empty
 * one. The variables `fn` and `sn` are those of the RFC.
 */
export function isConsistent(
  first: number,
  firstRoot: Uint8Array,
  second: number,
  secondRoot: Uint8Array,
  proof: readonly Uint8Array[],
): boolean {
  if (first === 0) return true;
  if (first > second) return false;
  if (first === second) return proof.length === 0 && equalBytes(firstRoot, secondRoot);
  // If the first tree is complete, its root is a node of the second tree, and the proof leaves it out.
  const path = isPowerOfTwo(first) ? [firstRoot, ...proof] : proof;
  const [start, ...rest] = path;
  if (!start || proof.length === 0) return false;
  let fn = first - 1;
  let sn = second - 1;
  while (isOdd(fn)) [fn, sn] = [half(fn), half(sn)];
  let firstHash = start;
  let secondHash = start;
  for (const node of rest) {
    if (sn === 0) return false;
    if (isOdd(fn) || fn === sn) {
      firstHash = nodeHash(node, firstHash);
      secondHash = nodeHash(node, secondHash);
      while (!isOdd(fn) && fn !== 0) [fn, sn] = [half(fn), half(sn)];
    } else {
      secondHash = nodeHash(secondHash, node);
    }
    [fn, sn] = [half(fn), half(sn)];
  }
  return sn === 0 && equalBytes(firstHash, firstRoot) && equalBytes(secondHash, secondRoot);
}

const equalBytes = (a: Uint8Array, b: Uint8Array): boolean =>
  a.length === b.length && a.every((byte, i) => byte === b[i]);

const isPowerOfTwo = (n: number): boolean => Number.isInteger(Math.log2(n));
