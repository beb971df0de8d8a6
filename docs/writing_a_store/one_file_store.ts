// one_file_store.ts
import { open, readFile, rename } from "node:fs/promises";
import { dirname } from "node:path";
import { makeReads, serial, type Store, StoreUnavailable, type Version } from "countersign/stores/engine";
import { Records } from "./records.js";

/** Opens the store in a file, which is made by the first commit. One process has it open at a time. */
export async function oneFileStore(path: string): Promise<Store> {
  const text = await readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return undefined;
    throw error;
  });
  const records = new Records(text);
  let lost: StoreUnavailable | undefined;
  let written: Promise<unknown> = Promise.resolve();

  /** Resolves when all that was kept so far is durable. */
  const durable = async (): Promise<void> => {
    await written;
    if (lost) throw lost;
  };
  const persist = (writes: readonly Version[]): Promise<void> => {
    records.keep(writes);
    if (writes.length > 0)
      written = written
        .then(() => replaceFile(path, records.text()))
        .catch((cause: unknown) => {
          lost = new StoreUnavailable(`${path} cannot be written`, { cause });
        });
    return durable();
  };
  const shown = async <T>(found: T): Promise<T> => {
    await durable();
    return found;
  };

  return {
    ...makeReads({
      versions: (keys) => shown(records.versions(keys)),
      list: (collection, options) => shown(records.list(collection, options)),
    }),
    ...serial(records, { persist, findWriteError: () => lost }),
  };
}

/** Replaces the file: after a power cut it is the old or the new one, and the rename is on disk before this resolves. */
async function replaceFile(path: string, text: string): Promise<void> {
  const file = await open(`${path}.new`, "w");
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
  await rename(`${path}.new`, path);
  const folder = await open(dirname(path));
  try {
    await folder.sync();
  } finally {
    await folder.close();
  }
}
