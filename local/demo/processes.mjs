/** The processes of the demo: each is started with a pipe for what it says, and none outlives the demo. */
import { fork } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";

const WITH_THE_DEMO = new URL("with_the_demo.mjs", import.meta.url).href;

/** Environment without the variables that the reader's shell sets for a service of their own. */
const environment = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith("SVC_")));

/** None yet. `failed` rejects as soon as one of them ends with an error. */
export function processes() {
  const running = new Set();
  let ending = false;
  let fail;
  const failed = new Promise((_, reject) => (fail = reject));
  failed.catch(() => {});

  /** Starts a script; `line(pick)` resolves with what `pick` makes of the first line that it makes anything of. */
  function start(script, args, { cwd, env = {}, imports = [] }) {
    if (ending) throw new Error("the demo is ending");
    const child = fork(script, args, {
      cwd,
      env: { ...environment, ...env },
      execArgv: [WITH_THE_DEMO, ...imports].flatMap((module) => ["--import", module]),
      stdio: ["ignore", "pipe", "pipe", "ipc"],
      // Ctrl-C then reaches the demo alone, which ends them one after the other.
      detached: process.platform !== "win32",
    });
    running.add(child);
    const lines = [];
    const listeners = new Set();
    const hear = (text) => {
      lines.push(text);
      for (const listener of listeners) listener(text);
    };
    for (const stream of [child.stdout, child.stderr]) createInterface(stream).on("line", hear);
    child.once("error", fail);
    child.once("close", (code, signal) => {
      running.delete(child);
      if (code !== 0 && !ending)
        fail(new Error([`${script} ended (${signal ?? code})`, ...lines.slice(-5)].join("\n  ")));
    });
    const line = (pick) =>
      new Promise((resolve) => {
        const listener = (text) => {
          const found = pick(text);
          if (found === undefined) return;
          listeners.delete(listener);
          resolve(found);
        };
        listeners.add(listener);
        lines.forEach(listener);
      });
    return { child, line };
  }

  /** Ends them all, the last one first. */
  async function end() {
    ending = true;
    for (const child of [...running].reverse()) {
      const closed = once(child, "close");
      if (running.has(child) && child.kill("SIGTERM")) await closed;
    }
  }

  return { start, end, failed };
}
