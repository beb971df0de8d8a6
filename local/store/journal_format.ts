/** Reads and writes the journal's lines: one batch a line, in JSON with a checksum. Ids are found without parsing values. */
import { crc32 } from "node:zlib";
import { sequenceId } from "../../lib/store/collections.ts";
import type { Version } from "../../lib/store/engine/view.ts";
import { RecordDamaged } from "../../lib/store/store.ts";

/** A file of the store does not contain what the store wrote. A store that finds this at its start does not open. */
export class StoreDamaged extends RecordDamaged {
  override readonly name = "StoreDamaged";
  /** `offset`: bytes from the start of the file. `remedy`: advice for the operator. */
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

/** Returns the trailer of a line: the checksum of these bytes. */
export const makeTrailer = (body: Buffer): string => `,"crc":"${crc32(body).toString(16).padStart(8, "0")}"}`;

/** Formats an object with at least one member as a line, with its line end. */
export function makeLine(object: object): string {
  const body = JSON.stringify(object).slice(0, -1);
  return `${body}${makeTrailer(Buffer.from(body))}\n`;
}

/** Checks the checksum of a line, without its line end. */
export function isIntact(line: Buffer): boolean {
  const end = line.length - TRAILER_BYTES;
  return end > 0 && line.toString("latin1", end) === makeTrailer(line.subarray(0, end));
}

/**
 * A batch, the commits that share a write and a sync, is one line:
 * `{"n":12,"prev":7,"audit":[41,⇥{…}⇥,⇥{…}⇥],"ops":[⇥["changes","…",1,{…}]⇥,⇥["waiting","…",1]⇥],"crc":"…"}`.
 * `n` is the number of its last commit, `prev` the number before its first one (absent for a batch of one commit). A sequence
 * has the number of its first record, then the records alone. An operation is `[collection, id, revision, value]`; a deletion has
 * no value, and a deletion with an empty id only states that revisions up to this one were used. The tabs are raw characters: JSON
 * allows them between values and never within a string, so a record or operation extends from one tab to the next.
 */
export interface Line {
  sequence: number;
  previous: number;
  /** Offset of the body after the head. */
  body: number;
}

/** Formats an operation. */
export function operationText({ collection, id, revision, json }: Version): string {
  const key = `${keyText(collection, id)}${revision}`;
  return json ? `${key},${json.text}]` : `${key}]`;
}

/** Formats the beginning of an operation on a record. */
export const keyText = (collection: string, id: string): string =>
  `[${JSON.stringify(collection)},${JSON.stringify(id)},`;

/** The key of an operation, and its offsets in the buffer from which it was read. */
export interface Operation {
  collection: string;
  id: string;
  revision: number;
  deleted: boolean;
  start: number;
  end: number;
}

const TAB = 9;
const QUOTE = 34;
const COMMA = 44;
const ZERO = 48;
const NINE = 57;
const BACKSLASH = 92;
const START = '{"n":';
const PREVIOUS = ',"prev":';
const OPERATIONS = "ops";

/** Reads the head of the line that begins at `start`; undefined when it has another form. */
export function readHead(buffer: Buffer, start: number): Line | undefined {
  if (!matchesAt(buffer, start, START)) return undefined;
  const sequence = readDigits(buffer, start + START.length);
  if (!matchesAt(buffer, sequence.end, PREVIOUS))
    return { sequence: sequence.value, previous: sequence.value - 1, body: sequence.end };
  const previous = readDigits(buffer, sequence.end + PREVIOUS.length);
  return { sequence: sequence.value, previous: previous.value, body: previous.end };
}

/** Formats the head of a line. */
export const headText = ({ sequence, previous }: Omit<Line, "body">): string =>
  previous === sequence - 1 ? `${START}${sequence}` : `${START}${sequence}${PREVIOUS}${previous}`;

/** Visits the operations and records of a line in order; the line ends before `end`. */
export function visitOperations(
  buffer: Buffer,
  body: number,
  end: number,
  visit: (operation: Operation) => void,
): void {
  visitTexts(buffer, body, end, (start, close, name, number) => {
    if (name === undefined) visit(readOperation(buffer, start, close));
    else visit({ collection: name, id: sequenceId(number), revision: 1, deleted: false, start, end: close });
  });
}

/** Receives the offsets of an operation, or of a record of the sequence `name` and its number. */
export type TextVisitor = (start: number, end: number, name: string | undefined, number: number) => void;

/** As `visitOperations`, without reading keys. */
export function visitTexts(buffer: Buffer, body: number, end: number, visit: TextVisitor): void {
  for (let at = body; ;) {
    // A comma and a quotation mark come before the name of a member.
    const nameEnd = buffer.indexOf(QUOTE, at + 2);
    // The line ends at its trailer, whose member is a text and no list.
    if (!matchesAt(buffer, nameEnd, '":[')) return;
    const member = buffer.toString("utf8", at + 2, nameEnd);
    const name = member === OPERATIONS ? undefined : member;
    // Only a sequence has a number here; for operations no digit is read.
    const first = readDigits(buffer, nameEnd + 3);
    at = first.end;
    for (let number = first.value; ; number++) {
      if (buffer[at] === COMMA) at++;
      if (buffer[at] !== TAB) break;
      const start = at + 1;
      const close = buffer.indexOf(TAB, start);
      if (close === -1 || close >= end) throw new SyntaxError("an operation has no end");
      visit(start, close, name, number);
      at = close + 1;
    }
    // The closing bracket.
    at++;
  }
}

/** Formats lines in a reused buffer. */
export interface LineWriter {
  readonly bytes: Buffer;
  /** Begins a line. */
  begin(line: Omit<Line, "body">): void;
  /** Begins the records of a sequence, the first of them with this number. */
  sequence(name: string, first: number): void;
  /** Begins the operations. */
  operations(): void;
  /** Adds a record or an operation; returns its offset in `bytes`. */
  add(text: string): number;
  /** As `add`, for the bytes of `from` between `begin` and `end`. */
  addBytes(from: Buffer, begin: number, end: number): number;
  end(): void;
  clear(): void;
}

const INITIAL_BUFFER_BYTES = 64 * 1024;

/** Creates a writer of lines. */
export function createLineWriter(): LineWriter {
  let buffer = Buffer.allocUnsafe(INITIAL_BUFFER_BYTES);
  let length = 0;
  let start = 0;
  let close = "";
  let isFirst = true;

  /** Enlarges the buffer if necessary. A character (UTF-16 code unit) has at most 3 bytes in UTF-8. */
  const makeRoom = (characters: number, bytesEach = 3): void => {
    const needed = length + characters * bytesEach;
    if (needed <= buffer.length) return;
    const larger = Buffer.allocUnsafe(Math.max(buffer.length * 2, needed));
    buffer.copy(larger, 0, 0, length);
    buffer = larger;
  };
  const append = (text: string): void => {
    makeRoom(text.length);
    length += buffer.write(text, length);
  };
  const openMember = (text: string): void => {
    append(`${close}${text}`);
    close = "]";
    isFirst = true;
  };

  /** Returns the offset of the next record or operation. */
  const beginOperation = (): number => {
    if (!isFirst) buffer[length++] = COMMA;
    isFirst = false;
    buffer[length++] = TAB;
    return length;
  };

  return {
    get bytes() {
      return buffer.subarray(0, length);
    },
    begin(line) {
      start = length;
      close = "";
      append(headText(line));
    },
    sequence(name, first) {
      openMember(`,"${name}":[${first}`);
      isFirst = false;
    },
    operations: () => openMember(`,"${OPERATIONS}":[`),
    add(text) {
      // One more character makes room for three bytes: a comma and two tabs.
      makeRoom(text.length + 1);
      const at = beginOperation();
      length += buffer.write(text, length);
      buffer[length++] = TAB;
      return at;
    },
    addBytes(from, begin, end) {
      // Room also for a comma and two tabs.
      makeRoom(end - begin + 3, 1);
      const at = beginOperation();
      length += from.copy(buffer, length, begin, end);
      buffer[length++] = TAB;
      return at;
    },
    end() {
      append(close);
      append(`${makeTrailer(buffer.subarray(start, length))}\n`);
    },
    clear() {
      length = 0;
      // One very long line must not occupy its memory for ever.
      if (buffer.length > INITIAL_BUFFER_BYTES * 16) buffer = Buffer.allocUnsafe(INITIAL_BUFFER_BYTES);
    },
  };
}

/** Reads the key and kind of the operation that begins at `start` and ends before `end`. */
export function readOperation(buffer: Buffer, start: number, end: number): Operation {
  // Between the parts are `["`, `","` and `",`.
  const collectionEnd = findStringEnd(buffer, start + 2);
  const idEnd = collectionEnd === -1 ? -1 : findStringEnd(buffer, collectionEnd + 3);
  if (idEnd === -1) {
    const [collection, id, revision, ...value] = JSON.parse(buffer.toString("utf8", start, end)) as [
      string,
      string,
      number,
    ];
    return { collection, id, revision, deleted: value.length === 0, start, end };
  }
  const revision = readDigits(buffer, idEnd + 2);
  return {
    collection: buffer.toString("utf8", start + 2, collectionEnd),
    id: buffer.toString("utf8", collectionEnd + 3, idEnd),
    revision: revision.value,
    deleted: buffer[revision.end] !== COMMA,
    start,
    end,
  };
}

/** Checks that the operation which ends before `end` is a deletion: only these end with a number right after the id. */
export function isDeletion(buffer: Buffer, end: number): boolean {
  // The last digit, before the closing bracket.
  let at = end - 2;
  while (buffer[at]! >= ZERO && buffer[at]! <= NINE) at--;
  return buffer[at] === COMMA && buffer[at - 1] === QUOTE;
}

/** Returns the end of the string that begins at `start`, or -1 when it has an escape. */
function findStringEnd(buffer: Buffer, start: number): number {
  for (let at = start; at < buffer.length; at++) {
    if (buffer[at] === QUOTE) return at;
    if (buffer[at] === BACKSLASH) return -1;
  }
  return -1;
}

/** Checks that a buffer has an ASCII text at `start`. */
function matchesAt(buffer: Buffer, start: number, text: string): boolean {
  for (let index = 0; index < text.length; index++) if (buffer[start + index] !== text.charCodeAt(index)) return false;
  return true;
}

/** Reads a decimal number, and returns the offset after it. */
function readDigits(buffer: Buffer, start: number): { value: number; end: number } {
  let value = 0;
  let end = start;
  for (; buffer[end]! >= ZERO && buffer[end]! <= NINE; end++) value = value * 10 + buffer[end]! - ZERO;
  return { value, end };
}
