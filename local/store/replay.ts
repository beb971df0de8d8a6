/** Reads the files of a journal in order and enters what they say into a catalog. */
import { type Catalog, type Covered, placeFile, type KeptCatalog, packPlace } from "./catalog.ts";
import type { Files } from "./files.ts";
import { eachOperation, isIntact, type Operation, readHead, StoreDamaged } from "./journal_format.ts";
import { parseBatch, openSegment, scanLines, type Segment, SLICE } from "./segment.ts";

/** The journal's last file as it was found. */
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
  /** Content of the catalog file, which is in the catalog already. */
  kept: KeptCatalog | undefined;
  nextFile(): number;
}

/** A replay from the beginning. */
export function newReplay({ files, catalog, segments, kept, nextFile }: ReplayParts) {
  const unread = new Set<Segment>();
  let covered = true;
  let last = 0;
  let store: string | undefined;

  const open = async (path: string, number: number, mode: "read" | "write"): Promise<Segment> => {
    const segment = await openSegment(files, path, number, mode);
    segments.set(number, segment);
    const { header } = segment;
    store ??= header.store;
    if (header.store !== store) throw new StoreDamaged(path, 0, "it belongs to another store than the files before it");
    const wrong =
      header.segment !== number
        ? `it is segment ${header.segment} of the journal, and segment ${number} is missing`
        : `it goes on after commit ${header.after}, but the files before it end with ${last}`;
    if (header.segment !== number || header.after !== last) throw new StoreDamaged(path, 0, wrong);
    return segment;
  };

  /** Enters every batch up to the first line that is none; returns where that begins. */
  const read = (segment: Segment): Promise<number> => {
    const { path, file } = segment;
    const visit = (buffer: Buffer, start: number, end: number, offset: number): boolean => {
      if (!isIntact(buffer.subarray(start, end))) return false;
      const head = readHead(buffer, start);
      if (head?.previous !== last) {
        const what = head ? `commit ${head.previous + 1}` : "something else";
        throw new StoreDamaged(path, offset, `${what} stands where commit ${last + 1} should`);
      }
      try {
        eachOperation(buffer, head.body, end, (operation) => {
          const { collection, id, revision, deleted } = operation;
          countIn(segment, operation);
          if (deleted) return catalog.bury(collection, id, revision);
          catalog.put(collection, id, packPlace(file, offset + operation.start - start));
          segment.live++;
        });
      } catch (error) {
        throw new StoreDamaged(path, offset, `the batch cannot be followed (${(error as Error).message})`);
      }
      last = segment.last = head.sequence;
      return true;
    };
    return scanLines(files, segment, segment.begins, visit);
  };

  const refuse = (path: string, offset: number): never => {
    throw new StoreDamaged(path, offset, "the line does not match its checksum");
  };

  /** Takes over what the catalog file says of a segment, or of what was compacted since, what lies in it now. */
  const adopt = async (segment: Segment, known: Covered, number: number): Promise<void> => {
    if (known.mark === segment.mark && known.bytes === segment.bytes) {
      const { last: end, puts, deletions } = known;
      Object.assign(segment, { last: end, puts, deletions, live: kept!.live.get(number) ?? 0 });
      unread.add(segment);
    } else {
      covered = false;
      segments.delete(number);
      segments.set((segment.file = nextFile()), segment);
      await relocate(files, catalog, segment, number);
      const isGone = segment.live < (kept!.live.get(number) ?? 0);
      if (isGone && !catalog.forget(number))
        throw new StoreDamaged(segment.path, 0, "records that were in it are missing");
    }
    last = segment.last;
  };

  return {
    /** Segments that were not read. */
    unread,
    /** True if the catalog file covers all sealed segments as they are. */
    get covered() {
      return covered;
    },
    /** The number of the last commit, 0 at the beginning. */
    get sequence() {
      return last;
    },
    /** The store's id, known from the first file on. */
    get store() {
      return store;
    },
    /** Reads the next sealed segment, unless the catalog file covers it. Errors: `StoreDamaged`. */
    async sealed(path: string, number: number): Promise<Segment> {
      const segment = await open(path, number, "read");
      const known = kept?.segments[number - 1];
      if (known) await adopt(segment, known, number);
      else {
        covered = false;
        const end = await read(segment);
        if (end < segment.bytes) refuse(path, end);
      }
      return segment;
    },
    /** Reads the last segment. Errors: `StoreDamaged`. */
    async active(path: string, number: number): Promise<LastSegment> {
      const segment = await open(path, number, "write");
      const end = await read(segment);
      // A batch is written when the one before it is durable. So what an intact line follows was acknowledged: it is damaged,
      // while a bad line at the end was torn. Zeros, lost sectors and whatever else may stand in one have no intact line.
      await scanLines(files, segment, end, (buffer, from, to) => {
        if (isIntact(buffer.subarray(from, to))) refuse(path, end);
      });
      return { segment, end };
    },
  };
}

/** Counts an operation that is read in a segment. */
function countIn(segment: Segment, { id, deleted }: Pick<Operation, "id" | "deleted">): void {
  if (!deleted) segment.puts++;
  else if (id !== "") segment.deletions++;
}

/** Finds the records that lay in a file, `from`, in the one that took its place, and moves them there in the catalog. */
async function relocate(files: Files, catalog: Catalog, segment: Segment, from: number): Promise<void> {
  const visit = (buffer: Buffer, start: number, end: number, offset: number): void => {
    const head = parseBatch(segment.path, buffer, start, end, offset);
    eachOperation(buffer, head.body, end, (operation) => {
      countIn(segment, operation);
      const { collection, id, deleted } = operation;
      const latest = deleted ? undefined : catalog.place(collection, id);
      if (latest === undefined || placeFile(latest) !== from) return;
      catalog.put(collection, id, packPlace(segment.file, offset + operation.start - start));
      segment.live++;
    });
    segment.last = head.sequence;
  };
  const end = await scanLines(files, segment, segment.begins, visit, { piece: SLICE });
  if (end < segment.bytes) throw new StoreDamaged(segment.path, end, "its last line has no end");
}
