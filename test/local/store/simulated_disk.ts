/**
 * A disk in memory that forgets what was not synced. Every change is an operation; it becomes durable when its file, or
 * for names its folder, is synced. A crash keeps all durable operations and decides about each of the others; of a write it
 * decides about each sector of 512 bytes, since the system writes them out in any order. As Linux has it, a sync that fails
 * lets go of what it did not write: it can still be read, and the next sync has nothing to do.
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

/** A simulated disk. */
export interface SimulatedDisk {
  readonly files: Files;
  /** Number of times that content was made durable. */
  readonly syncs: number;
  /** The effect of a failed sync: the content stays in memory, and no later sync writes it. */
  failSync(fd: number): void;
  /** The file as a running process sees it. */
  content(path: string): Buffer | undefined;
  /** Replaces a file behind the store's back, durably. */
  replace(path: string, content: Buffer): void;
  paths(): string[];
  /** Content after a power cut; with a function, a random part of unsynced data survives. */
  crash(loss: Loss): void;
}

/** An empty disk. */
export function simulatedDisk(): SimulatedDisk {
  let names = new Map<string, Content>();
  let durableNames = new Map<string, Content>();
  let changes: NameChange[][] = [];
  let descriptors = new Map<number, Content>();
  let lastDescriptor = 2;
  let lastInode = 0;
  let syncs = 0;

  const missing = (path: string): Error =>
    Object.assign(new Error(`ENOENT: no such file, '${path}'`), { code: "ENOENT" });
  const opened = (fd: number): Content => {
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
  const rename = (step: NameChange[], into: Map<string, Content>): void => {
    for (const { path, content } of step)
      if (content) into.set(path, content);
      else into.delete(path);
  };
  const nameStep = (step: NameChange[]): void => {
    changes.push(step);
    rename(step, names);
  };

  const files: Files = {
    makeFolder: async () => undefined,
    names: async (folder) => [...names.keys()].filter((path) => dirname(path) === folder).map((path) => basename(path)),
    async open(path, mode) {
      let content = names.get(path);
      if (!content && mode !== "create") throw missing(path);
      if (!content)
        nameStep([
          {
            path,
            content: (content = {
              inode: ++lastInode,
              volatile: Buffer.alloc(0),
              durable: Buffer.alloc(0),
              pending: [],
            }),
          },
        ]);
      else if (mode === "create") change(content, { position: 0, bytes: undefined });
      descriptors.set(++lastDescriptor, content);
      return lastDescriptor;
    },
    size: async (fd) => opened(fd).volatile.length,
    inode: async (fd) => opened(fd).inode,
    stat(path) {
      const content = names.get(path);
      return content && { inode: content.inode, size: content.volatile.length };
    },
    async lengthen(path) {
      const content = names.get(path);
      if (!content) throw missing(path);
      change(content, { position: content.volatile.length, bytes: Buffer.alloc(1) });
    },
    read: async (...args) => files.readNow(...args),
    readNow: (fd, buffer, length, position) => opened(fd).volatile.copy(buffer, 0, position, position + length),
    write: async (fd, bytes, position) => files.writeNow(fd, bytes, position),
    writeNow(fd, bytes, position) {
      change(opened(fd), { position, bytes: Buffer.from(bytes) });
      return bytes.length;
    },
    async sync(fd) {
      const content = opened(fd);
      content.durable = content.pending.reduce(apply, content.durable);
      content.pending = [];
      syncs++;
    },
    truncate: async (fd, size) => change(opened(fd), { position: size, bytes: undefined }),
    close: async (fd) => void (opened(fd), descriptors.delete(fd)),
    async rename(from, to) {
      const content = names.get(from);
      if (!content) throw missing(from);
      nameStep([
        { path: from, content: undefined },
        { path: to, content },
      ]);
    },
    remove: async (path) => nameStep([{ path, content: undefined }]),
    async syncFolder() {
      durableNames = new Map(names);
      changes = [];
    },
    freeBytes: async () => 1e9,
  };

  return {
    files,
    get syncs() {
      return syncs;
    },
    failSync: (fd) => void (opened(fd).pending = []),
    content: (path) => names.get(path)?.volatile,
    replace(path, bytes) {
      const content = { inode: ++lastInode, volatile: bytes, durable: bytes, pending: [] };
      names.set(path, content);
      durableNames.set(path, content);
    },
    paths: () => [...names.keys()].sort(),
    crash(loss) {
      const survives = (): boolean => loss === "nothing" || (loss !== "everything" && loss() < 0.5);
      for (const step of changes) if (survives()) rename(step, durableNames);
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
      changes = [];
      descriptors = new Map();
    },
  };
}
