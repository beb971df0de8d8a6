/** The file-system calls of the file store, which tests replace to inject faults, and the names of its files. */
import * as fs from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { promisify } from "node:util";

/** Modes in which a file is opened; `create` also empties an existing file. */
export type OpenMode = "read" | "write" | "create";

/** File-system calls. Errors are Node's own, with their `code`. */
export interface Files {
  /** Makes a folder and its missing parents; returns the topmost one that was made, if any. */
  makeFolder(path: string): Promise<string | undefined>;
  names(folder: string): Promise<string[]>;
  open(path: string, mode: OpenMode): Promise<number>;
  size(fd: number): Promise<number>;
  /** Returns the inode number of an open file. */
  inode(fd: number): Promise<number>;
  /** Returns the file at a path, synchronously; undefined where there is none. */
  stat(path: string): { inode: number; size: number } | undefined;
  /** Appends a zero byte to a file, even while another process writes to it, which then finds out that it lost the file. */
  lengthen(path: string): Promise<void>;
  /** Reads at `position` into the start of `buffer`; returns the number of bytes read, 0 at the end. */
  read(fd: number, buffer: Buffer, length: number, position: number): Promise<number>;
  /** As `read`, synchronously. */
  readNow(fd: number, buffer: Buffer, length: number, position: number): number;
  /** Writes at `position`; returns the number of bytes written, which may be less than all. */
  write(fd: number, bytes: Buffer, position: number): Promise<number>;
  /** As `write`, synchronously. */
  writeNow(fd: number, bytes: Buffer, position: number): number;
  /** Makes the file's content durable (fdatasync). */
  sync(fd: number): Promise<void>;
  truncate(fd: number, size: number): Promise<void>;
  close(fd: number): Promise<void>;
  rename(from: string, to: string): Promise<void>;
  /** Removes a file, if it exists. */
  remove(path: string): Promise<void>;
  /** Makes the names in a folder durable. */
  syncFolder(path: string): Promise<void>;
  /** Bytes that this user can still write to the disk of a folder. */
  freeBytes(folder: string): Promise<number>;
}

const FLAGS: Record<OpenMode, string> = { read: "r", write: "r+", create: "w+" };
/** File mode for the service's own user only: the files contain chats and notes. */
const OWN_FILE = 0o600;
const OWN_FOLDER = 0o700;

// Calls with descriptors: each call of the promise API needs a FileHandle and more turns of the event loop.
const open = promisify(fs.open);
const close = promisify(fs.close);
const fchmod = promisify(fs.fchmod);
const fsync = promisify(fs.fsync);
const fstat = promisify(fs.fstat);

const ZERO = Buffer.alloc(1);

/** The real file system. */
export const nodeFiles: Files = {
  makeFolder: (path) => fs.promises.mkdir(path, { recursive: true, mode: OWN_FOLDER }),
  names: (folder) => fs.promises.readdir(folder),
  async open(path, mode) {
    const fd = await open(path, FLAGS[mode], OWN_FILE);
    // A restored copy may be readable by everybody. The mode of another user's file cannot be changed.
    if (mode === "write") await fchmod(fd, OWN_FILE).catch(() => undefined);
    return fd;
  },
  size: async (fd) => (await fstat(fd)).size,
  inode: async (fd) => (await fstat(fd)).ino,
  stat(path) {
    const stats = fs.statSync(path, { throwIfNoEntry: false });
    return stats && { inode: stats.ino, size: stats.size };
  },
  async lengthen(path) {
    const fd = await open(path, fs.constants.O_WRONLY | fs.constants.O_APPEND);
    try {
      fs.writeSync(fd, ZERO);
    } finally {
      await close(fd);
    }
  },
  read: (fd, buffer, length, position) =>
    new Promise((resolve, reject) =>
      fs.read(fd, buffer, 0, length, position, (error, bytesRead) => (error ? reject(error) : resolve(bytesRead))),
    ),
  readNow: (fd, buffer, length, position) => fs.readSync(fd, buffer, 0, length, position),
  write: (fd, bytes, position) =>
    new Promise((resolve, reject) =>
      fs.write(fd, bytes, 0, bytes.length, position, (error, written) => (error ? reject(error) : resolve(written))),
    ),
  writeNow: (fd, bytes, position) => fs.writeSync(fd, bytes, 0, bytes.length, position),
  sync: promisify(fs.fdatasync),
  truncate: promisify(fs.ftruncate),
  close,
  rename: (from, to) => fs.promises.rename(from, to),
  remove: (path) => fs.promises.rm(path, { force: true }),
  async syncFolder(path) {
    const fd = await open(path, "r");
    try {
      await fsync(fd);
    } finally {
      await close(fd);
    }
  },
  async freeBytes(folder) {
    const { bavail, bsize } = await fs.promises.statfs(folder);
    return bavail * bsize;
  },
};

/** Writes all bytes, with as many calls as necessary. */
export async function writeAll(files: Files, fd: number, bytes: Buffer, position: number): Promise<void> {
  for (let done = 0; done < bytes.length;)
    done += requireProgress(await files.write(fd, done === 0 ? bytes : bytes.subarray(done), position + done));
}

/** As `writeAll`, synchronously. */
export function writeAllNow(files: Files, fd: number, bytes: Buffer, position: number): void {
  for (let done = 0; done < bytes.length;)
    done += requireProgress(files.writeNow(fd, done === 0 ? bytes : bytes.subarray(done), position + done));
}

function requireProgress(written: number): number {
  if (written === 0) throw new Error("the file system wrote nothing and gave no reason");
  return written;
}

/** Reads `length` bytes at `position`, fewer only at the end of the file. */
export function readBytes(files: Files, fd: number, length: number, position: number): Buffer {
  const bytes = Buffer.alloc(length);
  let done = 0;
  while (done < length) {
    const bytesRead = files.readNow(fd, bytes.subarray(done), length - done, position + done);
    if (bytesRead === 0) break;
    done += bytesRead;
  }
  return bytes.subarray(0, done);
}

/** Reads a file; undefined when there is none. */
export async function readFile(files: Files, path: string): Promise<Buffer | undefined> {
  const fd = await files.open(path, "read").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return undefined;
    throw error;
  });
  if (fd === undefined) return undefined;
  try {
    return readBytes(files, fd, await files.size(fd), 0);
  } finally {
    await files.close(fd);
  }
}

/** Returns the path under which a file is written before it is renamed. */
export const temporaryPath = (path: string): string => `${path}.tmp`;

/** Replaces a file atomically and durably: writes a temporary file, syncs it, renames it, syncs the folder. */
export async function replaceFile(
  files: Files,
  path: string,
  chunks: Iterable<Buffer> | AsyncIterable<Buffer>,
): Promise<void> {
  const temporary = temporaryPath(path);
  const fd = await files.open(temporary, "create");
  let end = 0;
  try {
    for await (const chunk of chunks) {
      await writeAll(files, fd, chunk, end);
      end += chunk.length;
    }
    await files.sync(fd);
  } finally {
    await files.close(fd);
  }
  await files.rename(temporary, path);
  await files.syncFolder(dirname(path));
}

/** Makes a folder durably: syncs each folder in which a name was created. */
export async function makeDurableFolder(files: Files, path: string): Promise<void> {
  const topmost = await files.makeFolder(path);
  if (topmost === undefined) return;
  for (let made = resolve(path); ; made = dirname(made)) {
    await files.syncFolder(dirname(made));
    // The root of the file system is its own parent.
    if (made === topmost || made === dirname(made)) return;
  }
}

/** Paths of the files of one store. */
export interface Paths {
  folder: string;
  /** The state file. */
  state: string;
  /** The journal that is being written. */
  journal: string;
  /** A sealed segment of the journal, by its number. */
  segment(number: number): string;
  /** The catalog file: derived from sealed segments, so that a start need not read them. */
  catalog: string;
  /** A copy of the journal's end after a torn write. */
  torn(number: number): string;
}

/** Returns the paths of the store whose state file is `state`. */
export function statePaths(state: string): Paths {
  return {
    folder: dirname(state),
    state,
    journal: `${state}.journal.jsonl`,
    segment: (number) => `${state}.journal.${String(number).padStart(6, "0")}.jsonl`,
    catalog: `${state}.journal.catalog`,
    torn: (number) => `${state}.torn-${number}`,
  };
}

/** Files of one store in a folder: sorted numbers of its sealed segments and torn ends, and leftovers. */
export interface Listing {
  segments: number[];
  torn: number[];
  /** Temporary files that were never renamed. */
  leftovers: string[];
}

/** Lists the files of a store among the names in its folder. */
export function makeListing(paths: Paths, names: readonly string[]): Listing {
  const stateName = basename(paths.state);
  const listing: Listing = { segments: [], torn: [], leftovers: [] };
  for (const name of names) {
    if (!name.startsWith(`${stateName}.`)) continue;
    const rest = name.slice(stateName.length + 1);
    const segment = /^journal\.(\d{6,})\.jsonl$/.exec(rest);
    const torn = /^torn-(\d+)$/.exec(rest);
    if (segment) listing.segments.push(Number(segment[1]));
    else if (torn) listing.torn.push(Number(torn[1]));
    // Temporary files of the state file, the journal, a segment and the catalog.
    else if (/^(journal\.(\d{6,}\.)?(jsonl|catalog)\.)?tmp$/.test(rest))
      listing.leftovers.push(join(paths.folder, name));
  }
  listing.segments.sort((a, b) => a - b);
  listing.torn.sort((a, b) => a - b);
  return listing;
}
