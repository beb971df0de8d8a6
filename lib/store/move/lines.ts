/** Bytes as lines. */
import { MoveRejected } from "./move_rejected.ts";

/** The lines of a UTF-8 text, without their ends; `\n` alone ends one. Errors: `MoveRejected` for what is no UTF-8. */
export async function* splitLines(pieces: AsyncIterable<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
  let rest: string[] = [];
  for await (const piece of pieces) {
    const [first, ...others] = decoded(decoder, piece).split("\n");
    rest.push(first!);
    for (const other of others) {
      yield rest.join("");
      rest = [other];
    }
  }
  rest.push(decoded(decoder));
  const last = rest.join("");
  if (last !== "") yield last;
}

function decoded(decoder: TextDecoder, piece?: Uint8Array): string {
  try {
    return decoder.decode(piece, { stream: piece !== undefined });
  } catch (error) {
    throw new MoveRejected("it is not UTF-8: it was changed, or is another file", { cause: error });
  }
}
