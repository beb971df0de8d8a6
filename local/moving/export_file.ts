/** Writes and reads the file of an export or a backup; it gets its name when it is complete. */
import { createReadStream } from "node:fs";
import { open, rename, rm } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { splitLines } from "../../lib/store/move/lines.ts";
import { MoveRejected } from "../../lib/store/move/move_rejected.ts";
import { nodeFiles } from "../store/files.ts";

/** The file contains every content and note, so only its owner may read it. */
const OWN_FILE = 0o600;

/** Writes the chunks of an export, durably; returns their result. Errors: `MoveRejected` where the file exists. */
export async function writeExport<T>(path: string, chunks: () => AsyncGenerator<string, T>): Promise<T> {
  if (nodeFiles.stat(path)) throw new MoveRejected(`${path} exists already: name another file`);
  const temporary = `${path}.part`;
  const file = await open(temporary, "w", OWN_FILE);
  try {
    // A file that an interrupted export left keeps its mode when it is opened.
    await file.chmod(OWN_FILE);
    const source = chunks();
    let chunk = await source.next();
    try {
      for (; !chunk.done; chunk = await source.next()) await file.writeFile(chunk.value);
    } finally {
      // After a failed write, this releases the store.
      await source.return(undefined as T);
    }
    await file.sync();
    await rename(temporary, path);
    await nodeFiles.syncFolder(dirname(resolve(path)));
    return chunk.value;
  } catch (error) {
    await rm(temporary, { force: true });
    throw error;
  } finally {
    await file.close();
  }
}

/** Returns a reader of a file's lines; each call begins at the first line. */
export const readLines = (path: string) => (): AsyncIterable<string> => splitLines(createReadStream(path));
