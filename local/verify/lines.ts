/** Splits an export into lines, and recognizes files that were damaged on their way here. */
import { isUtf8 } from "node:buffer";

/** The bytes of an export; a chunk need not stay valid after the next one was requested. */
export type Chunks = AsyncIterable<Buffer> | Iterable<Buffer>;

/** Some lines of an export, one character for each byte. */
export interface LineBatch {
  lines: readonly string[];
  /** True when all bytes of these lines are UTF-8. */
  isText: boolean;
  /** State of the last of these lines. */
  lastState: "ended" | "not ended" | "too long";
}

const MAX_LINE_BYTES = 16 * 1024 * 1024;
/** Number of bytes that are returned of a line that is too long. */
const MAX_SHOWN_BYTES = 100;
const NEWLINE = 10;

/** Reads the lines of an export, up to the first that is longer than 16 MiB or has no line end. */
export async function* readLines(chunks: Chunks): AsyncGenerator<LineBatch> {
  let rest: Buffer[] = [];
  let length = 0;
  for await (const chunk of chunks) {
    const begin = chunk.indexOf(NEWLINE) + 1;
    const end = chunk.lastIndexOf(NEWLINE) + 1;
    // The line that this chunk completes, and the complete lines after it.
    const parts = [
      ...(begin > 0 ? [Buffer.concat([...rest, chunk.subarray(0, begin)])] : []),
      ...(end > begin ? [chunk.subarray(begin, end)] : []),
    ];
    for (const bytes of parts) {
      const batch = splitLines(bytes);
      yield batch;
      if (batch.lastState !== "ended") return;
    }
    // A copy, since the chunk may be reused.
    const unfinished = Buffer.from(chunk.subarray(end));
    if (end > 0) [rest, length] = [[], 0];
    rest.push(unfinished);
    length += unfinished.length;
    if (length > MAX_LINE_BYTES)
      return void (yield longLineBatch([], Buffer.concat(rest).toString("latin1", 0, MAX_SHOWN_BYTES)));
  }
  const lastLine = Buffer.concat(rest);
  if (length > 0) yield { lines: [lastLine.toString("latin1")], isText: isUtf8(lastLine), lastState: "not ended" };
}

const longLineBatch = (before: readonly string[], line: string): LineBatch => ({
  lines: [...before, line.slice(0, MAX_SHOWN_BYTES)],
  isText: false,
  lastState: "too long",
});

function splitLines(bytes: Buffer): LineBatch {
  const lines = bytes.toString("latin1").split("\n");
  lines.pop();
  const longIndex = bytes.length > MAX_LINE_BYTES ? lines.findIndex(({ length }) => length > MAX_LINE_BYTES) : -1;
  if (longIndex !== -1) return longLineBatch(lines.slice(0, longIndex), lines[longIndex]!);
  return { lines, isText: isUtf8(bytes), lastState: "ended" };
}

const BYTE_ORDER_MARKS = ["\u00ef\u00bb\u00bf", "\u00fe\u00ff", "\u00ff\u00fe"];
const GZIP = "\u001f\u008b";

/** Explains how a line shows that the file is not as the service sent it; undefined where it may be. */
export function findDamage(line: string, number: number, state: LineBatch["lastState"]): string | undefined {
  if (number === 1 && line.startsWith(GZIP)) return "it is compressed (gzip): unpack it first, for example with gunzip";
  if (number === 1 && BYTE_ORDER_MARKS.some((bytes) => line.startsWith(bytes)))
    return "it begins with a byte order mark, so another program saved it again: use the file as it was downloaded";
  if (line === "") return `line ${number} is empty, and an export has no empty lines: download it again`;
  if (number === 1 && line.startsWith("countersign-certificate/"))
    return "it is the certificate of a change: verify it with certificate before the name of the file";
  if (number === 1 && line.startsWith('{"format":"countersign-export/'))
    return "it is a backup of a store, not an export of its log: restore it, or download the export";
  if (number === 1 && !line.startsWith('{"origin":"'))
    return "it does not begin with an entry of a log: it is an error, a page, or another file that was saved in its place";
  if (state === "not ended")
    return "its last line is not ended, so the file was cut or its last line break removed: download it again";
  if (state === "ended" && line.endsWith("\r"))
    return `line ${number} ends with a carriage return, so line ends were converted: use the file as it was downloaded`;
  return undefined;
}
