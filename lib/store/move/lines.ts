/** Splits a byte stream into lines. */
import { MoveRejected } from "./move_rejected.ts";

/** Yields the lines of a UTF-8 text, without their line ends (`\n`). Errors: `MoveRejected` for bytes that are not UTF-8. */
export async function* splitLines(chunks: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  let unfinishedLine: string[] = [];
  for await (const chunk of chunks) {
    const [first, ...others] = decode(decoder, chunk).split("\n");
    unfinishedLine.push(first!);
    for (const other of others) {
      yield unfinishedLine.join("");
      unfinishedLine = [other];
    }
  }
  unfinishedLine.push(decode(decoder));
  const last = unfinishedLine.join("");
  if (last !== "") yield last;
}

function decode(decoder: TextDecoder, chunk?: Uint8Array): string {
  try {
    return decoder.decode(chunk, { stream: chunk !== undefined });
  } catch (error) {
    throw new MoveRejected("it is not UTF-8: it was changed, or is another file", { cause: error });
  }
}
