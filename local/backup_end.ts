/** Reads `backup.json`, the last file of a backup, which states the length and head of the log in it. */
import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import * as z from "zod";
import type { LogEnd } from "../lib/audit/log_index.ts";

const schema = z.object({ length: z.int().min(1), head: z.string().regex(/^[0-9a-f]{64}$/) });

/** Returns the end of the log that a restored backup states; undefined if `backup.json` is not next to the state file. */
export async function readBackupEnd(state: string): Promise<LogEnd | undefined> {
  const path = join(dirname(state), "backup.json");
  const text = await readFile(path, "utf8").catch((error: NodeJS.ErrnoException) => {
    if (error.code === "ENOENT") return undefined;
    throw error;
  });
  if (text === undefined) return undefined;
  try {
    return schema.parse(JSON.parse(text));
  } catch (error) {
    const remedy = "restore the backup again, or remove this file where the log is known to be complete";
    throw new Error(`${path} does not state the length and head of a log: ${remedy}`, { cause: error });
  }
}
