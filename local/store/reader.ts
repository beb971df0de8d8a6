/** Reads records from the journal's files by their places. */
import type { Version } from "../../lib/store/engine/view.ts";
import { Json } from "../../lib/store/json.ts";
import { StoreUnreadable } from "../../lib/store/store.ts";
import { placeFile, placeOffset } from "./catalog.ts";
import type { Files } from "./files.ts";
import { keyText, StoreDamaged } from "./journal_format.ts";
import type { Segment } from "./segment.ts";
import { whileUsed } from "./uses.ts";
import type { WrittenBytes } from "./written_bytes.ts";

type Page = readonly (readonly [id: string, place: number])[];

/** Reads of records. Errors: `StoreDamaged`, and `StoreUnreadable` where a file cannot be read now. */
export interface Reader {
  /** Returns a record from the bytes that were written last; undefined where it is not among them. */
  readWritten(collection: string, id: string, place: number): Version | undefined;
  /** As `readWritten`, of a page; undefined where one of its records is not in memory. */
  readAllWritten(collection: string, page: Page): Version[] | undefined;
  /** Reads one record from its file. */
  read(collection: string, id: string, place: number): Promise<Version>;
  /** Reads a page from the files, operations that lie near each other in one call. */
  readAll(collection: string, page: Page): Promise<Version[]>;
}

const TAB = 9;
/** How much is read for one operation whose length is not known. */
const GUESS = 4 * 1024;
/** Operations at most this far apart are read in one call, up to so many bytes. */
const GAP = 16 * 1024;
const MAX_READ_BYTES = 256 * 1024;

/** The value of a record as its file has it, read when it is asked for. */
class ReadJson extends Json {
  readonly #damaged: () => StoreDamaged;
  constructor(text: string, damaged: () => StoreDamaged) {
    super(text);
    this.#damaged = damaged;
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
 * A reader over the open files of a journal. `sequences`: collections whose records have no key in front of them. `onDamaged`
 * learns of each record that is not as it was written. `written`: the bytes that are in memory still.
 */
export function newReader(
  files: Files,
  segmentOf: (file: number) => Segment,
  sequences: readonly string[],
  onDamaged: (error: StoreDamaged) => void = () => undefined,
  written?: Pick<WrittenBytes, "find">,
): Reader {
  const damaged = ({ path }: Segment, place: number): StoreDamaged => {
    const error = new StoreDamaged(path, placeOffset(place), "a record is not where the journal had it");
    onDamaged(error);
    return error;
  };

  /** Errors: `StoreUnreadable` where the file cannot be read now (EIO, ENOMEM): that says nothing about what is in it. */
  const readFrom: Files["read"] = async (...args) => {
    try {
      return await files.read(...args);
    } catch (cause) {
      const { code = String(cause) } = cause as NodeJS.ErrnoException;
      const message = `the journal cannot be read now (${code}): reads that need it are refused until they succeed. Check the disk.`;
      throw new StoreUnreadable(message, { cause, shown: code });
    }
  };

  /** Reads one operation into the start of a buffer; `end` is its length. */
  const fetch = async (segment: Segment, place: number): Promise<{ buffer: Buffer; end: number }> => {
    for (let length = GUESS; ; length *= 8) {
      const buffer = Buffer.allocUnsafe(length);
      const got = await readFrom(segment.fd, buffer, length, placeOffset(place));
      const end = buffer.indexOf(TAB);
      if (end !== -1 && end < got) return { buffer, end };
      if (got < length) throw damaged(segment, place);
    }
  };

  const parse = (
    segment: Segment,
    collection: string,
    id: string,
    place: number,
    buffer: Buffer,
    start: number,
    end: number,
  ): Version => {
    const text = buffer.toString("utf8", start, end);
    const broken = (): StoreDamaged => damaged(segment, place);
    if (sequences.includes(collection)) return { collection, id, revision: 1, json: new ReadJson(text, broken) };
    const plain = `["${collection}","${id}",`;
    const key = text.startsWith(plain) ? plain : keyText(collection, id);
    const comma = text.indexOf(",", key.length);
    if (!text.startsWith(key) || comma === -1) throw broken();
    const json = new ReadJson(text.slice(comma + 1, -1), broken);
    return { collection, id, revision: Number(text.slice(key.length, comma)), json };
  };

  const readOne = async (segment: Segment, collection: string, id: string, place: number): Promise<Version> => {
    const { buffer, end } = await fetch(segment, place);
    return parse(segment, collection, id, place, buffer, 0, end);
  };

  const readWritten: Reader["readWritten"] = (collection, id, place) => {
    const recent = written?.find(place);
    return recent && parse(segmentOf(placeFile(place)), collection, id, place, recent.buffer, recent.start, recent.end);
  };

  return {
    readWritten,
    readAllWritten(collection, page) {
      const versions: Version[] = [];
      for (const [id, place] of page) {
        const version = readWritten(collection, id, place);
        if (!version) return undefined;
        versions.push(version);
      }
      return versions;
    },
    async read(collection, id, place) {
      const segment = segmentOf(placeFile(place));
      return whileUsed([segment], () => readOne(segment, collection, id, place));
    },
    async readAll(collection, page) {
      // Compaction may move what is read meanwhile: it is read where it lies now.
      const segments = new Map(page.map(([, place]) => [placeFile(place), segmentOf(placeFile(place))]));
      return whileUsed(segments.values(), async () => {
        const versions = new Array<Version>(page.length);
        const order = inPlaceOrder(page);
        for (let from = 0; from < order.length;) {
          const first = page[order[from]!]![1];
          const segment = segments.get(placeFile(first))!;
          let last = first;
          let to = from + 1;
          for (; to < order.length; to++) {
            const place = page[order[to]!]![1];
            if (place - last > GAP || place - first > MAX_READ_BYTES - GUESS) break;
            last = place;
          }
          const buffer = Buffer.allocUnsafe(last - first + GUESS);
          const got = await readFrom(segment.fd, buffer, buffer.length, placeOffset(first));
          for (const index of order.slice(from, to)) {
            const [id, place] = page[index]!;
            const end = buffer.indexOf(TAB, place - first);
            // The last of a run may be longer than what was read, and so may one that has lost its end.
            versions[index] =
              end === -1 || end >= got
                ? await readOne(segment, collection, id, place)
                : parse(segment, collection, id, place, buffer, place - first, end);
          }
          from = to;
        }
        return versions;
      });
    },
  };
}

/** The indexes of a page, by rising places. */
function inPlaceOrder(page: readonly (readonly [string, number])[]): number[] {
  const order = page.map((_, index) => index);
  return order.sort((a, b) => page[a]![1] - page[b]![1]);
}
