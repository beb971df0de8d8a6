/** Runs git without a shell, in its own process group, with limits on time and output. */
import { spawn } from "node:child_process";

/** Longer than a step of an operation, whose signal ends the call first. */
const LIMIT_MS = 60_000;
const MAX_OUTPUT_BYTES = 16 * 1024 * 1024;
const MAX_ERROR_LENGTH = 16 * 1024;

/** One call of git. */
export interface GitCall {
  args: readonly string[];
  /** All of its environment. */
  env: Record<string, string>;
  folder: string;
  input?: string | undefined;
  signal?: AbortSignal | undefined;
  limitMs?: number | undefined;
}

/** The result of a call; `code` is `null` where it was stopped, by its signal or a limit. */
export interface GitResult {
  code: number | null;
  stdout: Buffer;
  stderr: string;
}

/** Runs git once. Rejects when git cannot be started, or the signal has aborted before. */
export function runGit({ args, env, folder, input = "", signal, limitMs = LIMIT_MS }: GitCall): Promise<GitResult> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const child = spawn("git", args, { cwd: folder, env, detached: true, stdio: "pipe" });
    const output: Buffer[] = [];
    let size = 0;
    let stderr = "";
    let isStopped = false;
    const stop = (): void => {
      isStopped = true;
      killGroup(child.pid);
      // A grandchild that left the group may keep the pipes open.
      for (const stream of [child.stdout, child.stderr]) stream.destroy();
    };
    const timer = setTimeout(stop, limitMs);
    signal?.addEventListener("abort", stop, { once: true });
    const end = (): void => {
      clearTimeout(timer);
      signal?.removeEventListener("abort", stop);
    };
    child.stdout.on("data", (chunk: Buffer) => {
      size += chunk.length;
      if (size > MAX_OUTPUT_BYTES) stop();
      else output.push(chunk);
    });
    child.stderr.setEncoding("utf8").on("data", (text: string) => {
      if (stderr.length < MAX_ERROR_LENGTH) stderr += text;
    });
    // Git may end without reading its input.
    child.stdin.on("error", () => undefined).end(input);
    child.on("error", (error: NodeJS.ErrnoException) => {
      end();
      reject(error.code === "ENOENT" ? new Error("git was not found on PATH; install git 2.38 or newer") : error);
    });
    child.on("close", (code) => {
      end();
      resolve({ code: isStopped ? null : code, stdout: Buffer.concat(output), stderr });
    });
  });
}

function killGroup(pid: number | undefined): void {
  if (pid === undefined) return;
  try {
    process.kill(-pid, "SIGKILL");
  } catch {
    // It has ended.
  }
}
