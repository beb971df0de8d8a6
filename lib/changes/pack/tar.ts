/** Writes files as a POSIX ustar archive, with one file in memory at a time. */

/** A file of text. Its name has at most 100 characters of ASCII. */
export interface PackFile {
  name: string;
  text: string;
}

const BLOCK_SIZE = 512;

/** Yields the archive file by file; `mtime` in milliseconds since the epoch. */
export async function* writeTar(files: AsyncIterable<PackFile>, mtime: number): AsyncGenerator<Uint8Array, undefined> {
  const encoder = new TextEncoder();
  for await (const { name, text } of files) {
    const content = encoder.encode(text);
    const file = new Uint8Array(BLOCK_SIZE * (1 + Math.ceil(content.length / BLOCK_SIZE)));
    file.set(createHeader(name, content.length, mtime));
    file.set(content, BLOCK_SIZE);
    yield file;
  }
  // Two empty blocks end an archive.
  yield new Uint8Array(2 * BLOCK_SIZE);
  return undefined;
}

function createHeader(name: string, size: number, mtime: number): Uint8Array {
  const formatOctal = (value: number, digits: number): string => `${value.toString(8).padStart(digits, "0")}\0`;
  const header = new Uint8Array(BLOCK_SIZE);
  const write = (offset: number, text: string): void =>
    void new TextEncoder().encodeInto(text, header.subarray(offset));
  write(0, name);
  write(100, formatOctal(0o644, 7)); // mode
  write(108, formatOctal(0, 7)); // user
  write(116, formatOctal(0, 7)); // group
  write(124, formatOctal(size, 11));
  write(136, formatOctal(Math.floor(mtime / 1000), 11));
  write(148, " ".repeat(8)); // in the checksum, its own field counts as blanks
  write(156, "0"); // a regular file
  write(257, "ustar\0"); // the format
  write(263, "00"); // and its version
  const checksum = header.reduce((sum, byte) => sum + byte, 0);
  write(148, `${checksum.toString(8).padStart(6, "0")}\0 `);
  return header;
}
