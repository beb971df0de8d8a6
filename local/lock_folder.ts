/**
 * Locks a folder by a listening socket in it. A socket ends with its process and is found through the file system, so the lock
 * also works between containers that share a volume, where process numbers mean nothing.
 *
 * Each contender listens on a socket with a random name, and then connects to all other sockets in the folder. Of two contenders,
 * the one that lists the folder later finds the other. It gives up if the other's name is smaller, and otherwise waits until the
 * other has decided. So two never win; and one always wins, since the smallest name gives up only if another process holds the lock.
 */
import { randomBytes } from "node:crypto";
import { mkdtemp, readdir, rm, symlink } from "node:fs/promises";
import { connect, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { OnConnection, AcquireFolder } from "./lock_types.ts";

/** Greeting of a socket whose process holds the folder; one that gives up closes without a greeting. */
export const HELD_MESSAGE = "held";
/** Socket addresses have 104 bytes on macOS, 108 on Linux. */
const MAX_ADDRESS_BYTES = 100;
/** Error codes of a connection to a socket whose process has ended. */
export const GONE_CODES = ["ECONNREFUSED", "ENOENT", "ECONNRESET"];

/**
 * Creates a function that locks a folder, or resolves with undefined when another process holds the lock. A process that does not
 * answer within `patienceMs` counts as holding it.
 */
export const holdFolderWithin =
  (patienceMs: number): AcquireFolder =>
  async (folder, onConnection) => {
    const name = randomBytes(8).toString("hex");
    const address = await openShortAddress(folder, name.length);
    try {
      const contender = await contend(join(address.folder, name), onConnection);
      const release = async () => {
        contender.giveWay();
        await rm(join(folder, name), { force: true });
      };
      const others = (await readdir(folder)).filter((other) => other !== name);
      const checks = others.map((other) => isHeldByOther(join(address.folder, other), other > name, patienceMs));
      if ((await Promise.all(checks)).includes(true)) {
        await release();
        return undefined;
      }
      contender.hold();
      await Promise.all(others.map((other) => rm(join(folder, other), { force: true })));
      return release;
    } finally {
      await address.discard();
    }
  };

/** Locks a folder, with enough patience for a busy machine. */
export const holdFolder = holdFolderWithin(5000);

/** Listens at a path. Connections wait until it is decided whether this process holds the folder. */
async function contend(path: string, onConnection?: OnConnection) {
  const waiting = new Set<Socket>();
  let isHolding = false;
  const greet = (socket: Socket) => {
    if (!onConnection) return socket.end(HELD_MESSAGE, () => socket.destroy());
    socket.write(HELD_MESSAGE);
    return onConnection(socket);
  };
  const server = createServer((socket) => {
    socket.on("error", () => {});
    if (isHolding) return greet(socket);
    waiting.add(socket);
    return socket.once("close", () => waiting.delete(socket));
  });
  await new Promise<void>((resolve, reject) => server.once("error", reject).listen(path, resolve));
  server.unref();
  return {
    hold() {
      isHolding = true;
      waiting.forEach(greet);
    },
    giveWay() {
      server.close();
      for (const socket of waiting) socket.destroy();
    },
  };
}

/** Checks that a contender holds the folder or has precedence. `isGreater`: its name is greater, so its decision is waited for. */
function isHeldByOther(path: string, isGreater: boolean, patienceMs: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path);
    const decide = (isHeld: boolean) => {
      resolve(isHeld);
      socket.destroy();
    };
    socket.setTimeout(patienceMs, () => decide(true));
    socket.on("connect", () => isGreater || decide(true));
    socket.on("data", () => decide(true));
    socket.on("end", () => decide(false));
    socket.on("error", (error: NodeJS.ErrnoException) => decide(!GONE_CODES.includes(error.code ?? "")));
  });
}

/** Returns the folder, or a temporary link to it if its path is too long for the address of a socket. */
export async function openShortAddress(folder: string, nameLength: number) {
  if (Buffer.byteLength(folder) + 1 + nameLength <= MAX_ADDRESS_BYTES) return { folder, discard: async () => {} };
  const temporary = await mkdtemp(join(tmpdir(), "countersign-"));
  await symlink(folder, join(temporary, "to"));
  return { folder: join(temporary, "to"), discard: () => rm(temporary, { recursive: true }) };
}
