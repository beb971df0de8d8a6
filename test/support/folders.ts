/** Folders of test output, and of files made once for all runs. */
import { accessSync, chmodSync, constants, mkdtempSync, rmSync, statfsSync } from "node:fs";
import { mkdir, mkdtemp, rename, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

const MEMORY = "/dev/shm";
/** A container's is often 64 MB, which the builds and databases of a run would fill. */
const ROOM_BYTES = 1e9;

/**
 * Makes the folder that holds the temporary folders of a run, and goes with the process: in memory where there is room,
 * for no test here asks what a disk does, unless `TMPDIR` says where.
 */
export function makeRunFolder(): string {
  const base = process.env["TMPDIR"] === undefined && hasRoomInMemory() ? MEMORY : tmpdir();
  const folder = mkdtempSync(join(base, "countersign-"));
  // Who runs Postgres for root must be able to pass through.
  chmodSync(folder, 0o755);
  process.once("exit", () => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

function hasRoomInMemory(): boolean {
  try {
    accessSync(MEMORY, constants.W_OK | constants.X_OK);
    const { bavail, bsize } = statfsSync(MEMORY);
    return bavail * bsize > ROOM_BYTES;
  } catch {
    return false;
  }
}

/**
 * A folder that is filled once and kept for later runs. It is filled under another name and moved to its place in one
 * step, so that two processes that fill it at once do not use what is half written.
 */
export async function keptFolder(place: string, fill: (folder: string) => Promise<void>): Promise<string> {
  if (await isMine(place)) return place;
  await mkdir(join(place, ".."), { recursive: true });
  const folder = await mkdtemp(`${place}-`);
  try {
    const filled = join(folder, "filled");
    await mkdir(filled);
    await fill(filled);
    await rename(filled, place).catch(async (error: unknown) => {
      if (!(await isMine(place))) throw error;
    });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  return place;
}

/** Returns whether a folder is there; what another user has put there is not run. */
async function isMine(place: string): Promise<boolean> {
  const found = await stat(place).catch(() => undefined);
  if (found && found.uid !== (process.getuid?.() ?? 0)) throw new Error(`${place} belongs to another user; remove it`);
  return found !== undefined;
}
