/** Where tests keep what they write, and what all test processes of this machine share. */
import { accessSync, constants, statfsSync } from "node:fs";
import { mkdir, mkdtemp, rename, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

const MEMORY = "/dev/shm";
/** A container's is often 64 MB, which the builds and databases of a run would fill. */
const ROOM_BYTES = 1e9;

/** The folder for temporary folders: one in memory where there is one with room, unless `TMPDIR` names another. */
export function fastTmpdir(): string {
  try {
    accessSync(MEMORY, constants.W_OK | constants.X_OK);
    const { bavail, bsize } = statfsSync(MEMORY);
    return process.env["TMPDIR"] || bavail * bsize < ROOM_BYTES ? tmpdir() : MEMORY;
  } catch {
    return tmpdir();
  }
}

/**
 * A folder that is filled once and kept for later runs. It is filled under another name and moved to its place in one
 * step, so that two processes that fill it at once do not use what is half written.
 */
export async function keptFolder(
  name: string,
  fill: (folder: string) => Promise<void>,
  base = tmpdir(),
): Promise<string> {
  const uid = process.getuid?.() ?? 0;
  const place = join(base, `countersign-${name}-${uid}`);
  const mine = () =>
    stat(place).then(
      (found) => found.uid === uid || Promise.reject(new Error(`${place} belongs to somebody else; remove it`)),
      () => false,
    );
  if (await mine()) return place;
  const folder = await mkdtemp(join(base, "countersign-filling-"));
  try {
    const filled = join(folder, "filled");
    await mkdir(filled, { mode: 0o755 });
    await fill(filled);
    await rename(filled, place).catch(async (error: unknown) => {
      if (!(await mine())) throw error;
    });
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
  return place;
}
