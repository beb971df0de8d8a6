/** What is made piece by piece as a stream of bytes; a reader that goes away ends it. */
export function streamed(pieces: AsyncGenerator<string | Uint8Array, unknown>): ReadableStream<Uint8Array> {
  const encoder = new TextEncoder();
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await pieces.next();
      if (done) controller.close();
      else controller.enqueue(typeof value === "string" ? encoder.encode(value) : (value as Uint8Array));
    },
    async cancel() {
      await pieces.return(undefined);
    },
  });
}
