/** A reporter that fails a run in which a test prints to the console. */
import { relative } from "node:path";
import type { UserConsoleLog } from "vitest";
import type { Reporter, Vitest } from "vitest/node";

/** Writes the names of the files that printed, and fails the run. */
function failRun(message: string): void {
  process.stderr.write(message);
  process.exitCode = 1;
}

/** Collects the test files that write to the console, and names them at the end of the run. */
export class QuietRun implements Reporter {
  readonly #fail: (message: string) => void;
  readonly #lines = new Map<string, number>();
  #vitest: Vitest | undefined;

  constructor(fail = failRun) {
    this.#fail = fail;
  }

  onInit(vitest: Vitest): void {
    this.#vitest = vitest;
  }

  onUserConsoleLog({ taskId }: UserConsoleLog): void {
    const path = taskId && this.#vitest?.state.idMap.get(taskId)?.file.filepath;
    const file = path ? relative(this.#vitest!.config.root, path) : "outside a test";
    this.#lines.set(file, (this.#lines.get(file) ?? 0) + 1);
  }

  onTestRunEnd(): void {
    if (this.#lines.size === 0) return;
    const files = [...this.#lines].map(([file, times]) => `  ${file}: ${times}\n`).join("");
    this.#fail(`tests printed to the console; pass silentLog of test/support/silent_log.ts:\n${files}`);
  }
}
