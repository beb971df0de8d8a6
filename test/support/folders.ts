/** Temporary folders of a run, and cached folders that later runs use again. */
import { accessSync, chmodSync, constants, mkdtempSync, rmSync, statfsSync } from "node:fs";
import { mkdir, mkdtemp, rename, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

const MEMORY_FOLDER = "/dev/shm";
/** Free space that a run needs: `/dev/shm` of a container often has 64 MB only. */
const MIN_FREE_BYTES = 1e9;

/**
 * Makes the folder for the temporary folders of a run, which is removed when the process exits: in `TMPDIR` if that is
 * set, otherwise in memory if there is space, since no test depends on a disk.
 */
export function makeRunFolder(): string {
  const base = process.env["TMPDIR"] === undefined && hasRoomInMemory() ? MEMORY_FOLDER : tmpdir();
  const folder = mkdtempSync(join(base, "countersign-"));
  // The user that runs Postgres for root must be able to enter it.
  chmodSync(folder, 0o755);
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

function hasRoomInMemory(): boolean {
  try {
    accessSync(MEMORY_FOLDER, constants.W_OK | constants.X_OK);
    const { bavail, bsize } = statfsSync(MEMORY_FOLDER);
    return bavail * bsize > MIN_FREE_BYTES;
  } catch {
    return false;
  }
}

/**
 * Returns a folder that is filled once and cached for later runs. It is filled under a temporary name and then renamed, so
 * that concurrent processes never use an incomplete folder.
 */
export async function cachedFolder(path: string, fill: (folder: string) => Promise<void>): Promise<string> {
  if (await isOwnFolder(path)) return path;
  await mkdir(join(path, ".."), { recursive: true });
  const folder = await mkdtemp(`${path}-`);
  try {
    const filled = join(folder, "filled");
    await mkdir(filled);
    await fill(filled);
    await rename(filled, path).catch(async (error: unknown) => {
      if (!(await isOwnFolder(path))) throw error;
    });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  return path;
}

/** Returns whether a folder exists; throws if it belongs to another user, whose programs are not run. */
async function isOwnFolder(path: string): Promise<boolean> {
  const stats = await stat(path).catch(() => undefined);
  if (stats && stats.uid !== (process.getuid?.() ?? 0)) throw new Error(`${path} belongs to another user; remove it`);
  return stats !== undefined;
}
