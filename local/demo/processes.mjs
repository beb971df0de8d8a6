/** Starts the processes of the demo and reads their output; no process outlives the demo. */
import { fork } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";

const EXIT_WITH_PARENT = new URL("exit_with_parent.mjs", import.meta.url).href;

/** The environment without variables for a real service, which the user's shell may set. */
const environment = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("SVC_")));

/** Creates an empty list of processes; `failed` rejects as soon as a process ends with an error. */
export function createProcesses() {
  const running = new Set();
  let ending = false;
  let fail;
  const failed = new Promise((_, reject) => (fail = reject));
  // A failure before anybody awaits `failed` must not end the demo as an unhandled rejection.
  failed.catch(() => {});

  /** Starts a script; `waitForLine(parse)` resolves with the first value other than undefined that `parse` returns for a line. */
  function start(script, args, { cwd, env = {}, imports = [] }) {
    if (ending) throw new Error("the demo is ending");
    const child = fork(script, args, {
      cwd,
      env: { ...environment, ...env },
      execArgv: [EXIT_WITH_PARENT, ...imports].flatMap((module) => ["--import", module]),
      stdio: ["ignore", "pipe", "pipe", "ipc"],
      // Ctrl-C then reaches the demo only, which ends its processes one after the other.
      detached: process.platform !== "win32",
    });
    running.add(child);
    const lines = [];
    const listeners = new Set();
    const addLine = (text) => {
      lines.push(text);
      for (const listener of listeners) listener(text);
    };
    for (const stream of [child.stdout, child.stderr]) createInterface(stream).on("line", addLine);
    child.once("error", fail);
    child.once("close", (code, signal) => {
      running.delete(child);
      if (code !== 0 && !ending)
        fail(new Error([`${script} ended (${signal ?? code})`, ...lines.slice(-5)].join("\n  ")));
    });
    const waitForLine = (parse) =>
      new Promise((resolve) => {
        const listener = (text) => {
          const value = parse(text);
          if (value === undefined) return;
          listeners.delete(listener);
          resolve(value);
        };
        listeners.add(listener);
        lines.forEach(listener);
      });
    return { child, waitForLine };
  }

  /** Ends all processes, the last started first. */
  async function end() {
    ending = true;
    for (const child of [...running].reverse()) {
      const closed = once(child, "close");
      if (running.has(child) && child.kill("SIGTERM")) await closed;
    }
  }

  return { start, end, failed };
}
