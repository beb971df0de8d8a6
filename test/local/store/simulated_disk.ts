/**
 * A disk in memory that forgets what was not synced. Every change is an operation. A write or a truncation becomes durable
 * when its file is synced, a change of names when its folder is synced. A crash keeps all durable operations and decides about
 * each of the others; of a write it decides about each sector of 512 bytes, since the system writes sectors in any order. As on
 * Linux, a sync that fails drops the writes that it did not complete: they can still be read, and the next sync does not
 * write them.
 */
import { basename, dirname } from "node:path";
import type { Files } from "../../../local/store/files.ts";

/** The effect of a crash on unsynced operations; a function decides by chance. */
export type Loss = "nothing" | "everything" | (() => number);

const SECTOR = 512;

interface Content {
  inode: number;
  volatile: Buffer;
  durable: Buffer;
  /** Writes and truncations since the last sync, oldest first. */
  pending: { position: number; bytes: Buffer | undefined }[];
}

interface NameChange {
  path: string;
  content: Content | undefined;
}

export interface SimulatedDisk {
  readonly files: Files;
  /** Number of times that content was made durable. */
  readonly syncs: number;
  /** The effect of a failed sync: the content stays in memory, and no later sync writes it. */
  failSync(fd: number): void;
  /** Returns the file as a running process sees it. */
  content(path: string): Buffer | undefined;
  /** Replaces a file behind the store's back, durably. */
  replace(path: string, content: Buffer): void;
  paths(): string[];
  /** Cuts the power; with a function, a random part of unsynced data survives. */
  crash(loss: Loss): void;
}

/** Returns an empty disk. */
export function simulatedDisk(): SimulatedDisk {
  let names = new Map<string, Content>();
  let durableNames = new Map<string, Content>();
  let pendingNameChanges: NameChange[][] = [];
  let descriptors = new Map<number, Content>();
  let lastDescriptor = 2;
  let lastInode = 0;
  let syncs = 0;

  const missingFileError = (path: string): Error =>
    Object.assign(new Error(`ENOENT: no such file, '${path}'`), { code: "ENOENT" });
  const findOpenFile = (fd: number): Content => {
    const content = descriptors.get(fd);
    if (!content) throw Object.assign(new Error("EBADF: bad file descriptor"), { code: "EBADF" });
    return content;
  };
  const apply = (content: Buffer, { position, bytes }: Content["pending"][number]): Buffer => {
    if (!bytes)
      return Buffer.concat([content.subarray(0, position), Buffer.alloc(Math.max(0, position - content.length))]);
    const result = Buffer.alloc(Math.max(content.length, position + bytes.length));
    content.copy(result);
    bytes.copy(result, position);
    return result;
  };
  const change = (content: Content, pending: Content["pending"][number]): void => {
    content.pending.push(pending);
    content.volatile = apply(content.volatile, pending);
  };
  const applyNameChanges = (group: NameChange[], target: Map<string, Content>): void => {
    for (const { path, content } of group)
      if (content) target.set(path, content);
      else target.delete(path);
  };
  const changeNames = (group: NameChange[]): void => {
    pendingNameChanges.push(group);
    applyNameChanges(group, names);
  };

  const files: Files = {
    makeFolder: async () => undefined,
    names: async (folder) => [...names.keys()].filter((path) => dirname(path) === folder).map((path) => basename(path)),
    async open(path, mode) {
      let content = names.get(path);
      if (!content && mode !== "create") throw missingFileError(path);
      if (!content) {
        content = { inode: ++lastInode, volatile: Buffer.alloc(0), durable: Buffer.alloc(0), pending: [] };
        changeNames([{ path, content }]);
      } else if (mode === "create") change(content, { position: 0, bytes: undefined });
      descriptors.set(++lastDescriptor, content);
      return lastDescriptor;
    },
    size: async (fd) => findOpenFile(fd).volatile.length,
    inode: async (fd) => findOpenFile(fd).inode,
    stat(path) {
      const content = names.get(path);
      return content && { inode: content.inode, size: content.volatile.length };
    },
    async lengthen(path) {
      const content = names.get(path);
      if (!content) throw missingFileError(path);
      change(content, { position: content.volatile.length, bytes: Buffer.alloc(1) });
    },
    read: async (...args) => files.readNow(...args),
    readNow: (fd, buffer, length, position) => findOpenFile(fd).volatile.copy(buffer, 0, position, position + length),
    write: async (fd, bytes, position) => files.writeNow(fd, bytes, position),
    writeNow(fd, bytes, position) {
      change(findOpenFile(fd), { position, bytes: Buffer.from(bytes) });
      return bytes.length;
    },
    async sync(fd) {
      const content = findOpenFile(fd);
      content.durable = content.pending.reduce(apply, content.durable);
      content.pending = [];
      syncs++;
    },
    truncate: async (fd, size) => change(findOpenFile(fd), { position: size, bytes: undefined }),
    close: async (fd) => void (findOpenFile(fd), descriptors.delete(fd)),
    async rename(from, to) {
      const content = names.get(from);
      if (!content) throw missingFileError(from);
      changeNames([
        { path: from, content: undefined },
        { path: to, content },
      ]);
    },
    remove: async (path) => changeNames([{ path, content: undefined }]),
    async syncFolder() {
      durableNames = new Map(names);
      pendingNameChanges = [];
    },
    freeBytes: async () => 1e9,
  };

  return {
    files,
    get syncs() {
      return syncs;
    },
    failSync: (fd) => void (findOpenFile(fd).pending = []),
    content: (path) => names.get(path)?.volatile,
    replace(path, bytes) {
      const content = { inode: ++lastInode, volatile: bytes, durable: bytes, pending: [] };
      names.set(path, content);
      durableNames.set(path, content);
    },
    paths: () => [...names.keys()].sort(),
    crash(loss) {
      const survives = (): boolean => loss === "nothing" || (loss !== "everything" && loss() < 0.5);
      for (const group of pendingNameChanges) if (survives()) applyNameChanges(group, durableNames);
      for (const content of new Set(durableNames.values())) {
        for (const { position, bytes } of content.pending)
          if (!bytes) {
            if (survives()) content.durable = apply(content.durable, { position, bytes });
          } else
            for (let at = 0; at < bytes.length;) {
              const end = Math.min(bytes.length, at + SECTOR - ((position + at) % SECTOR));
              if (survives())
                content.durable = apply(content.durable, { position: position + at, bytes: bytes.subarray(at, end) });
              at = end;
            }
        content.volatile = content.durable;
        content.pending = [];
      }
      names = new Map(durableNames);
      durableNames = new Map(names);
      pendingNameChanges = [];
      descriptors = new Map();
    },
  };
}
