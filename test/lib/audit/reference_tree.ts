/** RFC 6962, sections 2.1 to 2.1.2, and the proof checks of RFC 9162, with the names and formulas of these RFCs. */
import { createHash } from "node:crypto";

const H = (...parts: (Buffer | number[])[]): Buffer =>
  createHash("sha256")
    .update(Buffer.concat(parts.map((part) => Buffer.from(part))))
    .digest();

/** Returns the leaf data of a `current_hash`. */
export const data = (currentHash: string): Buffer => Buffer.from(currentHash, "hex");

function largestPowerOfTwoBelow(n: number): number {
  let k = 1;
  while (k * 2 < n) k *= 2;
  return k;
}

const cachedRoots = new WeakMap<readonly Buffer[], Map<string, Buffer>>();

/** Computes MTH(D[start:end]); results are cached for each list. */
export function MTH(D: readonly Buffer[], start = 0, end = D.length): Buffer {
  const roots = cachedRoots.get(D) ?? new Map<string, Buffer>();
  cachedRoots.set(D, roots);
  const key = `${start}:${end}`;
  const root = roots.get(key) ?? computeMTH(D, start, end);
  roots.set(key, root);
  return root;
}

function computeMTH(D: readonly Buffer[], start: number, end: number): Buffer {
  if (start === end) return H();
  if (end - start === 1) return H([0x00], D[start]!);
  const k = start + largestPowerOfTwoBelow(end - start);
  return H([0x01], MTH(D, start, k), MTH(D, k, end));
}

/** PATH(m, D[start:end]); m counts from 0 in D. */
export function PATH(m: number, D: readonly Buffer[], start = 0, end = D.length): Buffer[] {
  if (end - start === 1) return [];
  const k = start + largestPowerOfTwoBelow(end - start);
  return m < k ? [...PATH(m, D, start, k), MTH(D, k, end)] : [...PATH(m, D, k, end), MTH(D, start, k)];
}

/** PROOF(m, D[n]) */
export const PROOF = (m: number, D: readonly Buffer[], n = D.length): Buffer[] => SUBPROOF(m, D, 0, n, true);

function SUBPROOF(m: number, D: readonly Buffer[], start: number, end: number, b: boolean): Buffer[] {
  if (m === end) return b ? [] : [MTH(D, start, end)];
  const k = start + largestPowerOfTwoBelow(end - start);
  return m <= k
    ? [...SUBPROOF(m, D, start, k, b), MTH(D, k, end)]
    : [...SUBPROOF(m, D, k, end, false), MTH(D, start, k)];
}

/** Returns whether an inclusion proof leads from a leaf to the root (RFC 9162, 2.1.3.2). */
export function includes(leaf: Buffer, index: number, size: number, path: readonly Buffer[], root: Buffer): boolean {
  if (index >= size) return false;
  let [fn, sn, r] = [index, size - 1, H([0x00], leaf)];
  for (const p of path) {
    if (sn === 0) return false;
    if (fn % 2 === 1 || fn === sn) {
      r = H([0x01], p, r);
      while (fn % 2 === 0 && fn !== 0) [fn, sn] = [fn / 2, Math.floor(sn / 2)];
    } else r = H([0x01], r, p);
    [fn, sn] = [Math.floor(fn / 2), Math.floor(sn / 2)];
  }
  return sn === 0 && r.equals(root);
}

/** Returns whether a consistency proof leads from the first root to the second (RFC 9162, 2.1.4.2). */
export function continues(
  first: number,
  firstRoot: Buffer,
  second: number,
  secondRoot: Buffer,
  proof: readonly Buffer[],
): boolean {
  if (first === second) return proof.length === 0 && firstRoot.equals(secondRoot);
  const path = Number.isInteger(Math.log2(first)) ? [firstRoot, ...proof] : [...proof];
  const start = path.shift();
  if (!start) return false;
  let [fn, sn] = [first - 1, second - 1];
  while (fn % 2 === 1) [fn, sn] = [(fn - 1) / 2, Math.floor(sn / 2)];
  let [fr, sr] = [start, start];
  for (const c of path) {
    if (sn === 0) return false;
    if (fn % 2 === 1 || fn === sn) {
      [fr, sr] = [H([0x01], c, fr), H([0x01], c, sr)];
      while (fn % 2 === 0 && fn !== 0) [fn, sn] = [fn / 2, Math.floor(sn / 2)];
    } else sr = H([0x01], sr, c);
    [fn, sn] = [Math.floor(fn / 2), Math.floor(sn / 2)];
  }
  return sn === 0 && fr.equals(firstRoot) && sr.equals(secondRoot);
}
