/** Reads all records of a file store from its files, also while another process writes to them. */
import { dumpVersions } from "../../lib/store/engine/dump.ts";
import { MOVE_STATE_KEY, readMoveState } from "../../lib/store/engine/move_state.ts";
import type { MoveState } from "../../lib/store/bulk_access.ts";
import type { Version } from "../../lib/store/version.ts";
import { type Files, makeListing, type Paths } from "./files.ts";
import { newReader } from "./reader.ts";
import { closeAll, examine, type ExaminedStore, type RecoverParts } from "./recover.ts";

/** Dependencies of reading a store's files. */
export type StoreFiles = Pick<RecoverParts, "files" | "paths" | "sequences">;

const TRIES = 10;

/** Yields all records as of one commit; later writes are not among them. */
export async function* dumpFiles(parts: StoreFiles): AsyncGenerator<readonly Version[]> {
  const { files, sequences } = parts;
  const { catalog, segments } = await examineUnchanged(parts);
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

/** Reads the state of a move of the store from its files. */
export async function readMoveStateFromFiles(parts: StoreFiles): Promise<MoveState | undefined> {
  const { files, sequences } = parts;
  const { catalog, segments } = await examineUnchanged(parts);
  try {
    const location = catalog.locate(MOVE_STATE_KEY.collection, MOVE_STATE_KEY.id);
    if (location === undefined) return undefined;
    const reader = newReader(files, (file) => segments.get(file)!, sequences);
    return readMoveState(await reader.read(MOVE_STATE_KEY.collection, MOVE_STATE_KEY.id, location));
  } finally {
    await closeAll(files, segments);
  }
}

/**
 * Opens and reads all files as of one moment; later replacements do not matter, since the files are open. If one was replaced
 * during the read, or the read failed, all are opened again, up to `TRIES` times; then the error of the last try is thrown, such as
 * `StoreDamaged`.
 */
async function examineUnchanged({ files, paths, sequences }: StoreFiles): Promise<ExaminedStore> {
  // Opens files only for reading, and creates no folder.
  const reading: Files = { ...files, open: (path) => files.open(path, "read"), makeFolder: async () => undefined };
  const rejectCall = (): never => {
    throw new Error("a store that is only read needs no clock and no id");
  };
  for (let tries = 1; ; tries++) {
    const parts = { files: reading, paths, sequences, readState: async () => null, now: rejectCall, newId: rejectCall };
    try {
      const examined = await examine(parts);
      // The active file is opened last, and `examine` requires that it continues the sealed ones.
      if (examined.sealed.every(({ path, inode }) => files.stat(path)?.inode === inode)) return examined;
      await closeAll(files, examined.segments);
      if (tries === TRIES) throw new Error(`${paths.journal} changed during each of ${TRIES} tries to read it`);
    } catch (error) {
      if (tries === TRIES) throw error;
    }
  }
}

/** Removes all files of a store that no process has open, also those that a crash left. */
export async function removeStore(files: Files, paths: Paths): Promise<void> {
  const { segments, torn, leftovers } = makeListing(paths, await files.names(paths.folder));
  // The state file is removed first, and the journal's first file last: the rest of an interrupted removal cannot be opened as a store.
  const removedPaths = [
    paths.state,
    paths.catalog,
    ...leftovers,
    ...torn.map((number) => paths.torn(number)),
    paths.journal,
    ...segments.reverse().map((number) => paths.segment(number)),
  ];
  for (const path of removedPaths) await files.remove(path);
  await files.syncFolder(paths.folder);
}

/** Checks that there is a store at a path. While the active file is replaced, only sealed ones exist, the first with number 1. */
export const storeExists = (files: Files, paths: Paths): boolean =>
  files.stat(paths.journal) !== undefined || files.stat(paths.segment(1)) !== undefined;
