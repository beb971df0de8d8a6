/**
 * What a start needs to know of a sealed segment without reading it: the places of the records that were live in it when
 * this was written, and the deletions. It is derived; one that is missing, damaged or of an earlier content is ignored.
 */
import { sequenceId } from "../../lib/store/collections.ts";
import { type Catalog, placeOf } from "./catalog.ts";
import { isIntact, lineOf, NEWLINE } from "./journal_format.ts";
import type { Segment } from "./segment.ts";

const INDEX_FORMAT = "countersign-index/1";

interface IndexHeader {
  format: typeof INDEX_FORMAT;
  store: string;
  segment: number;
  /** Of the segment's header, and the segment's length: of which content this was derived. */
  mark: string;
  bytes: number;
  last: number;
  operations: number;
  /** How many lines follow, one for each collection. */
  collections: number;
}

interface IndexLine {
  collection: string;
  /** Live records: ids and offsets of their operations; in a sequence the number of the first, since ids are consecutive. */
  ids?: string[];
  first?: number;
  offsets: number[];
  /** Deleted records and their last revisions. */
  buried: string[];
  revisions: number[];
}

/** Gathers what an index says. */
export interface IndexBuilder {
  live(collection: string, id: string, offset: number): void;
  buried(collection: string, id: string, revision: number): void;
  /** The content of the index file of this segment. */
  content(segment: Segment): Buffer;
}

/** An empty index. */
export function newIndex(sequences: readonly string[]): IndexBuilder {
  const lines = new Map<string, IndexLine>();
  const lineFor = (collection: string, id: string): IndexLine => {
    let line = lines.get(collection);
    if (!line) {
      const kind = sequences.includes(collection) ? { first: Number(id) } : { ids: [] };
      lines.set(collection, (line = { collection, ...kind, offsets: [], buried: [], revisions: [] }));
    }
    return line;
  };
  return {
    live(collection, id, offset) {
      const line = lineFor(collection, id);
      line.ids?.push(id);
      line.offsets.push(offset);
    },
    buried(collection, id, revision) {
      const line = lineFor(collection, id);
      line.buried.push(id);
      line.revisions.push(revision);
    },
    content({ header, mark, bytes, last, operations }) {
      const head: IndexHeader = {
        format: INDEX_FORMAT,
        store: header.store,
        segment: header.segment,
        mark,
        bytes,
        last,
        operations,
        collections: lines.size,
      };
      return Buffer.from([head, ...lines.values()].map(lineOf).join(""));
    },
  };
}

/** An index that belongs to a segment as it is now. */
export interface LoadedIndex {
  /** The segment's last commit. */
  last: number;
  /** Enters what the index says into a catalog, and into the segment's own figures. */
  apply(catalog: Catalog): void;
}

/** Reads an index file's content; `undefined` when it is not whole or not of this segment's content. */
export function loadIndex(content: Buffer, segment: Segment): LoadedIndex | undefined {
  const [head, ...lines] = intactLines(content) ?? [];
  if (head === undefined) return undefined;
  const { header, mark, bytes } = segment;
  const index = JSON.parse(head) as IndexHeader;
  const fits = index.format === INDEX_FORMAT && index.store === header.store && index.segment === header.segment;
  if (!fits || index.mark !== mark || index.bytes !== bytes || index.collections !== lines.length) return undefined;

  const apply = (catalog: Catalog): void => {
    segment.last = index.last;
    segment.operations = index.operations;
    for (const line of lines) {
      const { collection, ids, first = 0, offsets, buried, revisions } = JSON.parse(line) as IndexLine;
      offsets.forEach((offset, at) => {
        catalog.put(collection, ids ? ids[at]! : sequenceId(first + at), placeOf(segment.file, offset));
      });
      buried.forEach((id, at) => catalog.bury(collection, id, revisions[at]!));
      segment.live += offsets.length + buried.length;
    }
  };
  return { last: index.last, apply };
}

function intactLines(content: Buffer): string[] | undefined {
  const lines: string[] = [];
  for (let start = 0; start < content.length;) {
    const end = content.indexOf(NEWLINE, start);
    if (end === -1 || !isIntact(content.subarray(start, end))) return undefined;
    lines.push(content.toString("utf8", start, end));
    start = end + 1;
  }
  return lines;
}
