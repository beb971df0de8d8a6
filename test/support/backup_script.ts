/** The backup of the operator's manual, as it is shipped. */
import { execFile } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";

const SCRIPT = join(import.meta.dirname, "../../docs/operating/countersign-backup");

/** Copies a file store into a new folder; `path` are folders with programs that stand before the system's own. */
export type Backup = (state: string, to: string, path?: readonly string[]) => Promise<void>;

/** Puts the script of the manual into a folder. */
export function backupScript(folder: string): Backup {
  const file = join(folder, "countersign-backup");
  writeFileSync(file, readFileSync(SCRIPT), { mode: 0o755 });
  return async (state, to, path = []) => {
    const PATH = [...path, process.env["PATH"]].join(":");
    await promisify(execFile)(file, [state, to], { env: { PATH } });
  };
}
