/** A copy of the sources in which a fault can stand, so that the sources themselves are never touched. */
import {
  chmodSync,
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { planted } from "./plant.mjs";

const LEFT_OUT = [".git", "node_modules", "dist", "data", "coverage"];

/** Copies what is under `root`; the packages are linked. `temporary` takes what tests leave behind. */
export function copyTree(root) {
  const folder = mkdtempSync(join(tmpdir(), "mutants-"));
  // Where tests start a program as another user, it has to get through.
  chmodSync(folder, 0o755);
  for (const name of readdirSync(root))
    if (!LEFT_OUT.includes(name)) cpSync(join(root, name), join(folder, name), { recursive: true });
  symlinkSync(join(root, "node_modules"), join(folder, "node_modules"));
  const temporary = join(folder, "tmp");
  mkdirSync(temporary);
  return {
    folder,
    temporary,
    /** Runs with the fault in place, and takes it out again. */
    async withFault(fault, run) {
      const path = join(folder, fault.file);
      const source = readFileSync(path, "utf8");
      writeFileSync(path, planted(source, fault));
      try {
        return await run();
      } finally {
        writeFileSync(path, source);
      }
    },
    remove: () => rmSync(folder, { recursive: true, force: true, maxRetries: 5 }),
  };
}
