/** The lines of an export, and what the way here may have done to them. */
import { isUtf8 } from "node:buffer";

/** An export's bytes; a piece need not outlive the next one. */
export type Pieces = AsyncIterable<Buffer> | Iterable<Buffer>;

/** Lines one after another, one character a byte. */
export interface Lines {
  lines: readonly string[];
  /** True when all of it is UTF-8. */
  isText: boolean;
  /** State of the last line. */
  last: "ended" | "not ended" | "too long";
}

const MAX_LINE_BYTES = 16 * 1024 * 1024;
/** Bytes that are returned of a line that is too long. */
const BEGINNING_BYTES = 100;
const NEWLINE = 10;

/** Reads the lines of an export; one that is longer than 16 MiB, or not ended, is the last. */
export async function* readLines(pieces: Pieces): AsyncGenerator<Lines> {
  let rest: Buffer[] = [];
  let length = 0;
  for await (const piece of pieces) {
    const begin = piece.indexOf(NEWLINE) + 1;
    const end = piece.lastIndexOf(NEWLINE) + 1;
    const parts = [
      ...(begin > 0 ? [Buffer.concat([...rest, piece.subarray(0, begin)])] : []),
      ...(end > begin ? [piece.subarray(begin, end)] : []),
    ];
    for (const bytes of parts) {
      const batch = batchOf(bytes);
      yield batch;
      if (batch.last !== "ended") return;
    }
    const left = Buffer.from(piece.subarray(end));
    if (end > 0) [rest, length] = [[], 0];
    rest.push(left);
    length += left.length;
    if (length > MAX_LINE_BYTES)
      return void (yield tooLong([], Buffer.concat(rest).toString("latin1", 0, BEGINNING_BYTES)));
  }
  const last = Buffer.concat(rest);
  if (length > 0) yield { lines: [last.toString("latin1")], isText: isUtf8(last), last: "not ended" };
}

const tooLong = (before: readonly string[], line: string): Lines => ({
  lines: [...before, line.slice(0, BEGINNING_BYTES)],
  isText: false,
  last: "too long",
});

function batchOf(bytes: Buffer): Lines {
  const lines = bytes.toString("latin1").split("\n");
  lines.pop();
  const long = bytes.length > MAX_LINE_BYTES ? lines.findIndex(({ length }) => length > MAX_LINE_BYTES) : -1;
  if (long !== -1) return tooLong(lines.slice(0, long), lines[long]!);
  return { lines, isText: isUtf8(bytes), last: "ended" };
}

const BYTE_ORDER_MARKS = ["\u00ef\u00bb\u00bf", "\u00fe\u00ff", "\u00ff\u00fe"];
const GZIP = "\u001f\u008b";

/** Explains why a line shows that the file is not what the service sent; undefined where it may be. */
export function whyDamaged(line: string, number: number, state: Lines["last"]): string | undefined {
  if (number === 1 && line.startsWith(GZIP)) return "it is compressed (gzip): unpack it first, for example with gunzip";
  if (number === 1 && BYTE_ORDER_MARKS.some((mark) => line.startsWith(mark)))
    return "it begins with a byte order mark, so another program saved it again: use the file as it was downloaded";
  if (line === "") return `line ${number} is empty, and an export has no empty lines: download it again`;
  if (number === 1 && !line.startsWith('{"origin":"'))
    return "it does not begin with an entry of a log: it is an error, a page, or another file that was saved in its place";
  if (state === "not ended")
    return "its last line is not ended, so the file was cut or its last line break removed: download it again";
  if (state === "ended" && line.endsWith("\r"))
    return `line ${number} ends with a carriage return, so line ends were converted: use the file as it was downloaded`;
  return undefined;
}
