/** Runs the built program as a process, like a user. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { createInterface } from "node:readline";
import * as esbuild from "esbuild";
// @ts-expect-error a build script without types
import { build } from "../../esbuild.config.mjs";

const ROOT = join(import.meta.dirname, "../..");

/** Paths of the programs, which are built once for each test process. */
let publishedPath: Promise<string> | undefined;
let quickPath: Promise<string> | undefined;

/** Returns the path of the built `ui_server.js`, as it is published, next to a link to the packages it imports. */
export function program(): Promise<string> {
  return (publishedPath ??= buildIn(temporaryFolder()));
}

async function buildIn(folder: string): Promise<string> {
  symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"));
  await (build as (outdir: string) => Promise<void>)(join(folder, "dist"));
  return join(folder, "dist/local/ui_server.js");
}

/** Returns the path of the program bundled with its packages into one file, which starts twice as fast. */
export function quickProgram(): Promise<string> {
  return (quickPath ??= bundleWithPackages(program()));
}

async function bundleWithPackages(built: Promise<string>): Promise<string> {
  const outfile = join(dirname(await built), "quick.mjs");
  await esbuild.build({
    absWorkingDir: ROOT,
    entryPoints: ["local/ui_server.ts"],
    outfile,
    bundle: true,
    format: "esm",
    platform: "node",
    target: "node20.19",
    // Bundled CommonJS packages call `require`, which an ES module lacks.
    banner: { js: 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);' },
  });
  return outfile;
}

/** Creates a folder. It is removed at the end of the run, since test/vitest.config.ts sets `TMPDIR` to a folder of the run. */
export function temporaryFolder(): string {
  return mkdtempSync(join(tmpdir(), "e2e-"));
}

/** A line of the program's log. */
export type LogLine = Record<string, unknown> & { message: string };

/** A process of the program. */
export interface Process {
  child: ChildProcess;
  /** All lines written so far. */
  stdout: string[];
  stderr: string[];
  /** Resolves with the first log line of this message; rejects when the process ends without it. */
  logged(message: string): Promise<LogLine>;
  /** Resolves when the process has ended and all its output was read. */
  ended: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
}

/** Running programs and their folders. */
const running = new Map<ChildProcess, string>();

/** Kills all programs that tests left running. */
export const killAll = (): Promise<void> => killProcesses([...running.keys()]);

/** Kills the programs that are still running in a folder. */
export const killServers = (folder: string): Promise<void> =>
  killProcesses([...running].flatMap(([child, cwd]) => (cwd === folder ? [child] : [])));

async function killProcesses(children: readonly ChildProcess[]): Promise<void> {
  await Promise.all(
    children.map((child) => {
      child.kill("SIGKILL");
      return once(child, "close");
    }),
  );
}

/** Starts the program in a folder, with only `PATH` from the environment of this process. */
export async function launch(
  cwd: string,
  args: readonly string[],
  env: Record<string, string> = {},
  built = quickProgram(),
  node = process.execPath,
): Promise<Process> {
  const child = spawn(node, [await built, ...args], {
    cwd,
    env: { PATH: process.env["PATH"], ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  running.set(child, cwd);
  const stdout: string[] = [];
  const stderr: string[] = [];
  createInterface(child.stdout!).on("line", (line) => stdout.push(line));
  const lines = createInterface(child.stderr!).on("line", (line) => stderr.push(line));
  const ended = once(child, "close").then(([code, signal]) => {
    running.delete(child);
    return { code, signal };
  });
  const logged = (message: string) =>
    new Promise<LogLine>((resolve, reject) => {
      const readLine = (line: string) => {
        const parsed = line.startsWith("{") ? (JSON.parse(line) as LogLine) : undefined;
        if (parsed?.message === message) resolve(parsed);
      };
      stderr.forEach(readLine);
      lines.on("line", readLine);
      void ended.then(() => reject(new Error(`ended without logging "${message}":\n${stderr.join("\n")}`)));
    });
  return { child, stdout, stderr, logged, ended };
}

/** A process that listens. */
export interface Server extends Process {
  url: string;
}

/** Starts the program on a free port and waits until it listens. */
export async function serve(
  cwd: string,
  args: readonly string[] = [],
  env: Record<string, string> = {},
  built = quickProgram(),
  node = process.execPath,
): Promise<Server> {
  const started = await launch(cwd, ["--port=0", ...args], env, built, node);
  const { url } = await started.logged("listening");
  return { ...started, url: url as string };
}
