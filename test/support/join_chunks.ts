/** Joins the chunks of a streamed response. */
export async function joinChunks(chunks: AsyncIterable<string>): Promise<string> {
  let text = "";
  for await (const chunk of chunks) text += chunk;
  return text;
}
