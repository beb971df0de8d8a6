/** Reads a text file, and replaces it so that a reader sees the old text or the new one, whole. */
import { randomUUID } from "node:crypto";
import { constants } from "node:fs";
import type * as fs from "node:fs/promises";
import { dirname } from "node:path";
import { asideOf } from "./leftovers.ts";

/** The part of node:fs/promises that the adapter uses. */
export type Files = Pick<
  typeof fs,
  "access" | "mkdir" | "open" | "readdir" | "readFile" | "realpath" | "rename" | "rm" | "stat"
>;

const isAbsent = (error: unknown): boolean => (error as NodeJS.ErrnoException).code === "ENOENT";

/** The file's text, `undefined` when there is none. Throws `TypeError` when it is not UTF-8. */
export async function readText(files: Files, path: string): Promise<string | undefined> {
  let bytes: Buffer;
  try {
    bytes = await files.readFile(path);
  } catch (error) {
    if (isAbsent(error)) return undefined;
    throw error;
  }
  return new TextDecoder("utf-8", { fatal: true }).decode(bytes);
}

/**
 * Replaces the file's text if it still is `expected` (`undefined`: no file), and resolves when that is durable. `false`:
 * another hand wrote in between, and nothing was touched. A missing folder is made; mode, owner and a symbolic link are
 * kept. When `signal` has aborted it throws the signal's reason and leaves the file as it was.
 */
export async function replaceText(
  files: Files,
  link: string,
  expected: string | undefined,
  text: string,
  signal: AbortSignal,
): Promise<boolean> {
  const path = await orIfAbsent(files.realpath(link), link);
  const folder = dirname(path);
  const made = await files.mkdir(folder, { recursive: true });
  const aside = asideOf(path, randomUUID());
  try {
    await writeAside(files, aside, path, text);
    if ((await readText(files, path)) !== expected) {
      await files.rm(aside);
      return false;
    }
    signal.throwIfAborted();
    await files.rename(aside, path);
  } catch (error) {
    await files.rm(aside, { force: true }).catch(() => undefined);
    throw error;
  }
  await syncFolder(files, folder);
  for (let at = folder; made !== undefined && at.length >= made.length; at = dirname(at))
    await syncFolder(files, dirname(at));
  return true;
}

/** Throws when the folder, or the nearest one above it that exists, cannot be written to. */
export async function checkFolder(files: Files, link: string): Promise<void> {
  let folder = dirname(await orIfAbsent(files.realpath(link), link));
  while ((await orIfAbsent(files.access(folder, constants.W_OK | constants.X_OK), "absent")) === "absent")
    folder = dirname(folder);
}

async function writeAside(files: Files, aside: string, path: string, text: string): Promise<void> {
  const before = await orIfAbsent(files.stat(path), undefined);
  const handle = await files.open(aside, "wx");
  try {
    await handle.writeFile(text);
    if (before !== undefined) {
      // Only root may give a file away; for everybody else the mode decides who can read it.
      await handle.chown(before.uid, before.gid).catch(() => undefined);
      await handle.chmod(before.mode & 0o777);
    }
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** A rename is durable only once its folder is; Windows has no such call. */
async function syncFolder(files: Files, folder: string): Promise<void> {
  if (process.platform === "win32") return;
  const handle = await files.open(folder, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}

async function orIfAbsent<T, U>(work: Promise<T>, otherwise: U): Promise<T | U> {
  try {
    return await work;
  } catch (error) {
    if (isAbsent(error)) return otherwise;
    throw error;
  }
}
