/** Runs the backup script from the operator's manual. */
import { execFile } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";

const SCRIPT = join(import.meta.dirname, "../../docs/operating/countersign-backup");

/** Copies a file store into a new folder; the folders of `path` precede the search path of the process. */
export type Backup = (state: string, to: string, path?: readonly string[]) => Promise<void>;

/** Installs the script of the manual in a folder and returns a function that runs it. */
export function backupScript(folder: string): Backup {
  const file = join(folder, "countersign-backup");
  writeFileSync(file, readFileSync(SCRIPT), { mode: 0o755 });
  return async (state, to, path = []) => {
    const PATH = [...path, process.env["PATH"]].join(":");
    await promisify(execFile)(file, [state, to], { env: { PATH } });
  };
}
