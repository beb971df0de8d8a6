/** Reads a stream of text chunks to its end, and returns them joined. */
export async function joinChunks(chunks: AsyncIterable<string>): Promise<string> {
  let text = "";
  for await (const chunk of chunks) text += chunk;
  return text;
}
