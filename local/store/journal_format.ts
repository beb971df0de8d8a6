/** The journal's lines: JSON with a checksum, each commit one line whose values need not be parsed to find what is in it. */
import { crc32 } from "node:zlib";
import type { Version } from "../../lib/store/engine/view.ts";

/** A file of the store does not hold what the store wrote: nothing is guessed, the start is refused. */
export class StoreDamaged extends Error {
  override readonly name = "StoreDamaged";
  /** `offset`: bytes from the start of the file. `remedy`: what its keeper can do. */
  constructor(
    readonly file: string,
    readonly offset: number,
    reason: string,
    remedy = "Restore the file from a copy.",
  ) {
    super(`${file}, byte ${offset}: ${reason}. ${remedy}`);
  }
}

/** Bytes of `,"crc":"0a1b2c3d"}`. */
export const TRAILER_BYTES = 18;
/** The byte that ends a line. */
export const NEWLINE = 10;

/** What ends a line whose earlier bytes are given. */
export const trailerOf = (body: Buffer): string => `,"crc":"${crc32(body).toString(16).padStart(8, "0")}"}`;

/** The line, with its line end, of an object that has at least one member. */
export function lineOf(object: object): string {
  const body = JSON.stringify(object).slice(0, -1);
  return `${body}${trailerOf(Buffer.from(body))}\n`;
}

/** Whether a line, without its line end, is as it was written. */
export function isIntact(line: Buffer): boolean {
  const end = line.length - TRAILER_BYTES;
  return end > 0 && line.toString("latin1", end) === trailerOf(line.subarray(0, end));
}

/**
 * The text of an operation: `[collection, id, revision, value]`, a deletion without its value. A commit's line is
 * `{"n":7,"prev":5,"ops":[⇥["audit","…",1,{…}]⇥,⇥["live","…",1]⇥],"crc":"…"}`. The tabs are raw: JSON ignores them here and
 * never has them within a string, so an operation ends at the next one. `prev` is the commit before, named only where
 * compaction took out what lay between.
 */
export function operationText({ collection, id, revision, json }: Version): string {
  const key = `${keyText(collection, id)}${revision}`;
  return json ? `${key},${json.text}]` : `${key}]`;
}

/** What the operations on a record begin with. */
export const keyText = (collection: string, id: string): string =>
  `[${JSON.stringify(collection)},${JSON.stringify(id)},`;

/** What an operation is about, and where it lies in the buffer it was read from. */
export interface Operation {
  collection: string;
  id: string;
  revision: number;
  deleted: boolean;
  start: number;
  end: number;
}

/** The number of a commit and of the one before; `body` is where its operations begin. */
export interface CommitHead {
  sequence: number;
  previous: number;
  body: number;
}

const TAB = 9;
const QUOTE = 34;
const COMMA = 44;
const BACKSLASH = 92;
const START = '{"n":';
const PREVIOUS = ',"prev":';
const OPERATIONS = ',"ops":[';

/** Reads the head of the line that begins at `start`; `undefined` when it has another form. */
export function readHead(buffer: Buffer, start: number): CommitHead | undefined {
  if (!follows(buffer, start, START)) return undefined;
  const sequence = digits(buffer, start + START.length);
  let at = sequence.end;
  let previous = sequence.value - 1;
  if (follows(buffer, at, PREVIOUS)) {
    const named = digits(buffer, at + PREVIOUS.length);
    previous = named.value;
    at = named.end;
  }
  if (!follows(buffer, at, OPERATIONS)) return undefined;
  return { sequence: sequence.value, previous, body: at + OPERATIONS.length };
}

/** Visits each operation of a line, in order; the line ends before `end`. */
export function eachOperation(buffer: Buffer, body: number, end: number, visit: (operation: Operation) => void): void {
  for (let at = body; buffer[at] === TAB;) {
    const close = buffer.indexOf(TAB, at + 1);
    if (close === -1 || close >= end) throw new SyntaxError("an operation has no end");
    visit(readKey(buffer, at + 1, close));
    at = buffer[close + 1] === COMMA ? close + 2 : close + 1;
  }
}

/** Reads what the operation that begins at `start` is about; it ends before `end`. */
export function readKey(buffer: Buffer, start: number, end: number): Operation {
  const collectionEnd = plainEnd(buffer, start + 2);
  const idEnd = collectionEnd === -1 ? -1 : plainEnd(buffer, collectionEnd + 3);
  if (idEnd === -1) {
    const [collection, id, revision, ...value] = JSON.parse(buffer.toString("utf8", start, end)) as [
      string,
      string,
      number,
    ];
    return { collection, id, revision, deleted: value.length === 0, start, end };
  }
  const revision = digits(buffer, idEnd + 2);
  return {
    collection: buffer.toString("utf8", start + 2, collectionEnd),
    id: buffer.toString("utf8", collectionEnd + 3, idEnd),
    revision: revision.value,
    deleted: buffer[revision.end] !== COMMA,
    start,
    end,
  };
}

/** Where the string that begins at `start` ends, or -1 when it has an escape. */
function plainEnd(buffer: Buffer, start: number): number {
  for (let at = start; at < buffer.length; at++) {
    if (buffer[at] === QUOTE) return at;
    if (buffer[at] === BACKSLASH) return -1;
  }
  return -1;
}

function follows(buffer: Buffer, start: number, text: string): boolean {
  for (let index = 0; index < text.length; index++) if (buffer[start + index] !== text.charCodeAt(index)) return false;
  return true;
}

function digits(buffer: Buffer, start: number): { value: number; end: number } {
  let value = 0;
  let end = start;
  for (let digit = buffer[end]! - 48; digit >= 0 && digit <= 9; digit = buffer[++end]! - 48) value = value * 10 + digit;
  return { value, end };
}
