/** The backup of the operator's manual, as it stands there. */
import { execFile } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";

const MANUAL = join(import.meta.dirname, "../../docs/operating.md");

/** Copies a file store into a new folder; `path` are folders with programs that stand before the system's own. */
export type Backup = (state: string, to: string, path?: readonly string[]) => Promise<void>;

/** Puts the script of the manual into a folder. */
export function backupScript(folder: string): Backup {
  const [, script] = /countersign-backup <<'END'\n([^]*?\n)END\n/.exec(readFileSync(MANUAL, "utf8"))!;
  const file = join(folder, "countersign-backup");
  writeFileSync(file, script!, { mode: 0o755 });
  return async (state, to, path = []) => {
    const PATH = [...path, process.env["PATH"]].join(":");
    await promisify(execFile)(file, [state, to], { env: { PATH } });
  };
}
