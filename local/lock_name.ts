/**
 * Locks a folder by a name in the kernel, where the folder's file system has no sockets. The lock ends with the process, and only
 * processes on this machine see it.
 */
import { stat } from "node:fs/promises";
import { createServer } from "node:net";
import type { AcquireFolder } from "./lock_types.ts";

/** Prefix of names in the kernel: abstract sockets of Linux, named pipes of Windows; other systems have none. */
const PREFIX: Partial<Record<NodeJS.Platform, string>> = {
  linux: "\0countersign-",
  win32: "\\\\.\\pipe\\countersign-",
};

/** Locks the folder by a name made of its device and inode. Errors: on a system without such names. */
export const holdName: AcquireFolder = async (folder) => {
  const prefix = PREFIX[process.platform];
  if (prefix === undefined)
    throw new Error(`${folder}: this file system has no sockets, so nothing can be locked there`);
  const { dev, ino } = await stat(folder, { bigint: true });
  const server = createServer((socket) => socket.destroy());
  try {
    await new Promise<void>((resolve, reject) =>
      server.once("error", reject).listen(`${prefix}${dev}-${ino}`, resolve),
    );
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "EADDRINUSE") return undefined;
    throw error;
  }
  server.unref();
  return () => new Promise((resolve) => server.close(() => resolve()));
};
