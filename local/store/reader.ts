/** Reads records from the journal's files by their locations. */
import type { Version } from "../../lib/store/engine/view.ts";
import { Json } from "../../lib/store/json.ts";
import { StoreUnreadable } from "../../lib/store/store.ts";
import { locationFile, locationOffset } from "./catalog.ts";
import type { Files } from "./files.ts";
import { keyText, StoreDamaged } from "./journal_format.ts";
import type { Segment } from "./segment.ts";
import { keepOpenWhile } from "./segment_uses.ts";
import type { WrittenBytes } from "./written_bytes.ts";

type Page = readonly (readonly [id: string, location: number])[];

/** Reads records. Errors: `StoreDamaged`, and `StoreUnreadable` where a file cannot be read now. */
export interface Reader {
  /** Returns a record from the newest writes in memory; undefined where it is not among them. */
  readWritten(collection: string, id: string, location: number): Version | undefined;
  /** As `readWritten`, for a page; undefined where one of its records is not in memory. */
  readAllWritten(collection: string, page: Page): Version[] | undefined;
  /** Reads one record from its file. */
  read(collection: string, id: string, location: number): Promise<Version>;
  /** Reads a page from the files; nearby operations are read in one call. */
  readAll(collection: string, page: Page): Promise<Version[]>;
}

/** The character after each operation in the journal. */
const TAB = 9;
/** Bytes that are read first for an operation of unknown length. */
const FIRST_READ_BYTES = 4 * 1024;
/** Operations up to this far apart are read in one call, up to `MAX_READ_BYTES`. */
const MAX_GAP_BYTES = 16 * 1024;
const MAX_READ_BYTES = 256 * 1024;

/** The value of a record, parsed at its first use. */
class LazyJson extends Json {
  readonly #damaged: () => StoreDamaged;
  constructor(text: string, reportDamage: () => StoreDamaged) {
    super(text);
    this.#damaged = reportDamage;
  }
  override get value(): unknown {
    try {
      return super.value;
    } catch {
      throw this.#damaged();
    }
  }
}

/**
 * Creates a reader of the open files of a journal. `sequences`: collections whose records are stored without a key. `onDamaged` is
 * called for each damaged record. `written`: the newest writes in memory.
 */
export function newReader(
  files: Files,
  findSegment: (file: number) => Segment,
  sequences: readonly string[],
  onDamaged: (error: StoreDamaged) => void = () => undefined,
  written?: Pick<WrittenBytes, "find">,
): Reader {
  const reportDamage = ({ path }: Segment, location: number): StoreDamaged => {
    const error = new StoreDamaged(path, locationOffset(location), "a record is not where the journal had it");
    onDamaged(error);
    return error;
  };

  /** Reads bytes. Errors: `StoreUnreadable` where the file cannot be read now (EIO, ENOMEM); it need not be damaged. */
  const readBytes: Files["read"] = async (...args) => {
    try {
      return await files.read(...args);
    } catch (cause) {
      const { code = String(cause) } = cause as NodeJS.ErrnoException;
      const message = `the journal cannot be read now (${code}): reads that need it are refused until they succeed. Check the disk.`;
      throw new StoreUnreadable(message, { cause, shown: code });
    }
  };

  /** Reads one operation into the start of a buffer; `end` is its length. */
  const readOperation = async (segment: Segment, location: number): Promise<{ buffer: Buffer; end: number }> => {
    for (let length = FIRST_READ_BYTES; ; length *= 8) {
      const buffer = Buffer.allocUnsafe(length);
      const bytesRead = await readBytes(segment.fd, buffer, length, locationOffset(location));
      const end = buffer.indexOf(TAB);
      if (end !== -1 && end < bytesRead) return { buffer, end };
      if (bytesRead < length) throw reportDamage(segment, location);
    }
  };

  const parse = (
    segment: Segment,
    collection: string,
    id: string,
    location: number,
    buffer: Buffer,
    start: number,
    end: number,
  ): Version => {
    const text = buffer.toString("utf8", start, end);
    const createDamage = (): StoreDamaged => reportDamage(segment, location);
    if (sequences.includes(collection)) return { collection, id, revision: 1, json: new LazyJson(text, createDamage) };
    // Most keys have no escapes, and need no JSON.
    const plain = `["${collection}","${id}",`;
    const key = text.startsWith(plain) ? plain : keyText(collection, id);
    const comma = text.indexOf(",", key.length);
    if (!text.startsWith(key) || comma === -1) throw createDamage();
    // The operation is `["<collection>","<id>",<revision>,<value>]`.
    const json = new LazyJson(text.slice(comma + 1, -1), createDamage);
    return { collection, id, revision: Number(text.slice(key.length, comma)), json };
  };

  const readOne = async (segment: Segment, collection: string, id: string, location: number): Promise<Version> => {
    const { buffer, end } = await readOperation(segment, location);
    return parse(segment, collection, id, location, buffer, 0, end);
  };

  const readWritten: Reader["readWritten"] = (collection, id, location) => {
    const recent = written?.find(location);
    return (
      recent &&
      parse(findSegment(locationFile(location)), collection, id, location, recent.buffer, recent.start, recent.end)
    );
  };

  return {
    readWritten,
    readAllWritten(collection, page) {
      const versions: Version[] = [];
      for (const [id, location] of page) {
        const version = readWritten(collection, id, location);
        if (!version) return undefined;
        versions.push(version);
      }
      return versions;
    },
    async read(collection, id, location) {
      const segment = findSegment(locationFile(location));
      return keepOpenWhile([segment], () => readOne(segment, collection, id, location));
    },
    async readAll(collection, page) {
      // Compaction may move records meanwhile: they are still read from the former files.
      const segments = new Map(
        page.map(([, location]) => [locationFile(location), findSegment(locationFile(location))]),
      );
      return keepOpenWhile(segments.values(), async () => {
        const versions = new Array<Version>(page.length);
        const order = sortByLocation(page);
        for (let from = 0; from < order.length;) {
          const first = page[order[from]!]![1];
          const segment = segments.get(locationFile(first))!;
          let last = first;
          let to = from + 1;
          for (; to < order.length; to++) {
            const location = page[order[to]!]![1];
            // Locations in another file are much further apart, so a read stays within one file.
            if (location - last > MAX_GAP_BYTES || location - first > MAX_READ_BYTES - FIRST_READ_BYTES) break;
            last = location;
          }
          const buffer = Buffer.allocUnsafe(last - first + FIRST_READ_BYTES);
          const bytesRead = await readBytes(segment.fd, buffer, buffer.length, locationOffset(first));
          for (const index of order.slice(from, to)) {
            const [id, location] = page[index]!;
            const end = buffer.indexOf(TAB, location - first);
            // An operation that does not end within these bytes is long, or damaged.
            versions[index] =
              end === -1 || end >= bytesRead
                ? await readOne(segment, collection, id, location)
                : parse(segment, collection, id, location, buffer, location - first, end);
          }
          from = to;
        }
        return versions;
      });
    },
  };
}

/** Returns the indexes of a page, by ascending location. */
function sortByLocation(page: readonly (readonly [string, number])[]): number[] {
  const order = page.map((_, index) => index);
  return order.sort((a, b) => page[a]![1] - page[b]![1]);
}
