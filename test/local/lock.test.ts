/** Tests the lock of a state file, which only one process may hold, also after processes were killed. */
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdir, mkdtemp, readdir, rename, rm, symlink, writeFile } from "node:fs/promises";
import { createServer, type Server, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { createInterface } from "node:readline";
import { setTimeout } from "node:timers/promises";
import { build } from "esbuild";
import { afterAll, afterEach, beforeAll, describe, expect, test } from "vitest";
import { acquireLock, AlreadyRunning, type Lock } from "../../local/lock.ts";
import type { AcquireFolder } from "../../local/lock_types.ts";
import { LONG } from "../support/run_length.ts";
import { holdFolderWithin } from "../../local/lock_folder.ts";

let base: string;
const children: ChildProcess[] = [];
const locks: Lock[] = [];
const servers: Server[] = [];

/** A program that tries to take the lock, prints the result, and keeps running. */
const PROGRAM = `
  import { acquireLock } from "./lock.ts";
  const result = await acquireLock(process.argv[2]).then(() => "locked", (error) => error.name + ": " + error.message);
  console.log(result);
  process.stdin.resume();
`;

beforeAll(async () => {
  base = await mkdtemp(join(tmpdir(), "lock-"));
  const stdin = { contents: PROGRAM, resolveDir: join(import.meta.dirname, "../../local"), loader: "ts" as const };
  const outfile = join(base, "program.mjs");
  await build({ stdin, outfile, bundle: true, platform: "node", format: "esm", logLevel: "error" });
});
afterEach(async () => {
  for (const child of children.splice(0)) child.kill("SIGKILL");
  for (const lock of locks.splice(0)) await lock.release();
  for (const server of servers.splice(0)) server.close();
});
afterAll(() => rm(base, { recursive: true }));

async function startProcess(path: string, cwd = base) {
  const child = spawn(process.execPath, [join(base, "program.mjs"), path], { cwd, stdio: ["pipe", "pipe", "inherit"] });
  children.push(child);
  const [printed] = (await once(createInterface(child.stdout!), "line")) as [string];
  return { child, printed };
}

async function takeLock(path: string, hold?: AcquireFolder): Promise<Lock> {
  const acquired = await acquireLock(path, hold);
  locks.push(acquired);
  return acquired;
}

const newStatePath = async () => join(await mkdtemp(join(base, "case-")), "state.json");
const inUseMessage = (path: string) =>
  `AlreadyRunning: ${path} is in use by another ui_server; stop that one, or give this one another --state`;

describe("between processes", () => {
  test("a second process is rejected while the first runs, but not after it was killed", async () => {
    const path = await newStatePath();
    const first = await startProcess(path);
    expect(first.printed).toBe("locked");
    expect((await startProcess(path)).printed).toBe(inUseMessage(path));
    first.child.kill("SIGKILL");
    await once(first.child, "exit");
    expect((await startProcess(path)).printed).toBe("locked");
    expect((await startProcess(path)).printed).toBe(inUseMessage(path));
    expect(await readdir(`${path}.lock`)).toHaveLength(1);
  });

  test("a suspended process still holds the lock", async () => {
    const path = await newStatePath();
    const { child } = await startProcess(path);
    child.kill("SIGSTOP");
    await expect(acquireLock(path, holdFolderWithin(50))).rejects.toThrow(AlreadyRunning);
    child.kill("SIGCONT");
  });

  const PROCESSES = LONG ? 10 : 4;
  test(`of ${PROCESSES} processes started concurrently one gets the lock, also after killed ones`, async () => {
    const path = await newStatePath();
    for (let round = 0; round < 2; round++) {
      const contenders = await Promise.all(Array.from({ length: PROCESSES }, () => startProcess(path)));
      expect(contenders.filter(({ printed }) => printed === "locked")).toHaveLength(1);
      expect(contenders.filter(({ printed }) => printed === inUseMessage(path))).toHaveLength(PROCESSES - 1);
      await Promise.all(
        contenders.map(({ child }) => {
          child.kill("SIGKILL");
          return once(child, "exit");
        }),
      );
    }
  });
});

// Contenders listen on sockets with random names in the lock's folder; a smaller name has precedence. A contender with a greater
// name answers "held" if its process holds the lock already, and closes the connection without a text if it gives up.
describe("a contender with", () => {
  const SMALLER = "0".repeat(16);
  const GREATER = "f".repeat(16);
  /** Listens on a socket in the lock's folder and answers each connection by `answer`; returns the state's path. */
  async function startContender(name: string, answer: (socket: Socket) => void) {
    const path = await newStatePath();
    await mkdir(`${path}.lock`);
    const server = createServer((socket) => answer(socket.on("error", () => {})));
    await once(server.listen(join(`${path}.lock`, name)), "listening");
    servers.push(server);
    return path;
  }
  const waitLong = holdFolderWithin(30_000);

  test("a smaller name gets the lock", async () => {
    const path = await startContender(SMALLER, () => {});
    await expect(acquireLock(path, waitLong)).rejects.toThrow(AlreadyRunning);
  });
  test("a greater name keeps the lock if it answers that it holds it", async () => {
    const path = await startContender(GREATER, (socket) => setImmediate(() => socket.end("held")));
    await expect(acquireLock(path, waitLong)).rejects.toThrow(AlreadyRunning);
  });
  test("a greater name that yields does not get the lock", async () => {
    const path = await startContender(GREATER, (socket) => setImmediate(() => socket.end()));
    expect((await takeLock(path, waitLong)).path).toBe(path);
  });
  test("a greater name whose process is killed before it answers loses the lock", async () => {
    const path = await newStatePath();
    const { child } = await startProcess(path);
    const folder = `${path}.lock`;
    const [name] = await readdir(folder);
    // The socket of the process that holds the lock gets a greater name, so that a contender waits for its answer.
    await rename(join(folder, name!), join(folder, GREATER));
    child.kill("SIGSTOP");
    const acquired = takeLock(path, waitLong);
    // Waits until the contender listens too.
    while ((await readdir(folder)).length < 2);
    await setTimeout(20); // in this time the connection reaches the queue of the stopped process
    child.kill("SIGKILL");
    expect((await acquired).path).toBe(path);
  });
  test("a greater name that does not answer counts as holding the lock", async () => {
    const path = await startContender(GREATER, () => {});
    await expect(acquireLock(path, holdFolderWithin(20))).rejects.toThrow(AlreadyRunning);
  });
});

test("of many concurrent attempts exactly one gets the lock, in each round", async () => {
  const path = await newStatePath();
  for (let round = 0; round < 30; round++) {
    const outcomes = await Promise.allSettled(Array.from({ length: 12 }, () => acquireLock(path)));
    const winners = outcomes.filter((outcome) => outcome.status === "fulfilled");
    const rejections = outcomes.filter((outcome) => outcome.status === "rejected");
    expect([winners.length, rejections.length]).toEqual([1, 11]);
    for (const { reason } of rejections) expect(reason).toBeInstanceOf(AlreadyRunning);
    await winners[0]!.value.release();
  }
  expect(await readdir(`${path}.lock`)).toEqual([]);
});

test("after its release the lock can be taken again", async () => {
  const path = await newStatePath();
  await (await acquireLock(path)).release();
  expect((await takeLock(path)).path).toBe(path);
});

test("the folder of the state file is created", async () => {
  const path = join(await mkdtemp(join(base, "case-")), "a", "b", "state.json");
  expect((await takeLock(path)).path).toBe(path);
});

test("two state files in one folder are two locks", async () => {
  const path = await newStatePath();
  await takeLock(path);
  expect((await takeLock(join(path, "../other.json"))).path).not.toBe(path);
});

test("a folder whose path is too long for a socket's address can be locked", async () => {
  const folder = join(await mkdtemp(join(base, "case-")), ...Array.from({ length: 4 }, () => "d".repeat(60)));
  const path = join(folder, "state.json");
  const { child, printed } = await startProcess(path);
  expect(printed).toBe("locked");
  await expect(acquireLock(path)).rejects.toThrow(AlreadyRunning);
  child.kill("SIGKILL");
  await once(child, "exit");
  expect((await takeLock(path)).path).toBe(path);
});

describe("all paths of one file are the same lock:", () => {
  test("a relative path", async () => {
    const path = await newStatePath();
    expect((await takeLock(relative(process.cwd(), path))).path).toBe(path);
    await expect(acquireLock(path)).rejects.toThrow(AlreadyRunning);
  });
  test("a link to its folder", async () => {
    const path = await newStatePath();
    await symlink(join(path, ".."), join(path, "../link"));
    await takeLock(path);
    await expect(acquireLock(join(path, "../link/state.json"))).rejects.toThrow(AlreadyRunning);
  });
  test.each(["before", "after"])("a link to the file, taken %s the file is created", async (when) => {
    const path = await newStatePath();
    await mkdir(join(path, "../elsewhere"));
    await symlink("../state.json", join(path, "../elsewhere/linked.json"));
    if (when === "after") await writeFile(path, "{}");
    expect((await takeLock(join(path, "../elsewhere/linked.json"))).path).toBe(path);
    await expect(acquireLock(path)).rejects.toThrow(AlreadyRunning);
  });
});

describe.runIf(process.platform === "linux")("on a file system without sockets", () => {
  const withoutSockets: AcquireFolder = () => Promise.reject(Object.assign(new Error("bind EPERM"), { code: "EPERM" }));

  test("one process holds the lock until it releases it", async () => {
    const path = await newStatePath();
    const first = await acquireLock(path, withoutSockets);
    await expect(acquireLock(path, withoutSockets)).rejects.toThrow(AlreadyRunning);
    await first.release();
    await takeLock(path, withoutSockets);
    await takeLock(join(path, "../other.json"), withoutSockets);
  });
  test("another error of the socket is thrown", async () => {
    const withFullDisk: AcquireFolder = () => Promise.reject(Object.assign(new Error("disk full"), { code: "ENOSPC" }));
    await expect(acquireLock(await newStatePath(), withFullDisk)).rejects.toThrow("disk full");
  });
});
