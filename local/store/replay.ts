/** Reads the files of a journal in order and enters what they say into a catalog. */
import { type Catalog, newCatalog, placeOf } from "./catalog.ts";
import { eachOperation, isIntact, readHead, StoreDamaged } from "./journal_format.ts";
import { type Files, readFile } from "./files.ts";
import { openSegment, scanLines, type Segment } from "./segment.ts";
import { loadIndex } from "./segment_index.ts";

/** What came after the snapshot, so that it can be checked before anything is served. */
export interface Replayed {
  /** How many commits. */
  commits: number;
  /** For each sequence that grew, the numbers of its first and last new record; the first may be earlier than need be. */
  sequences: Record<string, { from: number; to: number }>;
}

/** The journal's last file as it was found. */
export interface LastSegment {
  segment: Segment;
  /** Where the commits begin that the snapshot does not show. */
  since: number;
  /** Where the last whole line ends; what lies behind it is a torn write. */
  end: number;
}

/** A journal as far as it has been read. */
export interface Replay {
  readonly catalog: Catalog;
  /** The open files by their numbers. */
  readonly segments: Map<number, Segment>;
  /** Segments that had to be read because no index told of them. */
  readonly unindexed: Set<Segment>;
  /** The number of the last commit, 0 at the beginning. */
  readonly last: number;
  /** The store's id, known from the first file on. */
  readonly store: string | undefined;
  nextFile(): number;
  /** Reads the next sealed segment, through its index where that is whole. Errors: `StoreDamaged`. */
  sealed(path: string, number: number, indexPath: string): Promise<Segment>;
  /** Reads the last segment. Errors: `StoreDamaged`. */
  active(path: string, number: number): Promise<LastSegment>;
  replayed(): Replayed;
  /** Closes every file. */
  close(): Promise<void>;
}

/** A replay from the beginning; `since` is the commit of the snapshot. */
export function newReplay(files: Files, sequences: readonly string[], since: number): Replay {
  const segments = new Map<number, Segment>();
  const unindexed = new Set<Segment>();
  const catalog = newCatalog(sequences, (file) => {
    segments.get(file)!.live--;
  });
  let sizesAtSnapshot: number[] | undefined;
  let last = 0;
  let store: string | undefined;
  let lastFile = 0;
  const nextFile = (): number => ++lastFile;

  const noteSnapshot = (sequence: number): void => {
    if (sequence > since) sizesAtSnapshot ??= sequences.map((name) => catalog.size(name));
  };

  const open = async (path: string, number: number, mode: "read" | "write"): Promise<Segment> => {
    const segment = await openSegment(files, path, nextFile(), mode);
    segments.set(segment.file, segment);
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

  /** Enters every commit up to the first line that is not one; gives where that begins, and the first after the snapshot. */
  const read = async (segment: Segment): Promise<{ end: number; after: number | undefined }> => {
    const { path, file } = segment;
    let after: number | undefined;
    const visit = (buffer: Buffer, start: number, end: number, offset: number): boolean => {
      if (!isIntact(buffer.subarray(start, end))) return false;
      const head = readHead(buffer, start);
      if (head?.previous !== last) {
        const found = head ? `commit ${head.sequence}` : "something else";
        throw new StoreDamaged(path, offset, `${found} stands where commit ${last + 1} should`);
      }
      noteSnapshot(head.sequence);
      if (head.sequence > since) after ??= offset;
      try {
        eachOperation(buffer, head.body, end, ({ collection, id, revision, deleted, start: at }) => {
          segment.operations++;
          segment.live++;
          if (deleted) catalog.bury(collection, id, revision);
          else catalog.put(collection, id, placeOf(file, offset + at - start));
        });
      } catch (error) {
        throw new StoreDamaged(path, offset, `the commit cannot be followed (${(error as Error).message})`);
      }
      last = segment.last = head.sequence;
      return true;
    };
    return { end: await scanLines(files, segment, segment.begins, visit), after };
  };

  const refuseRest = (path: string, offset: number): never => {
    throw new StoreDamaged(path, offset, "the line does not match its checksum");
  };

  return {
    catalog,
    segments,
    unindexed,
    get last() {
      return last;
    },
    get store() {
      return store;
    },
    nextFile,
    async sealed(path, number, indexPath) {
      const segment = await open(path, number, "read");
      const content = await readFile(files, indexPath);
      const index = content && loadIndex(content, segment);
      if (index) {
        noteSnapshot(index.last);
        index.apply(catalog);
        last = index.last;
      } else {
        const { end } = await read(segment);
        if (end < segment.bytes) refuseRest(path, end);
        unindexed.add(segment);
      }
      return segment;
    },
    async active(path, number) {
      const segment = await open(path, number, "write");
      const { end, after = end } = await read(segment);
      // An intact line behind a bad one may have been acknowledged: then it is damage, not a torn write.
      await scanLines(files, segment, end, (buffer, from, to) => {
        if (isIntact(buffer.subarray(from, to))) refuseRest(path, end);
      });
      return { segment, since: after, end };
    },
    replayed() {
      const grown = sequences.flatMap((name, index) => {
        const range = { from: (sizesAtSnapshot?.[index] ?? catalog.size(name)) + 1, to: catalog.size(name) };
        return range.from <= range.to ? [[name, range] as const] : [];
      });
      return { commits: Math.max(0, last - since), sequences: Object.fromEntries(grown) };
    },
    async close() {
      await Promise.allSettled([...segments.values()].map(({ fd }) => files.close(fd)));
    },
  };
}
