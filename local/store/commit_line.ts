/**
 * Reads a commit's line without parsing the values in it:
 * `{"n":7,"prev":5,"ops":[⇥["audit","…",1,{…}]⇥,⇥["live","…",1]⇥],"crc":"…"}`.
 * The tabs are raw: JSON ignores them here and never has them within a string, so an operation ends at the next one.
 * `prev` is the commit before, named only where compaction took out what lay between.
 */

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
