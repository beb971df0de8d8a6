/** Starts the programs under test, each in its own process on the first core; the measuring process uses the second core. */
import { fork, spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, open, readdir, readFile, rm } from "node:fs/promises";
import { availableParallelism, tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout } from "node:timers/promises";
import { fileURLToPath } from "node:url";
import { processorTime } from "./cpu_time.mjs";

const PROGRAM = fileURLToPath(new URL("../../dist/local/ui_server.js", import.meta.url));
const INTENT = fileURLToPath(new URL("../../dist/local/example/product_intent.json", import.meta.url));
const PACKAGE = JSON.parse(await readFile(new URL("../../package.json", import.meta.url), "utf8"));
/** Options of Node in `npm start`. */
const FLAGS = PACKAGE.scripts.start.split(" ").filter((word) => word.startsWith("--v8"));
const PROBE = new URL("pause_probe.mjs", import.meta.url).href;
const REFERENCE = fileURLToPath(new URL("reference.mjs", import.meta.url));

const pinned = availableParallelism() > 1 && pin(process.pid, 1);
/** Describes the cores that the programs use. */
export const where = pinned ? "server on one core, client on another" : "server and client on any core";

const running = new Set();
const folders = [];

/** Binds all threads of a process to a core; returns false where that fails. */
function pin(pid, core) {
  return spawnSync("taskset", ["-a", "-c", "-p", String(core), String(pid)]).status === 0;
}

function registerChild(child) {
  if (pinned) pin(child.pid, 0);
  running.add(child);
  child.once("exit", () => running.delete(child));
  return child;
}

/** Creates a folder, which `endAll` removes. */
export async function temporaryFolder() {
  const folder = await mkdtemp(join(tmpdir(), "countersign-bench-"));
  folders.push(folder);
  return folder;
}

/** Starts the built service on a state file with further options; `tookMs` is the time from the spawn until it listens. */
export async function startService(folder, state = join(folder, "state.json"), options = []) {
  const began = performance.now();
  const args = [
    ...FLAGS,
    `--import=${PROBE}`,
    PROGRAM,
    "--port",
    "0",
    "--cycle-interval",
    "0",
    "--state",
    state,
    "--product-intent",
    INTENT,
    ...options,
  ];
  const child = registerChild(spawn(process.execPath, args, { stdio: ["ignore", "ignore", "pipe", "ipc"] }));
  for await (const line of createInterface({ input: child.stderr })) {
    const { message, url } = JSON.parse(line);
    if (message !== "listening") continue;
    const tookMs = performance.now() - began;
    // Later lines are not read; without this, the service would wait once the pipe is full.
    child.stderr.resume();
    return { child, folder, tookMs, port: Number(new URL(url).port) };
  }
  throw new Error("the service did not start");
}

/** Starts a plain node:http server with the same options of Node; `setAnswerBytes` sets the length of its responses. */
export async function startReference() {
  const child = registerChild(fork(REFERENCE, { execArgv: FLAGS }));
  const [{ port }] = await once(child, "message");
  return {
    child,
    port,
    async setAnswerBytes(bytes) {
      child.send({ bytes: Math.round(bytes) });
      await once(child, "message");
    },
  };
}

/** Stops a program with SIGTERM and waits until it has ended. */
export async function stop({ child }) {
  child.kill("SIGTERM");
  if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
}

/** Kills all running programs and removes the temporary folders. */
export async function endAll() {
  for (const child of running) child.kill("SIGKILL");
  for (const folder of folders) await rm(folder, { recursive: true, force: true });
}

/** Returns the resident memory in MiB; NaN without /proc. */
export async function measureMemory({ child }) {
  const status = await readFile(`/proc/${child.pid}/status`, "utf8").catch(() => "");
  return Number(/VmRSS:\s+(\d+)/.exec(status)?.[1] ?? NaN) / 1024;
}

/** Returns the bytes in the service's files, without the zeros of space reserved in advance. */
export async function countFolderBytes({ folder }) {
  const names = (await readdir(folder, { recursive: true, withFileTypes: true })).filter((entry) => entry.isFile());
  const sizes = await Promise.all(names.map(({ parentPath, name }) => countWrittenBytes(join(parentPath, name))));
  return sizes.reduce((sum, size) => sum + size, 0);
}

const CHUNK_BYTES = 64 * 1024;

/** Returns the size of a file up to its last byte that is not zero, reading from the end. */
async function countWrittenBytes(path) {
  const file = await open(path).catch((fault) => {
    // A temporary file that was renamed since the folder was listed.
    if (fault.code !== "ENOENT") throw fault;
  });
  if (file === undefined) return 0;
  try {
    for (let { size: end } = await file.stat(); end > 0; end -= CHUNK_BYTES) {
      const from = Math.max(0, end - CHUNK_BYTES);
      const { buffer } = await file.read(Buffer.alloc(end - from), 0, end - from, from);
      const last = buffer.findLastIndex((byte) => byte !== 0);
      if (last !== -1) return from + last + 1;
    }
    return 0;
  } finally {
    await file.close();
  }
}

/** Runs a cycle, after which all projections are current; reads that must update projections are not measured. */
export async function runCycle({ port }) {
  const body = new URLSearchParams({ action: "cycle" });
  const answer = await fetch(`http://127.0.0.1:${port}/api/action/run-now`, { method: "POST", body });
  if (!answer.ok) throw new Error(`a cycle answered ${answer.status}`);
}

const SAMPLE_MS = 200;

/** Waits until a program uses less than a tenth of a core during a sample; without /proc waits for one sample. */
export async function waitUntilIdle(server) {
  let before = await processorTime(server);
  const maxUsedUs = (SAMPLE_MS * 1000) / 10;
  for (let used = Infinity; used > maxUsedUs;) {
    await setTimeout(SAMPLE_MS);
    const now = await processorTime(server);
    [used, before] = [now - before, now];
  }
}

/** Returns the longest pause of the service's event loop during `run`, in milliseconds; `PROBE` answers the messages. */
export async function longestPause({ child }, run) {
  child.send("watch");
  await run();
  child.send("report");
  const [{ longest }] = await once(child, "message");
  return longest;
}
