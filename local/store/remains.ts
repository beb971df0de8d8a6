/** What is gone and still lies in a segment: as long as it does, a later deletion of it must stay. */
import { crc32 } from "node:zlib";
import { type Catalog, placeOf } from "./catalog.ts";
import type { Files } from "./files.ts";
import { eachOperation, StoreDamaged } from "./journal_format.ts";
import { batchAt, scanLines, type Segment, SLICE } from "./segment.ts";

/** Superseded records, as far as segments were added. */
export interface Remains {
  /** Whether one of them is of this id; of a few others it is said too, which keeps their deletions without need. */
  hold(collection: string, id: string): boolean;
  /** Adds those of a segment, unless it is stopped before its end. Errors: `StoreDamaged`. */
  add(segment: Segment): Promise<void>;
}

/** Nothing yet; of what is added four bytes are kept. */
export function newRemains({
  files,
  catalog,
  stopped,
}: {
  files: Files;
  catalog: Catalog;
  stopped(): boolean;
}): Remains {
  const hashes = new Set<number>();
  return {
    hold: (collection, id) => hashes.has(hashOf(collection, id)),
    async add(segment) {
      const visit = (buffer: Buffer, start: number, end: number, offset: number): boolean => {
        if (stopped()) return false;
        const head = batchAt(segment.path, buffer, start, end, offset);
        eachOperation(buffer, head.body, end, ({ collection, id, deleted, start: at }) => {
          if (deleted || catalog.place(collection, id) === placeOf(segment.file, offset + at - start)) return;
          hashes.add(hashOf(collection, id));
        });
        return true;
      };
      const end = await scanLines(files, segment, segment.begins, visit, { piece: SLICE });
      if (end < segment.bytes && !stopped()) throw new StoreDamaged(segment.path, end, "its last line has no end");
    },
  };
}

/** As a small integer, which a set keeps in four bytes. */
const hashOf = (collection: string, id: string): number => crc32(`${collection}\n${id}`) | 0;
