/**
 * The format `countersign-export/1` of exported stores: JSON lines. The first line names the format. Each record is a line
 * `[collection, id, revision, value]`, without the value for a deletion; a later line replaces an earlier one for the same
 * record. The last line has the number of records, the end of the log, and the SHA-256 of all bytes before that line, so that a
 * truncated file is rejected.
 */
import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js";
import { Json } from "../json.ts";
import type { Version } from "../version.ts";
import { MoveRejected } from "./move_rejected.ts";

const FORMAT = "countersign-export/";
const VERSION = 1;

/** The first line. */
export interface ExportHead {
  /** `export`: the exported store takes no more writes; `backup`: it stays in use. */
  kind: "export" | "backup";
  /** The id of the move. */
  move: string;
  /** Address of the exported store. */
  from: string;
  made_at: string;
}

/** The end of the log, from the last line; null and 0 without a log. */
export interface ExportEnd {
  origin: string | null;
  length: number;
  head: string | null;
}

/** Creates a writer that returns the lines of a file, each with its line end. */
export function exportWriter() {
  const digest = sha256.create();
  let recordCount = 0;
  const line = (text: string): string => {
    digest.update(utf8ToBytes(`${text}\n`));
    return `${text}\n`;
  };
  return {
    head: (head: ExportHead): string => line(JSON.stringify({ format: `${FORMAT}${VERSION}`, ...head })),
    records(versions: readonly Version[]): string {
      recordCount += versions.length;
      return versions.map((version) => line(formatRecord(version))).join("");
    },
    end: (end: ExportEnd): string =>
      `${JSON.stringify({ records: recordCount, ...end, sha256: bytesToHex(digest.digest()) })}\n`,
  };
}

/** Formats the beginning of a record's line, up to the revision. */
const formatKey = ({ collection, id, revision }: Version): string =>
  JSON.stringify([collection, id, revision]).slice(0, -1);
const formatRecord = (version: Version): string =>
  version.json ? `${formatKey(version)},${version.json.text}]` : `${formatKey(version)}]`;

/** Content of a file. */
export interface ExportRead {
  head: ExportHead;
  /** The records, in pages; after the last page, the complete file has been verified against its last line. */
  records: AsyncIterable<readonly Version[]>;
  /** Returns the end of the log; only after all records were read. */
  end(): ExportEnd;
}

const PAGE_SIZE = 100;

/** Reads a file from its lines, without line ends. Errors: `MoveRejected`, with the number of the faulty line. */
export async function readExport(lines: AsyncIterable<string>): Promise<ExportRead> {
  const lineIterator = lines[Symbol.asyncIterator]();
  const digest = sha256.create();
  const first = await lineIterator.next();
  const firstLine: string = first.done ? "" : first.value;
  const head = parseHead(firstLine);
  digest.update(utf8ToBytes(`${firstLine}\n`));
  let end: ExportEnd | undefined;

  async function* records(): AsyncGenerator<readonly Version[]> {
    let page: Version[] = [];
    let count = 0;
    for (let number = 2; ; number++) {
      const { done, value: text } = await lineIterator.next();
      if (done) throw new MoveRejected(`it ends after line ${number - 1} without its last line: it was cut`);
      if (text.startsWith("{")) {
        end = parseEnd(text, { records: count, sha256: bytesToHex(digest.digest()) }, number);
        if (!(await lineIterator.next()).done)
          throw new MoveRejected(`something follows its last line, line ${number}`);
        break;
      }
      digest.update(utf8ToBytes(`${text}\n`));
      page.push(parseRecord(text, number));
      count++;
      if (page.length < PAGE_SIZE) continue;
      yield page;
      page = [];
    }
    if (page.length > 0) yield page;
  }
  return {
    head,
    records: records(),
    end() {
      if (!end) throw new Error("the records were not read to their end");
      return end;
    },
  };
}

function parseLine(text: string, number: number): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw new MoveRejected(`line ${number} is not JSON`);
  }
}

function parseHead(text: string): ExportHead {
  const { format, ...head } = (text.startsWith("{") ? parseLine(text, 1) : {}) as Partial<ExportHead> & {
    format?: string;
  };
  if (typeof format !== "string" || !format.startsWith(FORMAT))
    throw new MoveRejected("its first line names no export of Countersign: it is no file that export or backup wrote");
  if (format !== `${FORMAT}${VERSION}`)
    throw new MoveRejected(
      `it is of the format ${format}, and this version reads ${FORMAT}${VERSION}: use the version that wrote it, or a later one`,
    );
  if (head.kind !== "export" && head.kind !== "backup") throw new MoveRejected("its first line was changed");
  return head as ExportHead;
}

function parseRecord(text: string, number: number): Version {
  const [collection, id, revision, ...value] = parseLine(text, number) as [string, string, number, unknown?];
  const key = { collection, id, revision, json: undefined };
  // The value is cut out of the line, so the line must begin with the key exactly as `formatKey` writes it.
  const isKey = typeof collection === "string" && collection !== "" && typeof id === "string";
  if (!isKey || !Number.isSafeInteger(revision) || !text.startsWith(formatKey(key)))
    throw new MoveRejected(`line ${number} is not a record`);
  return value.length === 0 ? key : { ...key, json: new Json(text.slice(formatKey(key).length + 1, -1)) };
}

function parseEnd(text: string, found: { records: number; sha256: string }, number: number): ExportEnd {
  const {
    records,
    sha256: statedHash,
    ...end
  } = parseLine(text, number) as ExportEnd & { records: number; sha256: string };
  if (records !== found.records)
    throw new MoveRejected(`it has ${found.records} records, and its last line states ${records}`);
  if (statedHash !== found.sha256)
    throw new MoveRejected("it was changed after it was written: its SHA-256 is another one");
  return end;
}
