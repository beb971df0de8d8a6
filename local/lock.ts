/** Locks a state file for one process. The lock ends with the process, also after SIGKILL. */
import { readlink, realpath } from "node:fs/promises";
import { basename, dirname, join, resolve } from "node:path";
import { holdFolder } from "./lock_folder.ts";
import { holdName } from "./lock_name.ts";
import type { OnConnection, AcquireFolder } from "./lock_types.ts";
import { makeFolder } from "./make_folder.ts";

/** A state file owned by this process. */
export interface Lock {
  /** The path to open: the state file with its symbolic links resolved. */
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

/** Error codes of bind where a path cannot be a socket: on file systems of some virtual machines' shared folders, and on Windows. */
const NO_SOCKET_CODES = [
  "EPERM",
  "ENOTSUP",
  "EOPNOTSUPP",
  "ENOSYS",
  "EINVAL",
  // On Windows, Node listens only on named pipes, and reports EACCES for the path of a socket.
  ...(process.platform === "win32" ? ["EACCES"] : []),
];

/**
 * Locks the state file; creates its folder if it is missing. Errors: `AlreadyRunning` when another process owns it. The lock is a
 * folder of sockets next to the file, so it also excludes containers that share the folder; `onConnection` handles connections to
 * these sockets. On a file system without sockets the lock is a name that only this machine knows, and `onConnection` is never
 * called.
 */
export async function acquireLock(
  statePath: string,
  acquireFolder: AcquireFolder = holdFolder,
  onConnection?: OnConnection,
): Promise<Lock> {
  const path = await resolveLinks(statePath);
  const folder = `${path}.lock`;
  await makeFolder(folder);
  const release = await acquireFolder(folder, onConnection).catch((error: NodeJS.ErrnoException) => {
    if (NO_SOCKET_CODES.includes(error.code ?? "")) return holdName(folder);
    throw error;
  });
  if (!release) throw new AlreadyRunning(path);
  return { path, release };
}

/** Returns the folder of the lock on a state file. */
export const lockFolder = async (statePath: string): Promise<string> => `${await resolveLinks(statePath)}.lock`;

/** Resolves links, so that all names of a file give one path, also before the file exists. Creates the folder if it is missing. */
async function resolveLinks(path: string): Promise<string> {
  const folder = dirname(resolve(path));
  await makeFolder(folder);
  const name = join(await realpath(folder), basename(path));
  try {
    return await realpath(name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    // Undefined if the name does not exist, and otherwise the target of a link to a file that does not exist yet.
    const target = await readlink(name).catch(() => undefined);
    return target === undefined ? name : resolveLinks(resolve(dirname(name), target));
  }
}
