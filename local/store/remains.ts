/** Superseded records that are still in the journal's files: as long as they are, a later deletion of them must stay. */
import { setImmediate as nextTurn } from "node:timers/promises";
import { crc32 } from "node:zlib";
import { type Catalog, packPlace } from "./catalog.ts";
import type { Files } from "./files.ts";
import { eachOperation, eachText, isDeletion, readKey, StoreDamaged } from "./journal_format.ts";
import { parseBatch, scanLines, type Segment, SLICE } from "./segment.ts";

/** Superseded records by file, noted as that happens: no file need be read for it repeatedly. */
export interface Remains {
  /** Notes from now on what is superseded in a file, in which nothing is yet. */
  begin(file: number): void;
  /** A record in a file is superseded. */
  note(file: number, collection: string, id: string): void;
  forget(file: number): void;
  /**
   * Returns whether the subject of a deletion in a segment is in an older one; also true for a few others, which keeps their
   * deletions without need. Those that are not noted from their beginning are read. Errors: `StoreDamaged`.
   */
  under(
    segment: Segment,
    older: readonly Segment[],
    reading: RemainsReading,
  ): Promise<(collection: string, id: string) => boolean>;
}

/** Dependencies of reading files; `stopped` is called between pieces: true cancels, and the result is then invalid. */
export interface RemainsReading {
  files: Files;
  catalog: Catalog;
  stopped(): boolean;
}

/** Nothing is known of any file yet. */
export function newRemains(): Remains {
  const known = new Map<number, Hashes>();

  const read = async (segment: Segment, reading: RemainsReading): Promise<Hashes> => {
    const { file } = segment;
    const found = newHashes();
    // Records that are superseded meanwhile are noted too.
    known.set(file, found);
    const whole = await eachLine(segment, reading, (buffer, body, end, offset) =>
      eachOperation(buffer, body, end, ({ collection, id, deleted, start }) => {
        if (deleted || reading.catalog.place(collection, id) === packPlace(file, offset + start)) return;
        found.add(hashOf(collection, id));
      }),
    );
    if (!whole) known.delete(file);
    return found;
  };

  return {
    begin: (file) => void known.set(file, newHashes()),
    note: (file, collection, id) => known.get(file)?.add(hashOf(collection, id)),
    forget: (file) => void known.delete(file),
    async under(segment, older, reading) {
      const asked = new Set<number>();
      const held = new Set<number>();
      if (older.length > 0)
        await eachLine(segment, reading, (buffer, body, end) =>
          eachText(buffer, body, end, (start, close, sequence) => {
            if (sequence !== undefined || !isDeletion(buffer, close)) return;
            const { collection, id } = readKey(buffer, start, close);
            asked.add(hashOf(collection, id));
          }),
        );
      for (const one of older) {
        if (reading.stopped()) break;
        (known.get(one.file) ?? (await read(one, reading))).each((hash) => asked.has(hash) && held.add(hash));
        await nextTurn();
      }
      return (collection, id) => held.has(hashOf(collection, id));
    },
  };
}

/** Visits the lines of a sealed segment; `offset` is what places in the buffer are to be raised by. False: it was stopped. */
async function eachLine(
  segment: Segment,
  { files, stopped }: RemainsReading,
  visit: (buffer: Buffer, body: number, end: number, offset: number) => void,
): Promise<boolean> {
  const end = await scanLines(
    files,
    segment,
    segment.begins,
    (buffer, start, end, offset) => {
      if (stopped()) return false;
      visit(buffer, parseBatch(segment.path, buffer, start, end, offset).body, end, offset - start);
      return true;
    },
    { piece: SLICE },
  );
  if (end < segment.bytes && !stopped()) throw new StoreDamaged(segment.path, end, "its last line has no end");
  return end === segment.bytes;
}

/** As a small integer, which takes four bytes. */
const hashOf = (collection: string, id: string): number => crc32(`${collection}\n${id}`) | 0;

/** Small integers, some of them perhaps more than once. */
interface Hashes {
  add(hash: number): void;
  each(visit: (hash: number) => void): void;
}

const PIECE = 1024;

function newHashes(): Hashes {
  const pieces: Int32Array[] = [];
  let size = 0;
  return {
    add(hash) {
      (pieces[Math.floor(size / PIECE)] ??= new Int32Array(PIECE))[size % PIECE] = hash;
      size++;
    },
    each(visit) {
      for (let index = 0; index < size; index++) visit(pieces[Math.floor(index / PIECE)]![index % PIECE]!);
    },
  };
}
