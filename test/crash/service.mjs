/** The program as a process that can be killed at any moment. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";

const START_LIMIT_MS = 20_000;
/** The longest that an answer may take. */
export const ANSWER_LIMIT_MS = 15_000;

const alive = new Set();
process.on("exit", () => alive.forEach((end) => end()));

/**
 * Spawns the program in a folder; `listening` resolves with its address, or rejects with the end of its log. `under` is a
 * command that runs it, such as a tracer; both are killed together. `node`: options of Node. `files`: where it keeps what. `log`: the last lines of its log.
 */
export function spawnService(
  program,
  intent,
  cwd,
  {
    under = [],
    node = [],
    env = {},
    args = [],
    files = ["--state", "data/state.json", "--product-config", "data/product_config.json"],
  } = {},
) {
  const all = [program, "--port", "0", "--product-intent", intent, ...files, "--cycle-interval", "1", ...args];
  const [command, ...rest] = [...under, process.execPath, ...node, ...all];
  const child = spawn(command, rest, {
    cwd,
    env: { PATH: process.env.PATH, ...env },
    stdio: ["ignore", "ignore", "pipe"],
    detached: true,
  });
  const spawned = performance.now();
  const end = () => {
    try {
      process.kill(-child.pid, "SIGKILL");
    } catch {
      // It has ended by itself.
    }
  };
  alive.add(end);
  const ended = once(child, "close").finally(() => alive.delete(end));
  const log = [];
  const service = { child, ended, log, url: undefined, took: undefined, killed: false };
  service.listening = new Promise((resolve, reject) => {
    const limit = setTimeout(end, START_LIMIT_MS);
    createInterface(child.stderr).on("line", (line) => {
      if (log.push(line) > 200) log.shift();
      if (service.url !== undefined || !line.includes('"listening"')) return;
      clearTimeout(limit);
      Object.assign(service, { url: JSON.parse(line).url, took: performance.now() - spawned });
      resolve(service.url);
    });
    void ended.then(() => (clearTimeout(limit), reject(new Error(`ended before it listened: ${log.at(-1) ?? ""}`))));
  });
  service.listening.catch(() => undefined);
  service.kill = async () => {
    service.killed = true;
    end();
    await ended;
  };
  return service;
}

/** Asks the service; throws when no whole answer comes. */
export async function ask(url, path, { fields, key } = {}) {
  const sent = fields && { method: "POST", body: new URLSearchParams(fields), headers: { "idempotency-key": key } };
  const response = await fetch(`${url}${path}`, { ...sent, signal: AbortSignal.timeout(ANSWER_LIMIT_MS) });
  return { status: response.status, body: await response.json() };
}
