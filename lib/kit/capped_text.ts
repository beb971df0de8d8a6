/** An answer's body as text; `undefined` when it has more bytes than `limit`, and then the rest is not read. */
export async function cappedText({ body }: Response, limit: number): Promise<string | undefined> {
  const reader = body?.getReader();
  const decoder = new TextDecoder();
  let text = "";
  let size = 0;
  for (;;) {
    const { done, value } = (await reader?.read()) ?? { done: true, value: undefined };
    if (done) return text + decoder.decode();
    size += value.length;
    if (size > limit) {
      await reader!.cancel();
      return undefined;
    }
    text += decoder.decode(value, { stream: true });
  }
}
