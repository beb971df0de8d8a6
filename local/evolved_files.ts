/** Self-evolution files in a folder of their own: inert text, no links followed, nothing outside. */
import { hash, randomUUID } from "node:crypto";
import { constants } from "node:fs";
import { lstat, open, readdir, rename, rm } from "node:fs/promises";
import { join, resolve } from "node:path";
import { makeFolder } from "./make_folder.ts";
import type { EvolvedFile, EvolvedFiles } from "../lib/operations/deps.ts";
import { evolvedKind, isEvolvedName } from "../lib/operations/evolved_name.ts";

/** Not followed if it is a link, and not waited for if it is a pipe. */
const READ = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/** How many files are kept, and the size up to which one is shown, in bytes. */
export interface EvolvedLimits {
  files: number;
  bytes: number;
}

export const EVOLVED_LIMITS: EvolvedLimits = { files: 500, bytes: 1024 * 1024 };

/** A file as it lies there; the hash is kept for as long as these figures stay the same. */
interface Seen {
  mtimeMs: number;
  bytes: number;
  sha256: string;
}

/** The files of a folder; it is made with the first of them. Of the service's own files the oldest go first. */
export function evolvedFiles(folder: string, limits: EvolvedLimits = EVOLVED_LIMITS): EvolvedFiles {
  const seen = new Map<string, Seen>();

  /** The regular files with a fit name, newest first. */
  const present = async () => {
    const names = ((await orNothing(readdir(folder))) ?? []).filter(isEvolvedName);
    const found = await Promise.all(
      names.map(async (name) => ({ name, stat: await orNothing(lstat(join(folder, name))) })),
    );
    return found
      .flatMap(({ name, stat }) => (stat?.isFile() ? [{ name, bytes: stat.size, mtimeMs: stat.mtimeMs }] : []))
      .filter(({ bytes }) => bytes <= limits.bytes)
      .sort((a, b) => b.mtimeMs - a.mtimeMs || (a.name < b.name ? -1 : 1));
  };

  const hashOf = async (file: Omit<Seen, "sha256"> & { name: string }): Promise<string | undefined> => {
    const known = seen.get(file.name);
    if (known?.mtimeMs === file.mtimeMs && known.bytes === file.bytes) return known.sha256;
    const content = await readRegular(join(folder, file.name), limits.bytes);
    return content && hash("sha256", content, "hex");
  };

  const forgetOldest = async (): Promise<void> => {
    const own = (await present()).filter(({ name }) => evolvedKind(name) !== "other");
    for (const { name } of own.slice(limits.files)) await rm(join(folder, name), { force: true });
  };

  return {
    async list() {
      const files: EvolvedFile[] = [];
      for (const file of await present()) {
        const sha256 = await hashOf(file);
        if (sha256 === undefined) continue;
        const { name, bytes, mtimeMs } = file;
        files.push({ name, bytes, sha256, modified_at: new Date(mtimeMs).toISOString(), kind: evolvedKind(name) });
        seen.set(name, { mtimeMs, bytes, sha256 });
      }
      for (const name of seen.keys()) if (!files.some((file) => file.name === name)) seen.delete(name);
      return files;
    },
    async read(name) {
      if (!isEvolvedName(name)) return undefined;
      return (await readRegular(join(folder, name), limits.bytes))?.toString("utf8");
    },
    async write(name, text) {
      if (!isEvolvedName(name)) throw new Error(`${JSON.stringify(name)} is no name for a self-evolution file`);
      await makeFolder(resolve(folder));
      // A rename replaces a link instead of writing through it.
      await writeAside(folder, text, (aside) => rename(aside, join(folder, name)));
      await forgetOldest();
    },
  };
}

/** Writes a file under a name of its own, durably, and passes it to `place`: no reader sees half of it. */
export async function writeAside(folder: string, text: string, place: (aside: string) => Promise<void>): Promise<void> {
  const aside = join(folder, `.${randomUUID()}.tmp`);
  try {
    const handle = await open(aside, "wx");
    try {
      await handle.writeFile(text);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await place(aside);
  } finally {
    await rm(aside, { force: true });
  }
}

/** Reads a regular file of at most `limit` bytes; undefined for everything else. */
export async function readRegular(path: string, limit: number): Promise<Buffer | undefined> {
  const handle = await orNothing(open(path, READ));
  if (!handle) return undefined;
  try {
    const stat = await handle.stat();
    return stat.isFile() && stat.size <= limit ? await handle.readFile() : undefined;
  } finally {
    await handle.close();
  }
}

/** Returns undefined for a missing file, a link, or a path without a folder; rejects with every other error. */
async function orNothing<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if (["ENOENT", "ENOTDIR", "ELOOP", "ENXIO"].includes((error as NodeJS.ErrnoException).code ?? "")) return undefined;
    throw error;
  }
}
