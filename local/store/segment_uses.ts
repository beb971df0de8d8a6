/** Keeps journal files open while they are read: after a close, their descriptor could belong to another file. */
import type { Segment } from "./segment.ts";

/** Number of reads of a file, and functions to call after the last one. */
interface Use {
  count: number;
  waiting: (() => void)[];
}

const uses = new WeakMap<Segment, Use>();

/** Runs a read of some files, which stay open until it ends. */
export async function keepOpenWhile<T>(segments: Iterable<Segment>, read: () => Promise<T>): Promise<T> {
  const used = new Set(segments);
  for (const segment of used) {
    const use = uses.get(segment) ?? { count: 0, waiting: [] };
    use.count++;
    uses.set(segment, use);
  }
  try {
    return await read();
  } finally {
    for (const segment of used) {
      const use = uses.get(segment)!;
      if (--use.count > 0) continue;
      uses.delete(segment);
      for (const resume of use.waiting) resume();
    }
  }
}

/** Checks that a read of a file is under way. */
export const isUsed = (segment: Segment): boolean => uses.has(segment);

/** Resolves when no read of a file is under way. */
export async function waitUntilUnused(segment: Segment): Promise<void> {
  // A loop, since another read may begin before this continues.
  for (let use; (use = uses.get(segment));) {
    const { waiting } = use;
    await new Promise<void>((resolve) => waiting.push(resolve));
  }
}
