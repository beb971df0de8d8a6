/** The file of an export or a backup: there under its name when it is whole, and not before. */
import { createReadStream } from "node:fs";
import { open, rename, rm } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { linesOf } from "../../lib/store/move/lines.ts";
import { MoveRefused } from "../../lib/store/move/refused_move.ts";
import { nodeFiles } from "../store/files.ts";

/** It holds every content and note: for its owner alone. */
const OWN_FILE = 0o600;

/** Writes what `pieces` gives, which may ask for what was given so far to be made durable. Errors: `MoveRefused` where the file is there. */
export async function writeExport<T>(
  path: string,
  pieces: (durable: () => Promise<void>) => AsyncGenerator<string, T>,
): Promise<T> {
  if (nodeFiles.seen(path)) throw new MoveRefused(`${path} is there already: name a file that is not`);
  const aside = `${path}.part`;
  const file = await open(aside, "w", OWN_FILE);
  try {
    await file.chmod(OWN_FILE);
    const giving = pieces(() => file.sync());
    let given = await giving.next();
    try {
      for (; !given.done; given = await giving.next()) await file.writeFile(given.value);
    } finally {
      // Whoever ends early lets go of the store.
      await giving.return(undefined as T);
    }
    await file.sync();
    await rename(aside, path);
    await nodeFiles.syncFolder(dirname(resolve(path)));
    return given.value;
  } catch (error) {
    await rm(aside, { force: true });
    throw error;
  } finally {
    await file.close();
  }
}

/** The lines of a file, each time from its beginning. */
export const readLines = (path: string) => (): AsyncIterable<string> => linesOf(createReadStream(path));
