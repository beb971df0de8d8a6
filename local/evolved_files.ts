/** Stores self-evolution files in a folder of their own: plain text; symbolic links are not followed. */
import { hash, randomUUID } from "node:crypto";
import { constants } from "node:fs";
import { lstat, open, readdir, rename, rm } from "node:fs/promises";
import { join, resolve } from "node:path";
import { makeFolder } from "./make_folder.ts";
import type { EvolvedFile, EvolvedFiles } from "../lib/operations/deps.ts";
import { evolvedKind, isEvolvedName } from "../lib/operations/evolved_name.ts";

/** Flags for opening a file to read it: links are not followed, and pipes are not waited for. */
const READ = constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK;

/** Maximum number of files, and the size above which a file is ignored, in bytes. */
export interface EvolvedLimits {
  files: number;
  bytes: number;
}

/** The limits by default. */
export const EVOLVED_LIMITS: EvolvedLimits = { files: 500, bytes: 1024 * 1024 };

/** A file's hash, valid while its time and size are the same. */
interface CachedHash {
  mtimeMs: number;
  bytes: number;
  sha256: string;
}

/** Opens a folder, which is made with its first file. Above the limit, the oldest of the service's own files are removed. */
export function evolvedFiles(folder: string, limits: EvolvedLimits = EVOLVED_LIMITS): EvolvedFiles {
  const cached = new Map<string, CachedHash>();

  /** Lists regular files with an allowed name and size, newest first. */
  const listPresent = async () => {
    const names = ((await ignoreMissing(readdir(folder))) ?? []).filter(isEvolvedName);
    const entries = await Promise.all(
      names.map(async (name) => ({ name, stat: await ignoreMissing(lstat(join(folder, name))) })),
    );
    return entries
      .flatMap(({ name, stat }) => (stat?.isFile() ? [{ name, bytes: stat.size, mtimeMs: stat.mtimeMs }] : []))
      .filter(({ bytes }) => bytes <= limits.bytes)
      .sort((a, b) => b.mtimeMs - a.mtimeMs || (a.name < b.name ? -1 : 1));
  };

  const hashFile = async (file: Omit<CachedHash, "sha256"> & { name: string }): Promise<string | undefined> => {
    const cachedHash = cached.get(file.name);
    if (cachedHash?.mtimeMs === file.mtimeMs && cachedHash.bytes === file.bytes) return cachedHash.sha256;
    const content = await readRegular(join(folder, file.name), limits.bytes);
    return content && hash("sha256", content, "hex");
  };

  const removeOldest = async (): Promise<void> => {
    const own = (await listPresent()).filter(({ name }) => evolvedKind(name) !== "other");
    for (const { name } of own.slice(limits.files)) await rm(join(folder, name), { force: true });
  };

  return {
    async list() {
      const files: EvolvedFile[] = [];
      for (const file of await listPresent()) {
        const sha256 = await hashFile(file);
        if (sha256 === undefined) continue;
        const { name, bytes, mtimeMs } = file;
        files.push({ name, bytes, sha256, modified_at: new Date(mtimeMs).toISOString(), kind: evolvedKind(name) });
        cached.set(name, { mtimeMs, bytes, sha256 });
      }
      for (const name of cached.keys()) if (!files.some((file) => file.name === name)) cached.delete(name);
      return files;
    },
    async read(name) {
      if (!isEvolvedName(name)) return undefined;
      return (await readRegular(join(folder, name), limits.bytes))?.toString("utf8");
    },
    async write(name, text) {
      if (!isEvolvedName(name)) throw new Error(`${JSON.stringify(name)} is not a name for a self-evolution file`);
      await makeFolder(resolve(folder));
      // A rename replaces a link instead of writing through it.
      await writeTemporary(folder, text, (temporary) => rename(temporary, join(folder, name)));
      await removeOldest();
    },
  };
}

/** Writes a durable temporary file and passes its path to `publish`, so that no reader sees an incomplete file. */
export async function writeTemporary(
  folder: string,
  text: string,
  publish: (temporary: string) => Promise<void>,
): Promise<void> {
  const temporary = join(folder, `.${randomUUID()}.tmp`);
  try {
    const handle = await open(temporary, "wx");
    try {
      await handle.writeFile(text);
      await handle.sync();
    } finally {
      await handle.close();
    }
    await publish(temporary);
  } finally {
    await rm(temporary, { force: true });
  }
}

/** Reads a regular file of at most `limit` bytes; undefined for everything else. */
export async function readRegular(path: string, limit: number): Promise<Buffer | undefined> {
  const handle = await ignoreMissing(open(path, READ));
  if (!handle) return undefined;
  try {
    const stat = await handle.stat();
    return stat.isFile() && stat.size <= limit ? await handle.readFile() : undefined;
  } finally {
    await handle.close();
  }
}

/** Returns undefined for a missing file, a path without a folder, a link (ELOOP) or a socket (ENXIO); rejects with every other error. */
async function ignoreMissing<T>(work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if (["ENOENT", "ENOTDIR", "ELOOP", "ENXIO"].includes((error as NodeJS.ErrnoException).code ?? "")) return undefined;
    throw error;
  }
}
