/** One process owns a state file: the lock dies with its process, also after SIGKILL. */
import { readlink, realpath } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { holdFolder } from "./lock_folder.ts";
import { holdName } from "./lock_name.ts";
import type { Asked, Hold } from "./lock_hold.ts";
import { makeFolder } from "./make_folder.ts";

/** A state file owned by this process. */
export interface Lock {
  /** The state file with its symbolic links resolved: what must be opened. */
  path: string;
  release(): Promise<void>;
}

/** Another process owns the state file. */
export class AlreadyRunning extends Error {
  override readonly name = "AlreadyRunning";
  constructor(path: string) {
    super(`${path} is in use by another ui_server; stop that one, or give this one another --state`);
  }
}

/** Error codes of bind on a file system that has no sockets (network and shared folders of some virtual machines). */
const NO_SOCKETS = [
  "EPERM",
  "ENOTSUP",
  "EOPNOTSUPP",
  "ENOSYS",
  "EINVAL",
  ...(process.platform === "win32" ? ["EACCES"] : []),
];

/**
 * Owns the state file, whose folder is made; throws `AlreadyRunning` when another process does. The lock is a folder of
 * sockets next to the file, and so holds wherever the file is shared; where there can be no such sockets, a name that
 * holds on this machine only. `asked` meets those who talk to the owner; by such a name alone it cannot be reached.
 */
export async function acquireLock(statePath: string, holdFile: Hold = holdFolder, asked?: Asked): Promise<Lock> {
  const path = await resolveLinks(statePath);
  const folder = `${path}.lock`;
  await makeFolder(folder);
  const release = await holdFile(folder, asked).catch((error: NodeJS.ErrnoException) => {
    if (NO_SOCKETS.includes(error.code ?? "")) return holdName(folder);
    throw error;
  });
  if (!release) throw new AlreadyRunning(path);
  return { path, release };
}

/** The folder of the lock on a state file. */
export const lockFolder = async (statePath: string): Promise<string> => `${await resolveLinks(statePath)}.lock`;

/** Every name of one file becomes the same path, also before the file is there. */
async function resolveLinks(path: string): Promise<string> {
  const folder = dirname(resolve(path));
  await makeFolder(folder);
  const name = join(await realpath(folder), basename(path));
  try {
    return await realpath(name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    const target = await readlink(name).catch(() => undefined);
    return target === undefined ? name : resolveLinks(resolve(dirname(name), target));
  }
}
