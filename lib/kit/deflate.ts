/** Compresses text with raw deflate (RFC 1951), which every platform has. */

const pipeThrough = async (bytes: Uint8Array<ArrayBuffer>, through: CompressionStream | DecompressionStream) =>
  new Response(new Blob([bytes]).stream().pipeThrough(through));

/** Deflates a text in UTF-8. */
export async function deflate(text: string): Promise<Uint8Array<ArrayBuffer>> {
  const response = await pipeThrough(new TextEncoder().encode(text), new CompressionStream("deflate-raw"));
  return new Uint8Array(await response.arrayBuffer());
}

/** Inflates to text. Errors: `TypeError` for bytes that are not deflated. */
export const inflate = async (bytes: Uint8Array<ArrayBuffer>): Promise<string> =>
  (await pipeThrough(bytes, new DecompressionStream("deflate-raw"))).text();
