/** Removes temporary files that a killed process left. */
import type * as fs from "node:fs/promises";
import { basename, dirname, join } from "node:path";

const MIN_AGE_MS = 60_000;

/** Returns the path under which a new text of the file is written first. */
export const temporaryPath = (path: string, unique: string): string =>
  join(dirname(path), `.${basename(path)}.${unique}.tmp`);

/** Removes temporary files of a file, except those younger than a minute, which may belong to another process. */
export async function removeLeftovers(
  files: Pick<typeof fs, "readdir" | "realpath" | "rm" | "stat">,
  link: string,
  now: number,
): Promise<void> {
  const path = await files.realpath(link).catch(() => link);
  // The line break stands for the unique part of the name.
  const [start = "", end = ""] = basename(temporaryPath(path, "\n")).split("\n");
  for (const name of await files.readdir(dirname(path))) {
    const unique = name.startsWith(start) && name.endsWith(end) ? name.slice(start.length, -end.length) : "";
    if (!/^[0-9a-f-]{36}$/.test(unique)) continue;
    const leftover = join(dirname(path), name);
    const { mtimeMs } = await files.stat(leftover);
    if (now - mtimeMs > MIN_AGE_MS) await files.rm(leftover, { force: true });
  }
}
