type Reader = ReadableStreamDefaultReader<Uint8Array>;

/** Reads a body as text; `undefined` when it has more than `limit` bytes. `onExceeded` then disposes of the rest. */
export async function readCappedText(
  { body }: Request | Response,
  limit: number,
  onExceeded: (reader: Reader) => unknown = (reader) => reader.cancel(),
): Promise<string | undefined> {
  const reader = body?.getReader();
  const decoder = new TextDecoder();
  let text = "";
  let size = 0;
  for (;;) {
    const { done, value } = (await reader?.read()) ?? { done: true, value: undefined };
    if (done) return text + decoder.decode();
    size += value.length;
    if (size > limit) {
      await onExceeded(reader!);
      return undefined;
    }
    text += decoder.decode(value, { stream: true });
  }
}
