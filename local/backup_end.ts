/** `backup.json`, which the documented backup writes last: the end of the log that it holds. */
import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import * as z from "zod";
import type { LogEnd } from "../lib/audit/log_index.ts";

const schema = z.object({ length: z.int().min(1), head: z.string().regex(/^[0-9a-f]{64}$/) });

/** The end that a backup states, which was restored into the folder of a state file; undefined where none was. */
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
