/**
 * Locations of all live records in the journal, in order of ids (Bitcask's key directory), and the file that spares a start the
 * reading of sealed segments (its hint file). That is derived; one that is missing or damaged is ignored.
 */
import { setImmediate as nextTurn } from "node:timers/promises";
import type { ListOptions } from "../../lib/store/store.ts";
import { type Files, type Paths, replaceFile } from "./files.ts";
import { isIntact, makeLine } from "./journal_format.ts";
import { listIds, type Places, type Run, makeRun, sequencePlaces, sortedPlaces } from "./places.ts";
import { scanLines, type Segment } from "./segment.ts";

const SPAN = 2 ** 32;

/** The place of a record as one number: a file of the journal, counted from 1 as this process opens them, and an offset. */
export const packPlace = (file: number, offset: number): number => file * SPAN + offset;

/** The file of a place. */
export const placeFile = (place: number): number => Math.floor(place / SPAN);

/** The offset of a place in its file, in bytes. */
export const placeOffset = (place: number): number => place % SPAN;

/** Places of records by collection and id. */
export interface Catalog {
  place(collection: string, id: string): number | undefined;
  page(collection: string, range: ListOptions<boolean>): [id: string, place: number][];
  /** The number of live records. */
  size(collection: string): number;
  /** The next few records behind an id, or the first, with their places. */
  run(collection: string, after: string | undefined): Run | undefined;
  /** Appends a run after the records of its collection. */
  append(collection: string, run: Run): void;
  /** Every collection that has or had a record. */
  names(): string[];
  /** The highest revision of deleted records of a collection; a new record begins above it, so that no revision is used twice. */
  floor(collection: string): number;
  put(collection: string, id: string, place: number): void;
  /** Removes a record, if it is there, and raises the floor to its last revision. */
  bury(collection: string, id: string, revision: number): void;
  /**
   * Visits the places of all records, which the visitor changes in place where a record was moved. It yields to the event loop
   * in between; a place may be visited twice, and one that is put meanwhile may be missed.
   */
  sweep(visit: (places: number[] | Float64Array) => void): Promise<void>;
  /** Removes all records of a file; false if one of them is in a sequence, from which no record can be removed. */
  forget(file: number): boolean;
}

/** An empty catalog. `released` is called for each record that is superseded, with the file that has it. */
export function newCatalog(
  sequences: readonly string[],
  released: (file: number, collection: string, id: string) => void,
): Catalog {
  const collections = new Map<string, Places>();
  const floors = new Map<string, number>();

  const made = (name: string): Places => {
    let places = collections.get(name);
    if (!places) collections.set(name, (places = sequences.includes(name) ? sequencePlaces() : sortedPlaces()));
    return places;
  };

  return {
    place: (collection, id) => collections.get(collection)?.get(id),
    page: (collection, range) => collections.get(collection)?.page(range) ?? [],
    run: (collection, after) => collections.get(collection)?.run(after),
    append: (collection, run) => made(collection).append(run),
    size: (collection) => collections.get(collection)?.size ?? 0,
    names: () => [...new Set([...collections.keys(), ...floors.keys()])],
    floor: (collection) => floors.get(collection) ?? 0,
    put(collection, id, place) {
      const before = made(collection).set(id, place);
      if (before !== undefined) released(placeFile(before), collection, id);
    },
    bury(collection, id, revision) {
      floors.set(collection, Math.max(floors.get(collection) ?? 0, revision));
      const before = collections.get(collection)?.delete(id);
      if (before !== undefined) released(placeFile(before), collection, id);
    },
    async sweep(visit) {
      for (const places of collections.values()) {
        let from: string | undefined;
        do {
          from = places.sweep(from, visit);
          await nextTurn();
        } while (from !== undefined);
      }
    },
    forget(file) {
      for (const [name, places] of collections) {
        // Most collections have nothing there, and the check makes an id of each record.
        if (!holds(places, file)) continue;
        if (sequences.includes(name)) return false;
        for (const [id, place] of places.page({ limit: Infinity })) if (placeFile(place) === file) places.delete(id);
      }
      return true;
    },
  };
}

/** Returns whether any of these records lies in a file. */
function holds(places: Places, file: number): boolean {
  let found = false;
  let from: string | undefined;
  do
    from = places.sweep(from, (some) => {
      for (const place of some) found ||= placeFile(place) === file;
    });
  while (from !== undefined && !found);
  return found;
}

const CATALOG_FORMAT = "countersign-catalog/1";

/** A segment as it was when this was written: the mark of its header, and its length, tell whether it still is. */
export type Covered = Pick<Segment, "mark" | "bytes" | "last" | "puts" | "deletions">;

/** The first line. */
interface Head {
  format: typeof CATALOG_FORMAT;
  store: string;
  segments: Covered[];
}

/** Records of a collection: a run, its numbers as Base64, with the segment's number for the file of a place. */
interface Part {
  collection: string;
  text: string;
  ends: string;
  places: string;
}

/** The last line. */
interface Floors {
  floors: [collection: string, revision: number][];
}

/**
 * Writes down where the live records of the sealed segments lie. A record that moves meanwhile is reported by the code that moves
 * it.
 */
export async function writeCatalog(
  files: Files,
  paths: Paths,
  catalog: Catalog,
  sealed: readonly Segment[],
): Promise<void> {
  const numbers = new Map(sealed.map(({ file, header }) => [file, header.segment]));
  const segments = sealed.map(({ mark, bytes, last, puts, deletions }) => ({ mark, bytes, last, puts, deletions }));

  /** Without what lies elsewhere, which the journal's other files tell of. */
  const within = (run: Run): Run => {
    const files = run.places.map(placeFile);
    if (files.every((file) => numbers.get(file) === file)) return run;
    const here = files.flatMap((file, index) => (numbers.has(file) ? [index] : []));
    const places = here.map((index) => packPlace(numbers.get(files[index]!)!, placeOffset(run.places[index]!)));
    const ids = listIds(run);
    return ids.length === 0
      ? { ...run, places }
      : makeRun(
          here.map((index) => ids[index]!),
          places,
        );
  };

  async function* lines(): AsyncIterable<Head | Part | Floors> {
    yield { format: CATALOG_FORMAT, store: sealed[0]!.header.store, segments };
    for (const collection of catalog.names())
      for (let run = catalog.run(collection, undefined); run;) {
        const last = run.ends.length === 0 ? run.text : idAtEnd(run);
        const { text, ends, places } = within(run);
        if (places.length > 0)
          yield { collection, text, ends: base64(Uint32Array.from(ends)), places: base64(Float64Array.from(places)) };
        await nextTurn();
        run = catalog.run(collection, last);
      }
    yield { floors: catalog.names().map((name) => [name, catalog.floor(name)]) };
  }
  async function* bytes(): AsyncIterable<Buffer> {
    for await (const line of lines()) yield Buffer.from(makeLine(line));
  }
  await replaceFile(files, paths.catalog, bytes());
}

const idAtEnd = ({ text, ends }: Run): string => text.slice(ends.at(-2) ?? 0);

const base64 = ({ buffer }: Uint32Array | Float64Array): string => Buffer.from(buffer).toString("base64");

/** The bytes in memory of their own, where numbers may begin. */
const bytesOf = (text: string): ArrayBuffer => new Uint8Array(Buffer.from(text, "base64")).buffer;

/** Content of a catalog file. */
export interface KeptCatalog extends Pick<Head, "segments"> {
  /** How many records are live in each segment, by its number. */
  live: Map<number, number>;
}

/** Enters what was written down of a store into an empty catalog; `undefined` when it is not whole, or of another store. */
export async function readCatalog(
  files: Files,
  path: string,
  store: string,
  into: Catalog,
): Promise<KeptCatalog | undefined> {
  const fd = await files.open(path, "read").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return undefined;
    throw error;
  });
  if (fd === undefined) return undefined;
  let head: Head | undefined;
  let whole = false;
  const live = new Map<number, number>();
  const visit = (buffer: Buffer, start: number, end: number): boolean => {
    if (whole || !isIntact(buffer.subarray(start, end))) return false;
    const line = JSON.parse(buffer.toString("utf8", start, end)) as Partial<Head & Part & Floors>;
    if (!head) return line.format === CATALOG_FORMAT && line.store === store && Boolean((head = line as Head));
    const { floors, collection, text, ends, places } = line;
    for (const [name, revision] of floors ?? []) into.bury(name, "", revision);
    if (places !== undefined) {
      const run = {
        text: text!,
        ends: [...new Uint32Array(bytesOf(ends!))],
        places: [...new Float64Array(bytesOf(places))],
      };
      into.append(collection!, run);
      for (const place of run.places) live.set(placeFile(place), (live.get(placeFile(place)) ?? 0) + 1);
    }
    whole = floors !== undefined;
    return true;
  };
  try {
    const bytes = await files.size(fd);
    const end = await scanLines(files, { fd, bytes }, 0, visit);
    return whole && end === bytes ? { ...head!, live } : undefined;
  } finally {
    await files.close(fd);
  }
}
