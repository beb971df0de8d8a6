/** Holds a folder by a name that the kernel keeps: gone with its process, but known within one machine only. */
import { stat } from "node:fs/promises";
import { createServer } from "node:net";
import type { Hold } from "./lock_hold.ts";

/** Prefix of such names: Linux's abstract sockets, Windows' named pipes; there is nothing like it elsewhere. */
const PREFIX: Partial<Record<NodeJS.Platform, string>> = {
  linux: "\0countersign-",
  win32: "\\\\.\\pipe\\countersign-",
};

/** Holds the folder under its device and inode; rejects on a system that has no such names. */
export const holdName: Hold = async (folder) => {
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
