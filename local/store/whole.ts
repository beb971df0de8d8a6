/** All of a file store, read from its files alone: also while another process writes to them. */
import { dumpVersions } from "../../lib/store/engine/dump.ts";
import { MARK_KEY, readMark } from "../../lib/store/engine/mark.ts";
import type { Mark } from "../../lib/store/whole.ts";
import type { Version } from "../../lib/store/version.ts";
import { type Files, makeListing, type Paths } from "./files.ts";
import { newReader } from "./reader.ts";
import { closeAll, examine, type Found, type RecoverParts } from "./recover.ts";

/** Dependencies of reading a store's files. */
export type FilesOfStore = Pick<RecoverParts, "files" | "paths" | "sequences">;

const TRIES = 10;

/** Every record up to one commit: what is written after this began is not among them. */
export async function* dumpFiles(parts: FilesOfStore): AsyncGenerator<readonly Version[]> {
  const { files, sequences } = parts;
  const { catalog, segments } = await standing(parts);
  try {
    const reader = newReader(files, (file) => segments.get(file)!, sequences);
    yield* dumpVersions({
      collections: () =>
        catalog
          .names()
          .sort()
          .map((name) => ({ name, floor: catalog.floor(name) })),
      list: (collection, options) => reader.readAll(collection, catalog.page(collection, options)),
    });
  } finally {
    await closeAll(files, segments);
  }
}

/** The mark that the files hold. */
export async function markInFiles(parts: FilesOfStore): Promise<Mark | undefined> {
  const { files, sequences } = parts;
  const { catalog, segments } = await standing(parts);
  try {
    const place = catalog.place(MARK_KEY.collection, MARK_KEY.id);
    if (place === undefined) return undefined;
    const reader = newReader(files, (file) => segments.get(file)!, sequences);
    return readMark(await reader.read(MARK_KEY.collection, MARK_KEY.id, place));
  } finally {
    await closeAll(files, segments);
  }
}

/**
 * The files as they stand at one moment, open, so that what replaces them later does not matter. What is replaced while they are
 * opened may not fit the others: then they are opened again. Errors: `StoreDamaged`.
 */
async function standing({ files, paths, sequences }: FilesOfStore): Promise<Found> {
  const reading: Files = { ...files, open: (path) => files.open(path, "read"), makeFolder: async () => undefined };
  const unknown = (): never => {
    throw new Error("a store that is only read gets no id");
  };
  for (let tries = 1; ; tries++) {
    const parts = { files: reading, paths, sequences, readState: async () => null, now: unknown, newId: unknown };
    try {
      const found = await examine(parts);
      if (found.sealed.every(({ path, inode }) => files.seen(path)?.inode === inode)) return found;
      await closeAll(files, found.segments);
      if (tries === TRIES) throw new Error(`${paths.journal} changed during each of ${TRIES} tries to read it`);
    } catch (error) {
      if (tries === TRIES) throw error;
    }
  }
}

/** Removes the files of a store that nobody has open, those that a crash left with them. */
export async function removeStore(files: Files, paths: Paths): Promise<void> {
  const { segments, torn, leftovers } = makeListing(paths, await files.names(paths.folder));
  // The state file goes first, and the journal's first file last: what is left of a broken removal is opened by nobody.
  const gone = [
    paths.state,
    paths.catalog,
    ...leftovers,
    ...torn.map((number) => paths.torn(number)),
    paths.journal,
    ...segments.reverse().map((number) => paths.segment(number)),
  ];
  for (const path of gone) await files.remove(path);
  await files.syncFolder(paths.folder);
}

/** Returns whether there is a store at a path. */
export const isThere = (files: Files, paths: Paths): boolean =>
  files.seen(paths.journal) !== undefined || files.seen(paths.segment(1)) !== undefined;
