/** A reporter that ends a run in which a test file reports nothing for too long, and prints the pending tests and hooks. */
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { relative } from "node:path";
import type { ReportedHookContext, Reporter, TestCase, TestModule, TestSuite, Vitest } from "vitest/node";

/** A running test file and its last report. */
interface RunningFile {
  file: string;
  /** Time and text of the last report. */
  reportedAt: number;
  report: string;
  tests: Set<TestCase>;
  hooks: Set<string>;
}

/** Longer than any hook may take. */
const LIMIT_MS = 150_000;
/** Factor on a test's own timeout, which fires first and reports more about the test. */
const TEST_TIMEOUT_FACTOR = 1.25;

/** Ends runs that vitest's own limits do not end: with a blocked worker, or a wait before or after the tests. */
export class Watchdog implements Reporter {
  readonly #limit: number;
  /** Running files by id, since the objects of one file differ between reports. */
  readonly #files = new Map<string, RunningFile>();
  #root = "";
  #reportedAt = performance.now();

  constructor(limit = LIMIT_MS) {
    this.#limit = limit;
  }

  onInit(vitest: Vitest): void {
    this.#root = vitest.config.root;
    setInterval(() => this.#check(), this.#limit / 50).unref();
  }

  onTestModuleQueued(module: TestModule): void {
    const file = relative(this.#root, module.moduleId);
    this.#files.set(module.id, { file, reportedAt: 0, report: "", tests: new Set(), hooks: new Set() });
    this.#record(module, "it began to load");
  }

  onTestModuleCollected(module: TestModule): void {
    this.#record(module, "it was loaded");
  }

  onTestCaseReady(test: TestCase): void {
    this.#record(test.module, `"${test.fullName}" began`)?.tests.add(test);
  }

  onTestCaseResult(test: TestCase): void {
    this.#record(test.module, `"${test.fullName}" ended`)?.tests.delete(test);
  }

  onHookStart(hook: ReportedHookContext): void {
    const name = hookName(hook);
    this.#record(hookModule(hook.entity), `${name} began`)?.hooks.add(name);
  }

  onHookEnd(hook: ReportedHookContext): void {
    const name = hookName(hook);
    this.#record(hookModule(hook.entity), `${name} ended`)?.hooks.delete(name);
  }

  onTestModuleEnd(module: TestModule): void {
    this.#record(module, "it ended");
    this.#files.delete(module.id);
  }

  #record(module: TestModule, report: string): RunningFile | undefined {
    const running = this.#files.get(module.id);
    this.#reportedAt = performance.now();
    if (running) Object.assign(running, { reportedAt: this.#reportedAt, report });
    return running;
  }

  #check(): void {
    const now = performance.now();
    const files = [...this.#files.values()];
    if (files.some((running) => now - running.reportedAt > this.#silenceLimit(running)))
      this.#end(files.map((running) => describeFile(running, now)));
    else if (files.length === 0 && now - this.#reportedAt > this.#limit) this.#end(["no test file runs"]);
  }

  #silenceLimit({ tests }: RunningFile): number {
    return Math.max(this.#limit, ...[...tests].map(({ options }) => (options.timeout ?? 0) * TEST_TIMEOUT_FACTOR));
  }

  #end(lines: string[]): void {
    process.stderr.write(`\nthe run hangs and is ended\n${lines.map((line) => `  ${line}\n`).join("")}`);
    for (const pid of listDescendants()) kill(pid);
    process.exit(1);
  }
}

function describeFile({ file, reportedAt, report, tests, hooks }: RunningFile, now: number): string {
  const silent = `${file}: silent for ${Math.round((now - reportedAt) / 1000)} s since ${report}`;
  const waiting = [...[...tests].map(({ fullName }) => `the test "${fullName}"`), ...hooks];
  return waiting.length > 0 ? `${silent}; waits for ${waiting.join(", ")}` : silent;
}

const hookModule = (entity: ReportedHookContext["entity"]): TestModule =>
  entity.type === "module" ? entity : entity.module;

function hookName({ name, entity }: ReportedHookContext): string {
  const owner = entity.type === "module" ? "the file" : `"${(entity as TestCase | TestSuite).fullName}"`;
  return `${name} of ${owner}`;
}

function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // The process has ended.
  }
}

/** Returns the ids of all descendants: the workers and the processes that their tests started. */
function listDescendants(): number[] {
  const parents = readParents();
  const isBelow = (pid: number): boolean => {
    const parent = parents.get(pid);
    return parent === process.pid || (parent !== undefined && isBelow(parent));
  };
  return [...parents.keys()].filter(isBelow);
}

/** Returns the id of each process's parent. */
function readParents(): Map<number, number> {
  if (!existsSync("/proc/self/stat")) {
    const table = execFileSync("ps", ["-A", "-o", "pid=,ppid="], { encoding: "utf8" });
    return new Map(table.trim().split("\n").map((row) => row.trim().split(/\s+/).map(Number) as [number, number])); // prettier-ignore
  }
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  return new Map(pids.flatMap((pid) => readParent(pid)));
}

/** Returns the id of a process with that of its parent, or nothing if the process has ended. */
function readParent(pid: string): [number, number][] {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "utf8");
    // After the name in parentheses: the state, and the id of the parent.
    const [, parent] = text.slice(text.lastIndexOf(")") + 2).split(" ");
    return [[Number(pid), Number(parent)]];
  } catch {
    return [];
  }
}
