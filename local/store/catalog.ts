/**
 * Maps the ids of all live records to their locations in the journal (the key directory of Bitcask), and stores that map in a
 * file, so that a start need not read sealed segments (the hint file of Bitcask). A missing or damaged file is ignored.
 */
import { setImmediate as nextTurn } from "node:timers/promises";
import type { ListOptions } from "../../lib/store/store.ts";
import { type Files, type Paths, replaceFile } from "./files.ts";
import { isIntact, makeLine } from "./journal_format.ts";
import {
  listIds,
  type LocationMap,
  type IdBatch,
  makeBatch,
  createSequenceMap,
  createLocationMap,
} from "./location_map.ts";
import { scanLines, type Segment } from "./segment.ts";

/** Every offset in a file is below this. */
const FILE_SPAN = 2 ** 32;

/** Packs a location into one number: a file of the journal, numbered from 1 as this process opens them, and an offset. */
export const packLocation = (file: number, offset: number): number => file * FILE_SPAN + offset;

/** Returns the file number of a location. */
export const locationFile = (location: number): number => Math.floor(location / FILE_SPAN);

/** Returns the offset of a location in its file, in bytes. */
export const locationOffset = (location: number): number => location % FILE_SPAN;

/** Locations of records, by collection and id. */
export interface Catalog {
  locate(collection: string, id: string): number | undefined;
  page(collection: string, range: ListOptions<boolean>): [id: string, location: number][];
  /** The number of live records. */
  size(collection: string): number;
  /** Returns the next records after an id, or the first ones, with their locations. */
  nextBatch(collection: string, after: string | undefined): IdBatch | undefined;
  /** Appends a batch after the records of its collection. */
  append(collection: string, batch: IdBatch): void;
  /** Lists every collection that has or had a record. */
  names(): string[];
  /** Returns the highest revision of deleted records in a collection; new records begin above it, so no revision is used twice. */
  floor(collection: string): number;
  put(collection: string, id: string, location: number): void;
  /** Removes a record, if it is there, and raises the floor to its last revision. */
  delete(collection: string, id: string, revision: number): void;
  /**
   * Visits the locations of all records; the visitor may change them in the array. It yields to the event loop in between: a
   * location may be visited twice, and one that is put meanwhile may be missed.
   */
  visitAll(visit: (locations: number[] | Float64Array) => void): Promise<void>;
  /** Removes all records of a file; false if one of them is in a sequence, from which no record can be removed. */
  removeFile(file: number): boolean;
}

/** Creates an empty catalog. `onSuperseded` is called for each superseded record, with the file that contains it. */
export function newCatalog(
  sequences: readonly string[],
  onSuperseded: (file: number, collection: string, id: string) => void,
): Catalog {
  const collections = new Map<string, LocationMap>();
  const floors = new Map<string, number>();

  const openCollection = (name: string): LocationMap => {
    let locations = collections.get(name);
    if (!locations)
      collections.set(name, (locations = sequences.includes(name) ? createSequenceMap() : createLocationMap()));
    return locations;
  };

  return {
    locate: (collection, id) => collections.get(collection)?.get(id),
    page: (collection, range) => collections.get(collection)?.page(range) ?? [],
    nextBatch: (collection, after) => collections.get(collection)?.nextBatch(after),
    append: (collection, batch) => openCollection(collection).append(batch),
    size: (collection) => collections.get(collection)?.size ?? 0,
    names: () => [...new Set([...collections.keys(), ...floors.keys()])],
    floor: (collection) => floors.get(collection) ?? 0,
    put(collection, id, location) {
      const former = openCollection(collection).set(id, location);
      if (former !== undefined) onSuperseded(locationFile(former), collection, id);
    },
    delete(collection, id, revision) {
      floors.set(collection, Math.max(floors.get(collection) ?? 0, revision));
      const former = collections.get(collection)?.delete(id);
      if (former !== undefined) onSuperseded(locationFile(former), collection, id);
    },
    async visitAll(visit) {
      for (const locations of collections.values()) {
        let from: string | undefined;
        do {
          from = locations.visitSome(from, visit);
          await nextTurn();
        } while (from !== undefined);
      }
    },
    removeFile(file) {
      for (const [name, locations] of collections) {
        // Most collections have no record in the file, and listing a page is slow: it makes an id for each record.
        if (!hasRecordsInFile(locations, file)) continue;
        if (sequences.includes(name)) return false;
        for (const [id, location] of locations.page({ limit: Infinity }))
          if (locationFile(location) === file) locations.delete(id);
      }
      return true;
    },
  };
}

/** Checks that at least one of these records is in a file. */
function hasRecordsInFile(locations: LocationMap, file: number): boolean {
  let isFound = false;
  let from: string | undefined;
  do
    from = locations.visitSome(from, (visited) => {
      for (const location of visited) isFound ||= locationFile(location) === file;
    });
  while (from !== undefined && !isFound);
  return isFound;
}

const CATALOG_FORMAT = "countersign-catalog/1";

/** A segment when the catalog file was written; it is unchanged if its header's checksum (`mark`) and length are the same. */
export type CatalogedSegment = Pick<Segment, "mark" | "bytes" | "last" | "puts" | "deletions">;

/** First line of the catalog file. */
interface Head {
  format: typeof CATALOG_FORMAT;
  store: string;
  segments: CatalogedSegment[];
}

/** An `IdBatch` of a collection, with its numbers in Base64. Its locations (`places`) have the segment's number as file. */
interface BatchLine {
  collection: string;
  text: string;
  ends: string;
  places: string;
}

/** Last line of the catalog file. */
interface Floors {
  floors: [collection: string, revision: number][];
}

/**
 * Writes the catalog file: the locations of the live records in sealed segments. Records may move meanwhile; the code that moves
 * them causes the file to be written again.
 */
export async function writeCatalog(
  files: Files,
  paths: Paths,
  catalog: Catalog,
  sealed: readonly Segment[],
): Promise<void> {
  /** Segment number by file number; these differ for files that this process sealed or compacted. */
  const numbers = new Map(sealed.map(({ file, header }) => [file, header.segment]));
  const segments = sealed.map(({ mark, bytes, last, puts, deletions }) => ({ mark, bytes, last, puts, deletions }));

  /** Selects the records of sealed segments; a start reads those of other files from the journal. */
  const selectSealed = (batch: IdBatch): IdBatch => {
    const fileNumbers = batch.locations.map(locationFile);
    if (fileNumbers.every((file) => numbers.get(file) === file)) return batch;
    const sealedIndexes = fileNumbers.flatMap((file, index) => (numbers.has(file) ? [index] : []));
    const locations = sealedIndexes.map((index) =>
      packLocation(numbers.get(fileNumbers[index]!)!, locationOffset(batch.locations[index]!)),
    );
    const ids = listIds(batch);
    // The batch of a sequence has no ends, from which ids could be listed.
    return ids.length === 0
      ? { ...batch, locations }
      : makeBatch(
          sealedIndexes.map((index) => ids[index]!),
          locations,
        );
  };

  async function* lines(): AsyncIterable<Head | BatchLine | Floors> {
    yield { format: CATALOG_FORMAT, store: sealed[0]!.header.store, segments };
    for (const collection of catalog.names())
      for (let batch = catalog.nextBatch(collection, undefined); batch;) {
        // The text of a sequence's batch is its last id.
        const last = batch.ends.length === 0 ? batch.text : lastId(batch);
        const { text, ends, locations } = selectSealed(batch);
        if (locations.length > 0)
          yield {
            collection,
            text,
            ends: encodeBase64(Uint32Array.from(ends)),
            places: encodeBase64(Float64Array.from(locations)),
          };
        await nextTurn();
        batch = catalog.nextBatch(collection, last);
      }
    yield { floors: catalog.names().map((name) => [name, catalog.floor(name)]) };
  }
  async function* bytes(): AsyncIterable<Buffer> {
    for await (const line of lines()) yield Buffer.from(makeLine(line));
  }
  await replaceFile(files, paths.catalog, bytes());
}

const lastId = ({ text, ends }: IdBatch): string => text.slice(ends.at(-2) ?? 0);

const encodeBase64 = ({ buffer }: Uint32Array | Float64Array): string => Buffer.from(buffer).toString("base64");

/** Decodes bytes into a buffer of their own, aligned for arrays of numbers. */
const decodeBase64 = (text: string): ArrayBuffer => new Uint8Array(Buffer.from(text, "base64")).buffer;

/** Content of a catalog file. */
export interface StoredCatalog extends Pick<Head, "segments"> {
  /** Number of live records by segment number. */
  live: Map<number, number>;
}

/** Reads a catalog file into an empty catalog; undefined when it is missing, incomplete, or of another store. */
export async function readCatalog(
  files: Files,
  path: string,
  store: string,
  into: Catalog,
): Promise<StoredCatalog | undefined> {
  const fd = await files.open(path, "read").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return undefined;
    throw error;
  });
  if (fd === undefined) return undefined;
  let head: Head | undefined;
  let isComplete = false;
  const live = new Map<number, number>();
  const visit = (buffer: Buffer, start: number, end: number): boolean => {
    if (isComplete || !isIntact(buffer.subarray(start, end))) return false;
    const line = JSON.parse(buffer.toString("utf8", start, end)) as Partial<Head & BatchLine & Floors>;
    if (!head) {
      if (line.format !== CATALOG_FORMAT || line.store !== store) return false;
      head = line as Head;
      return true;
    }
    const { floors, collection, text, ends, places: locations } = line;
    // No record has an empty id: this deletion only raises the floor.
    for (const [name, revision] of floors ?? []) into.delete(name, "", revision);
    if (locations !== undefined) {
      const batch = {
        text: text!,
        ends: [...new Uint32Array(decodeBase64(ends!))],
        locations: [...new Float64Array(decodeBase64(locations))],
      };
      into.append(collection!, batch);
      for (const location of batch.locations)
        live.set(locationFile(location), (live.get(locationFile(location)) ?? 0) + 1);
    }
    isComplete = floors !== undefined;
    return true;
  };
  try {
    const bytes = await files.size(fd);
    const end = await scanLines(files, { fd, bytes }, 0, visit);
    return isComplete && end === bytes ? { ...head!, live } : undefined;
  } finally {
    await files.close(fd);
  }
}
