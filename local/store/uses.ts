/** Keeps a journal file open while it is read: the number of a closed descriptor may become that of another file. */
import type { Segment } from "./segment.ts";

interface Use {
  count: number;
  waiting: (() => void)[];
}

const uses = new WeakMap<Segment, Use>();

/** Reads of some files, which stay open until it has ended. */
export async function whileUsed<T>(segments: Iterable<Segment>, read: () => Promise<T>): Promise<T> {
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
      for (const go of use.waiting) go();
    }
  }
}

export const isUsed = (segment: Segment): boolean => uses.has(segment);

/** Resolves when no read of a file is under way. */
export async function whenUnused(segment: Segment): Promise<void> {
  for (let use; (use = uses.get(segment));) {
    const { waiting } = use;
    await new Promise<void>((resolve) => waiting.push(resolve));
  }
}
