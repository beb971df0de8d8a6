/** Runs the program as a process that can be killed at any moment. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";

const START_LIMIT_MS = 20_000;
/** Timeout of a response. */
export const ANSWER_LIMIT_MS = 15_000;

const killFunctions = new Set();
process.on("exit", () => killFunctions.forEach((killProcess) => killProcess()));

/**
 * Spawns the program in a folder; `listening` resolves with its address, or rejects with the last line of its log. `tracer` is a
 * command that runs the program; both are killed together. `node` are options of Node, `files` options for the program's files.
 */
export function spawnService(
  program,
  intent,
  cwd,
  {
    tracer = [],
    node = [],
    env = {},
    args = [],
    files = ["--state", "data/state.json", "--product-config", "data/product_config.json"],
  } = {},
) {
  const programArgs = [program, "--port", "0", "--product-intent", intent, ...files, "--cycle-interval", "1", ...args];
  const [command, ...rest] = [...tracer, process.execPath, ...node, ...programArgs];
  const child = spawn(command, rest, {
    cwd,
    env: { PATH: process.env.PATH, ...env },
    stdio: ["ignore", "ignore", "pipe"],
    // A process group of its own, which is killed as one.
    detached: true,
  });
  const spawned = performance.now();
  const killProcess = () => {
    try {
      process.kill(-child.pid, "SIGKILL");
    } catch {
      // The process has already ended.
    }
  };
  killFunctions.add(killProcess);
  const ended = once(child, "close").finally(() => killFunctions.delete(killProcess));
  const log = [];
  const service = { child, ended, log, url: undefined, took: undefined, killed: false };
  service.listening = new Promise((resolve, reject) => {
    const limit = setTimeout(killProcess, START_LIMIT_MS);
    createInterface(child.stderr).on("line", (line) => {
      if (log.push(line) > 200) log.shift();
      if (service.url !== undefined || !line.includes('"listening"')) return;
      clearTimeout(limit);
      Object.assign(service, { url: JSON.parse(line).url, took: performance.now() - spawned });
      resolve(service.url);
    });
    void ended.then(() => {
      clearTimeout(limit);
      reject(new Error(`ended before it listened: ${log.at(-1) ?? ""}`));
    });
  });
  service.listening.catch(() => undefined);
  service.kill = async () => {
    service.killed = true;
    killProcess();
    await ended;
  };
  return service;
}

/** Sends a request; throws if no complete response arrives. */
export async function ask(url, path, { fields, key } = {}) {
  const request = fields && { method: "POST", body: new URLSearchParams(fields), headers: { "idempotency-key": key } };
  const response = await fetch(`${url}${path}`, { ...request, signal: AbortSignal.timeout(ANSWER_LIMIT_MS) });
  return { status: response.status, body: await response.json() };
}
