/** The few file-system calls of the file store, so that a test can fail or lose each of them, and the names of its files. */
import * as fs from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { promisify } from "node:util";

/** How a file is opened; `create` creates it, and empties an existing one. */
export type OpenMode = "read" | "write" | "create";

/** File-system calls, named after what they promise. Errors are Node's own, with their `code`. */
export interface Files {
  /** Makes a folder and those above it; gives the topmost one that was made, if any. */
  makeFolder(path: string): Promise<string | undefined>;
  names(folder: string): Promise<string[]>;
  open(path: string, mode: OpenMode): Promise<number>;
  size(fd: number): Promise<number>;
  /** The number by which the file system knows an open file, whatever its name. */
  inode(fd: number): Promise<number>;
  /** Returns the file that has a name now, synchronously; undefined where none does. */
  seen(path: string): { inode: number; size: number } | undefined;
  /** Appends one zero to the current content of a file, even while another process writes to it. */
  lengthen(path: string): Promise<void>;
  /** Reads at `position` into the start of `buffer`; gives the number of bytes read, 0 at the end. */
  read(fd: number, buffer: Buffer, length: number, position: number): Promise<number>;
  /** As `read`, immediately: for a start, and for what must not change before the next write. */
  readNow(fd: number, buffer: Buffer, length: number, position: number): number;
  /** Writes at `position`; gives the number of bytes written, which may be fewer than given. */
  write(fd: number, bytes: Buffer, position: number): Promise<number>;
  /** As `write`, at once: for the little that goes into the system's memory before a sync. */
  writeNow(fd: number, bytes: Buffer, position: number): number;
  /** Makes the file's content durable (fdatasync). */
  sync(fd: number): Promise<void>;
  truncate(fd: number, size: number): Promise<void>;
  close(fd: number): Promise<void>;
  rename(from: string, to: string): Promise<void>;
  /** Removes a file; one that is not there is no error. */
  remove(path: string): Promise<void>;
  /** Makes the names in a folder durable. */
  syncFolder(path: string): Promise<void>;
  /** Bytes that this user can still write to the disk of a folder. */
  freeBytes(folder: string): Promise<number>;
}

const FLAGS: Record<OpenMode, string> = { read: "r", write: "r+", create: "w+" };
/** File mode for the service's own user only: the files hold chat, notes and answers. */
const OWN_FILE = 0o600;
const OWN_FOLDER = 0o700;

// Plain descriptors with callbacks: the promise API costs a FileHandle and more turns for every call.
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
    // A copy that was put back may be open to everybody; a file that is somebody else's stays as it is.
    if (mode === "write") await fchmod(fd, OWN_FILE).catch(() => undefined);
    return fd;
  },
  size: async (fd) => (await fstat(fd)).size,
  inode: async (fd) => (await fstat(fd)).ino,
  seen(path) {
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
      fs.read(fd, buffer, 0, length, position, (error, got) => (error ? reject(error) : resolve(got))),
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

/** Writes all the bytes, in as many calls as it takes. */
export async function writeAll(files: Files, fd: number, bytes: Buffer, position: number): Promise<void> {
  for (let done = 0; done < bytes.length;)
    done += something(await files.write(fd, done === 0 ? bytes : bytes.subarray(done), position + done));
}

/** As `writeAll`, at once. */
export function writeAllNow(files: Files, fd: number, bytes: Buffer, position: number): void {
  for (let done = 0; done < bytes.length;)
    done += something(files.writeNow(fd, done === 0 ? bytes : bytes.subarray(done), position + done));
}

function something(written: number): number {
  if (written === 0) throw new Error("the file system wrote nothing and gave no reason");
  return written;
}

/** Up to `length` bytes at `position`, fewer only at the end of the file. */
export function readBytes(files: Files, fd: number, length: number, position: number): Buffer {
  const bytes = Buffer.alloc(length);
  let done = 0;
  while (done < length) {
    const got = files.readNow(fd, bytes.subarray(done), length - done, position + done);
    if (got === 0) break;
    done += got;
  }
  return bytes.subarray(0, done);
}

/** The whole content of a file, or `undefined` when there is none. */
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

/** The name under which a file is written before it takes its place. */
export const temporaryPath = (path: string): string => `${path}.tmp`;

/** Puts a durable file in place at once: written aside, synced, renamed, the folder synced. */
export async function replaceFile(
  files: Files,
  path: string,
  pieces: Iterable<Buffer> | AsyncIterable<Buffer>,
): Promise<void> {
  const aside = temporaryPath(path);
  const fd = await files.open(aside, "create");
  let end = 0;
  try {
    for await (const piece of pieces) {
      await writeAll(files, fd, piece, end);
      end += piece.length;
    }
    await files.sync(fd);
  } finally {
    await files.close(fd);
  }
  await files.rename(aside, path);
  await files.syncFolder(dirname(path));
}

/** Makes a folder that survives a power cut: each new name is synced in the folder above it. */
export async function makeDurableFolder(files: Files, path: string): Promise<void> {
  const topmost = await files.makeFolder(path);
  if (topmost === undefined) return;
  for (let made = resolve(path); ; made = dirname(made)) {
    await files.syncFolder(dirname(made));
    if (made === topmost || made === dirname(made)) return;
  }
}

/** Paths of the files of one store. */
export interface Paths {
  folder: string;
  /** The snapshot: the state file itself. */
  state: string;
  /** The journal that is being written. */
  journal: string;
  /** A sealed part of the journal, by its number. */
  segment(number: number): string;
  /** Data derived from the sealed parts, so that a start need not read them. */
  catalog: string;
  /** Path to which a torn end is moved. */
  torn(number: number): string;
}

/** The files of the store whose state file is `state`. */
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

/** Files of one store in a folder: the numbers of its sealed segments and torn ends, in order, and leftovers. */
export interface Listing {
  segments: number[];
  torn: number[];
  /** Files written aside whose rename never came. */
  leftovers: string[];
}

/** Sorts the names in a folder by what they are to this store; other files are not looked at. */
export function makeListing(paths: Paths, names: readonly string[]): Listing {
  const own = basename(paths.state);
  const listing: Listing = { segments: [], torn: [], leftovers: [] };
  for (const name of names) {
    if (!name.startsWith(`${own}.`)) continue;
    const rest = name.slice(own.length + 1);
    const segment = /^journal\.(\d{6,})\.jsonl$/.exec(rest);
    const torn = /^torn-(\d+)$/.exec(rest);
    if (segment) listing.segments.push(Number(segment[1]));
    else if (torn) listing.torn.push(Number(torn[1]));
    else if (/^(journal\.(\d{6,}\.)?(jsonl|catalog)\.)?tmp$/.test(rest))
      listing.leftovers.push(join(paths.folder, name));
  }
  listing.segments.sort((a, b) => a - b);
  listing.torn.sort((a, b) => a - b);
  return listing;
}
