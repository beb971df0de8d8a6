/** What a killed process leaves beside the file: texts that were written aside and never took its place. */
import type * as fs from "node:fs/promises";
import { basename, dirname, join } from "node:path";

const YOUNG_MS = 60_000;

/** The name under which a new text of the file is written first. */
export const asideOf = (path: string, unique: string): string =>
  join(dirname(path), `.${basename(path)}.${unique}.tmp`);

/** Removes leftovers of a file. What is younger than a minute may be a text that another process writes. */
export async function removeLeftovers(
  files: Pick<typeof fs, "readdir" | "realpath" | "rm" | "stat">,
  link: string,
  now: number,
): Promise<void> {
  const path = await files.realpath(link).catch(() => link);
  const [start = "", end = ""] = basename(asideOf(path, "\n")).split("\n");
  for (const name of await files.readdir(dirname(path))) {
    const unique = name.startsWith(start) && name.endsWith(end) ? name.slice(start.length, -end.length) : "";
    if (!/^[0-9a-f-]{36}$/.test(unique)) continue;
    const leftover = join(dirname(path), name);
    const { mtimeMs } = await files.stat(leftover);
    if (now - mtimeMs > YOUNG_MS) await files.rm(leftover, { force: true });
  }
}
