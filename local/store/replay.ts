/** Reads the files of a journal in order into a catalog. */
import { type Catalog, type CatalogedSegment, locationFile, type StoredCatalog, packLocation } from "./catalog.ts";
import type { Files } from "./files.ts";
import { visitOperations, isIntact, type Operation, readHead, StoreDamaged } from "./journal_format.ts";
import { parseBatch, openSegment, scanLines, type Segment, SLICE_BYTES } from "./segment.ts";

/** The journal's last file. */
export interface LastSegment {
  segment: Segment;
  /** End of the last complete line; bytes after it are a torn write. */
  end: number;
}

/** Parts of a replay. */
export interface ReplayParts {
  files: Files;
  catalog: Catalog;
  /** The open files by their numbers. */
  segments: Map<number, Segment>;
  /** Content of the catalog file, which was read into the catalog already. */
  stored: StoredCatalog | undefined;
  /** Returns a file number that is not used yet. */
  nextFile(): number;
}

/** Creates a replay from the first file on. */
export function newReplay({ files, catalog, segments, stored, nextFile }: ReplayParts) {
  const unread = new Set<Segment>();
  let isCovered = true;
  let last = 0;
  let store: string | undefined;

  /** Opens the file of segment `number`, which also is its file number in locations. */
  const open = async (path: string, number: number, mode: "read" | "write"): Promise<Segment> => {
    const segment = await openSegment(files, path, number, mode);
    segments.set(number, segment);
    const { header } = segment;
    store ??= header.store;
    if (header.store !== store) throw new StoreDamaged(path, 0, "it belongs to another store than the files before it");
    const problem =
      header.segment !== number
        ? `it is segment ${header.segment} of the journal, and segment ${number} is missing`
        : `it goes on after commit ${header.after}, but the files before it end with ${last}`;
    if (header.segment !== number || header.after !== last) throw new StoreDamaged(path, 0, problem);
    return segment;
  };

  /** Reads all batches up to the first damaged line; returns its offset. */
  const read = (segment: Segment): Promise<number> => {
    const { path, file } = segment;
    const visit = (buffer: Buffer, start: number, end: number, offset: number): boolean => {
      if (!isIntact(buffer.subarray(start, end))) return false;
      const head = readHead(buffer, start);
      if (head?.previous !== last) {
        const foundText = head ? `commit ${head.previous + 1}` : "something else";
        throw new StoreDamaged(path, offset, `${foundText} stands where commit ${last + 1} should`);
      }
      try {
        visitOperations(buffer, head.body, end, (operation) => {
          const { collection, id, revision, deleted } = operation;
          countOperation(segment, operation);
          if (deleted) return catalog.delete(collection, id, revision);
          catalog.put(collection, id, packLocation(file, offset + operation.start - start));
          segment.live++;
        });
      } catch (error) {
        throw new StoreDamaged(path, offset, `the batch cannot be read (${(error as Error).message})`);
      }
      last = segment.last = head.sequence;
      return true;
    };
    return scanLines(files, segment, segment.firstOffset, visit);
  };

  const rejectLine = (path: string, offset: number): never => {
    throw new StoreDamaged(path, offset, "the line does not match its checksum");
  };

  /** Takes a segment from the catalog file; reads it if it was compacted after that file was written. */
  const adoptSegment = async (segment: Segment, known: CatalogedSegment, number: number): Promise<void> => {
    if (known.mark === segment.mark && known.bytes === segment.bytes) {
      const { last: end, puts, deletions } = known;
      Object.assign(segment, { last: end, puts, deletions, live: stored!.live.get(number) ?? 0 });
      unread.add(segment);
    } else {
      isCovered = false;
      segments.delete(number);
      segment.file = nextFile();
      segments.set(segment.file, segment);
      await relocate(files, catalog, segment, number);
      // The compaction removed the records that a later segment supersedes; their locations in the catalog are removed too.
      // A record of a sequence is never superseded, so a missing one is damage: then `removeFile` returns false.
      const isAnyRemoved = segment.live < (stored!.live.get(number) ?? 0);
      if (isAnyRemoved && !catalog.removeFile(number))
        throw new StoreDamaged(segment.path, 0, "records that were in it are missing");
    }
    last = segment.last;
  };

  return {
    /** Segments that were not read. */
    unread,
    /** True if the catalog file covers all sealed segments as they are. */
    get covered() {
      return isCovered;
    },
    /** The number of the last commit, 0 at the beginning. */
    get sequence() {
      return last;
    },
    /** The store's id; undefined before the first file was read. */
    get store() {
      return store;
    },
    /** Reads the next sealed segment, unless the catalog file covers it. Errors: `StoreDamaged`. */
    async sealed(path: string, number: number): Promise<Segment> {
      const segment = await open(path, number, "read");
      const known = stored?.segments[number - 1];
      if (known) await adoptSegment(segment, known, number);
      else {
        isCovered = false;
        const end = await read(segment);
        if (end < segment.bytes) rejectLine(path, end);
      }
      return segment;
    },
    /** Reads the last segment. Errors: `StoreDamaged`. */
    async active(path: string, number: number): Promise<LastSegment> {
      const segment = await open(path, number, "write");
      const end = await read(segment);
      // A batch is written only after the one before it is durable. So a bad line before an intact one was durable, and is damaged;
      // a bad line at the end is a torn write.
      await scanLines(files, segment, end, (buffer, from, to) => {
        if (isIntact(buffer.subarray(from, to))) rejectLine(path, end);
      });
      return { segment, end };
    },
  };
}

/** Counts an operation of a segment. A deletion with an empty id deletes no record: it states the revision floor of a collection. */
function countOperation(segment: Segment, { id, deleted }: Pick<Operation, "id" | "deleted">): void {
  if (!deleted) segment.puts++;
  else if (id !== "") segment.deletions++;
}

/** Changes the locations of records in the file `from` to those in its compacted replacement. */
async function relocate(files: Files, catalog: Catalog, segment: Segment, from: number): Promise<void> {
  const visit = (buffer: Buffer, start: number, end: number, offset: number): void => {
    const head = parseBatch(segment.path, buffer, start, end, offset);
    visitOperations(buffer, head.body, end, (operation) => {
      countOperation(segment, operation);
      const { collection, id, deleted } = operation;
      const latest = deleted ? undefined : catalog.locate(collection, id);
      if (latest === undefined || locationFile(latest) !== from) return;
      catalog.put(collection, id, packLocation(segment.file, offset + operation.start - start));
      segment.live++;
    });
    segment.last = head.sequence;
  };
  const end = await scanLines(files, segment, segment.firstOffset, visit, { chunkBytes: SLICE_BYTES });
  if (end < segment.bytes) throw new StoreDamaged(segment.path, end, "its last line has no end");
}
