/** Runs the built program as a process of its own, as a user would. */
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
// @ts-expect-error a build script without types
import { build } from "../../esbuild.config.mjs";

/** Built once for each test file, beside a link to the packages it imports; gone with the test process. */
let built: Promise<string> | undefined;

/** The path of the built `ui_server.js`. */
export function program(): Promise<string> {
  return (built ??= buildIn(temporaryFolder()));
}

async function buildIn(folder: string): Promise<string> {
  symlinkSync(join(import.meta.dirname, "../../node_modules"), join(folder, "node_modules"));
  await (build as (outdir: string) => Promise<void>)(join(folder, "dist"));
  return join(folder, "dist/local/ui_server.js");
}

const folders: string[] = [];
process.once("exit", () => folders.forEach((folder) => rmSync(folder, { recursive: true, force: true })));

/** A folder that is removed when the test process ends. */
export function temporaryFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "countersign-e2e-"));
  folders.push(folder);
  return folder;
}

/** A line of the program's log. */
export type LogLine = Record<string, unknown> & { message: string };

/** A process of the program. */
export interface Process {
  child: ChildProcess;
  /** Everything written so far, line by line. */
  stdout: string[];
  stderr: string[];
  /** Resolves with the first log line of this message; rejects when the process ends without it. */
  logged(message: string): Promise<LogLine>;
  /** Resolves when the process has ended and all it wrote has arrived. */
  ended: Promise<{ code: number | null; signal: NodeJS.Signals | null }>;
}

const alive = new Set<ChildProcess>();

/** Kills what a test left running. */
export async function killAll(): Promise<void> {
  await Promise.all([...alive].map((child) => (child.kill("SIGKILL"), once(child, "close"))));
}

/** Starts the program in a folder, with nothing of this process' environment but `PATH`. */
export async function launch(cwd: string, args: readonly string[], env: Record<string, string> = {}): Promise<Process> {
  const path = await program();
  const child = spawn(process.execPath, [path, ...args], {
    cwd,
    env: { PATH: process.env["PATH"], ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  alive.add(child);
  const stdout: string[] = [];
  const stderr: string[] = [];
  createInterface(child.stdout!).on("line", (line) => stdout.push(line));
  const lines = createInterface(child.stderr!).on("line", (line) => stderr.push(line));
  const ended = once(child, "close").then(([code, signal]) => {
    alive.delete(child);
    return { code, signal };
  });
  const logged = (message: string) =>
    new Promise<LogLine>((resolve, reject) => {
      const look = (line: string) => {
        const parsed = line.startsWith("{") ? (JSON.parse(line) as LogLine) : undefined;
        if (parsed?.message === message) resolve(parsed);
      };
      stderr.forEach(look);
      lines.on("line", look);
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
): Promise<Server> {
  const started = await launch(cwd, ["--port=0", ...args], env);
  const { url } = await started.logged("listening");
  return { ...started, url: url as string };
}
