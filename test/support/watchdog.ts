/** A reporter that ends a run in which a test file shows no sign of life, and tells what it waited for. */
import { execFileSync } from "node:child_process";
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { relative } from "node:path";
import type { ReportedHookContext, Reporter, TestCase, TestModule, TestSuite, Vitest } from "vitest/node";

/** Activities of a running file. */
interface Life {
  file: string;
  /** When it was last heard of, and of what. */
  heard: number;
  last: string;
  tests: Set<TestCase>;
  hooks: Set<string>;
}

/** Longer than any hook may take. */
const LIMIT_MS = 150_000;
/** A test may take what it says itself, and its own limit, which comes first, tells more about it. */
const BEYOND_A_TEST = 1.25;

/** Vitest limits tests and hooks; this also ends what blocks a worker, and what waits before or after the tests. */
export class Watchdog implements Reporter {
  readonly #limit: number;
  /** By the id of the file: its first report is another object than later ones. */
  readonly #lives = new Map<string, Life>();
  #root = "";
  #heard = performance.now();

  constructor(limit = LIMIT_MS) {
    this.#limit = limit;
  }

  onInit(vitest: Vitest): void {
    this.#root = vitest.config.root;
    setInterval(() => this.#look(), this.#limit / 50).unref();
  }

  onTestModuleQueued(module: TestModule): void {
    const file = relative(this.#root, module.moduleId);
    this.#lives.set(module.id, { file, heard: 0, last: "", tests: new Set(), hooks: new Set() });
    this.#hear(module, "it began to load");
  }

  onTestModuleCollected(module: TestModule): void {
    this.#hear(module, "it was loaded");
  }

  onTestCaseReady(test: TestCase): void {
    this.#hear(test.module, `"${test.fullName}" began`)?.tests.add(test);
  }

  onTestCaseResult(test: TestCase): void {
    this.#hear(test.module, `"${test.fullName}" ended`)?.tests.delete(test);
  }

  onHookStart(hook: ReportedHookContext): void {
    const name = nameOf(hook);
    this.#hear(moduleOf(hook.entity), `${name} began`)?.hooks.add(name);
  }

  onHookEnd(hook: ReportedHookContext): void {
    const name = nameOf(hook);
    this.#hear(moduleOf(hook.entity), `${name} ended`)?.hooks.delete(name);
  }

  onTestModuleEnd(module: TestModule): void {
    this.#hear(module, "it ended");
    this.#lives.delete(module.id);
  }

  #hear(module: TestModule, last: string): Life | undefined {
    const life = this.#lives.get(module.id);
    this.#heard = performance.now();
    if (life) Object.assign(life, { heard: this.#heard, last });
    return life;
  }

  #look(): void {
    const now = performance.now();
    const lives = [...this.#lives.values()];
    if (lives.some((life) => now - life.heard > this.#patience(life)))
      this.#end(lives.map((life) => reported(life, now)));
    else if (lives.length === 0 && now - this.#heard > this.#limit) this.#end(["no test file runs"]);
  }

  #patience({ tests }: Life): number {
    return Math.max(this.#limit, ...[...tests].map(({ options }) => (options.timeout ?? 0) * BEYOND_A_TEST));
  }

  #end(lines: string[]): void {
    process.stderr.write(`\nthe run hangs and is ended\n${lines.map((line) => `  ${line}\n`).join("")}`);
    for (const pid of descendants()) kill(pid);
    process.exit(1);
  }
}

function reported({ file, heard, last, tests, hooks }: Life, now: number): string {
  const silent = `${file}: silent for ${Math.round((now - heard) / 1000)} s since ${last}`;
  const waiting = [...[...tests].map(({ fullName }) => `the test "${fullName}"`), ...hooks];
  return waiting.length > 0 ? `${silent}; waits for ${waiting.join(", ")}` : silent;
}

const moduleOf = (entity: ReportedHookContext["entity"]): TestModule =>
  entity.type === "module" ? entity : entity.module;

function nameOf({ name, entity }: ReportedHookContext): string {
  const of = entity.type === "module" ? "the file" : `"${(entity as TestCase | TestSuite).fullName}"`;
  return `${name} of ${of}`;
}

function kill(pid: number): void {
  try {
    process.kill(pid, "SIGKILL");
  } catch {
    // It has ended.
  }
}

/** The processes below this one: the workers, and what the tests in them have started. */
function descendants(): number[] {
  const parents = parentsOfAll();
  const isBelow = (pid: number): boolean => {
    const parent = parents.get(pid);
    return parent === process.pid || (parent !== undefined && isBelow(parent));
  };
  return [...parents.keys()].filter(isBelow);
}

function parentsOfAll(): Map<number, number> {
  if (!existsSync("/proc/self/stat")) {
    const table = execFileSync("ps", ["-A", "-o", "pid=,ppid="], { encoding: "utf8" });
    return new Map(table.trim().split("\n").map((row) => row.trim().split(/\s+/).map(Number) as [number, number])); // prettier-ignore
  }
  const pids = readdirSync("/proc").filter((name) => /^\d+$/.test(name));
  return new Map(pids.flatMap((pid) => parentOf(pid)));
}

function parentOf(pid: string): [number, number][] {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, "utf8");
    const [, parent] = text.slice(text.lastIndexOf(")") + 2).split(" ");
    return [[Number(pid), Number(parent)]];
  } catch {
    return [];
  }
}
