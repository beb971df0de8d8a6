/** Rewrites a sealed segment with only what still counts (Bitcask's merge). */
import { setImmediate as nextTurn } from "node:timers/promises";
import { type Catalog, fileOf, placeOf } from "./catalog.ts";
import { asideOf, type Files, writeAll } from "./files.ts";
import { eachOperation, lineWriter, type Operation, operationText, StoreDamaged } from "./journal_format.ts";
import { batchAt, createSegment, JOURNAL_FORMAT, isEarlier, scanLines, type Segment, SLICE } from "./segment.ts";

/** What is compacted, and what decides what counts. */
export interface CompactionParts {
  files: Files;
  catalog: Catalog;
  /** Collections of which nothing is ever taken out. */
  sequences: readonly string[];
  /** Asked between pieces: true gives the work up. */
  stopped(): boolean;
}

/** What replaces a segment: the file aside, durable, under this number. */
export interface Compaction {
  file: number;
  writtenAt: string;
  /** Whether a record that is gone may lie in an older segment: it would come back if its deletion were forgotten. */
  remains(collection: string, id: string): boolean;
}

/**
 * Writes the compacted content of a segment aside; gives `undefined` when stopped before its end. A record counts while it
 * is the latest, a deletion while its record is not live and an older segment may still have it. The last commit is kept
 * even when empty, so that a missing end still shows. Batches are joined, so that sequences lie in long runs. Errors:
 * `StoreDamaged`, with nothing replaced.
 */
export async function writeCompacted(
  { files, catalog, sequences, stopped }: CompactionParts,
  segment: Segment,
  { file, writtenAt, remains }: Compaction,
): Promise<Segment | undefined> {
  const header = { ...segment.header, format: JOURNAL_FORMAT, written_at: writtenAt, compacted: true } as const;
  const compacted = await createSegment(files, segment.path, file, header);
  const floors = new Map<string, number>();
  const line = lineWriter();
  /** Of each sequence the number of the first, and the texts. */
  let runs = new Map<string, { first: number; texts: string[] }>();
  let operations: string[] = [];
  let gathered = 0;
  let reached = header.after;

  const counts = ({ collection, id, deleted, revision }: Operation, place: number): boolean => {
    if (sequences.includes(collection)) return true;
    const latest = catalog.place(collection, id);
    if (!deleted) return latest === place;
    if (id !== "" && latest === undefined && remains(collection, id)) return true;
    floors.set(collection, Math.max(floors.get(collection) ?? 0, revision));
    return false;
  };

  const visit = (buffer: Buffer, start: number, end: number, offset: number): boolean => {
    if (stopped()) return false;
    // Checked, so that a fresh checksum is never put on what does not match its own.
    const head = batchAt(segment.path, buffer, start, end, offset);
    eachOperation(buffer, head.body, end, (operation) => {
      if (!counts(operation, placeOf(segment.file, offset + operation.start - start))) return;
      const { collection, id } = operation;
      const text = buffer.toString("utf8", operation.start, operation.end);
      gathered += text.length;
      if (!sequences.includes(collection)) return void operations.push(text);
      const run = runs.get(collection) ?? { first: Number(id), texts: [] };
      runs.set(collection, run);
      run.texts.push(isEarlier(segment) ? valueOf(text) : text);
    });
    reached = head.sequence;
    return true;
  };

  const flush = async (): Promise<void> => {
    const last = reached === segment.last && compacted.last < reached;
    if (gathered >= SLICE || last) {
      line.begin({ sequence: reached, previous: compacted.last });
      for (const [name, { first, texts }] of runs) {
        line.sequence(name, first);
        for (const text of texts) line.add(text);
      }
      if (last)
        for (const [collection, revision] of floors)
          operations.push(operationText({ collection, id: "", revision, json: undefined }));
      line.operations();
      for (const text of operations) line.add(text);
      line.end();
      await writeAll(files, compacted.fd, line.bytes, compacted.bytes);
      compacted.bytes += line.bytes.length;
      compacted.last = reached;
      runs = new Map();
      operations = [];
      gathered = 0;
      line.clear();
    }
    await nextTurn();
  };

  try {
    const end = await scanLines(files, segment, segment.begins, visit, { piece: SLICE, between: flush });
    if (end < segment.bytes) return await discard(files, compacted);
    compacted.reserved = compacted.bytes;
    await files.sync(compacted.fd);
    return compacted;
  } catch (error) {
    await discard(files, compacted).catch(() => undefined);
    throw error;
  }
}

async function discard(files: Files, { fd, path }: Segment): Promise<undefined> {
  await files.close(fd);
  await files.remove(asideOf(path));
}

/** The value within the text of an operation. */
const valueOf = (text: string): string => {
  const [collection, id] = JSON.parse(text) as [string, string];
  const key = JSON.stringify([collection, id]).length;
  return text.slice(text.indexOf(",", key) + 1, -1);
};

/** Counts an operation that is read in a segment. */
export function countIn(segment: Segment, { id, deleted }: Pick<Operation, "id" | "deleted">): void {
  if (!deleted) segment.puts++;
  else if (id !== "") segment.deletions++;
}

/** Finds the records that lay in a file, `from`, in the one that took its place, and moves them there in the catalog. */
export async function relocate(files: Files, catalog: Catalog, segment: Segment, from: number): Promise<void> {
  const visit = (buffer: Buffer, start: number, end: number, offset: number): void => {
    const head = batchAt(segment.path, buffer, start, end, offset);
    eachOperation(buffer, head.body, end, (operation) => {
      countIn(segment, operation);
      const { collection, id, deleted } = operation;
      const latest = deleted ? undefined : catalog.place(collection, id);
      if (latest === undefined || fileOf(latest) !== from) return;
      catalog.put(collection, id, placeOf(segment.file, offset + operation.start - start));
      segment.live++;
    });
    segment.last = head.sequence;
  };
  const end = await scanLines(files, segment, segment.begins, visit, { piece: SLICE });
  if (end < segment.bytes) throw new StoreDamaged(segment.path, end, "its last line has no end");
}
