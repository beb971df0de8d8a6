/** Reads a text file, and replaces it so that a reader sees either the complete old text or the complete new one. */
import { randomUUID } from "node:crypto";
import { constants } from "node:fs";
import type * as fs from "node:fs/promises";
import { dirname } from "node:path";
import { temporaryPath } from "./leftovers.ts";

/** The part of node:fs/promises that file targets use. */
export type Files = Pick<
  typeof fs,
  "access" | "mkdir" | "open" | "readdir" | "readFile" | "realpath" | "rename" | "rm" | "stat"
>;

const isAbsent = (error: unknown): boolean => (error as NodeJS.ErrnoException).code === "ENOENT";

/**
 * Reads a file's text; undefined when there is no file. A byte order mark is removed unless `keepByteOrderMark` is set. Errors:
 * `TypeError` when the file is not UTF-8.
 */
export async function readText(files: Files, path: string, keepByteOrderMark = false): Promise<string | undefined> {
  let bytes: Buffer;
  try {
    bytes = await files.readFile(path);
  } catch (error) {
    if (isAbsent(error)) return undefined;
    throw error;
  }
  return new TextDecoder("utf-8", { fatal: true, ignoreBOM: keepByteOrderMark }).decode(bytes);
}

/**
 * Replaces the file's text durably if it still is `expected` (undefined: no file). Returns false, without a change, when another
 * program wrote in between; the file is compared without its byte order mark. A missing folder is made; mode, owner and a symbolic link are preserved. Errors: the signal's reason
 * when it has aborted.
 */
export async function replaceText(
  files: Files,
  link: string,
  expected: string | undefined,
  text: string,
  signal: AbortSignal,
): Promise<boolean> {
  const path = await defaultIfAbsent(files.realpath(link), link);
  const folder = dirname(path);
  const topmostMade = await files.mkdir(folder, { recursive: true });
  const temporary = temporaryPath(path, randomUUID());
  try {
    await writeTemporary(files, temporary, path, text);
    if ((await readText(files, path)) !== expected) {
      await files.rm(temporary);
      return false;
    }
    signal.throwIfAborted();
    await files.rename(temporary, path);
  } catch (error) {
    await files.rm(temporary, { force: true }).catch(() => undefined);
    throw error;
  }
  await syncFolder(files, folder);
  // The names of new folders become durable too.
  for (let made = folder; topmostMade !== undefined && made.length >= topmostMade.length; made = dirname(made))
    await syncFolder(files, dirname(made));
  return true;
}

/** Checks that a file's folder, or its nearest existing parent, can be written. Errors: Node's own. */
export async function checkFolder(files: Files, link: string): Promise<void> {
  let folder = dirname(await defaultIfAbsent(files.realpath(link), link));
  while ((await defaultIfAbsent(files.access(folder, constants.W_OK | constants.X_OK), "absent")) === "absent")
    folder = dirname(folder);
}

async function writeTemporary(files: Files, temporary: string, path: string, text: string): Promise<void> {
  const stats = await defaultIfAbsent(files.stat(path), undefined);
  const handle = await files.open(temporary, "wx");
  try {
    await handle.writeFile(text);
    if (stats !== undefined) {
      // Only root may change the owner; for all others the mode decides who can read the file.
      await handle.chown(stats.uid, stats.gid).catch(() => undefined);
      await handle.chmod(stats.mode & 0o777);
    }
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Makes renames in a folder durable; Windows has no such call. */
async function syncFolder(files: Files, folder: string): Promise<void> {
  if (process.platform === "win32") return;
  const handle = await files.open(folder, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

async function defaultIfAbsent<T, U>(work: Promise<T>, otherwise: U): Promise<T | U> {
  try {
    return await work;
  } catch (error) {
    if (isAbsent(error)) return otherwise;
    throw error;
  }
}
