/**
 * Holds a folder by a listening socket in it. Sockets die with their process, and are found through the file system, so
 * this holds between containers that share a volume, where process numbers mean nothing.
 *
 * Every contender listens under a name of its own, which is never used again, and then asks all others it finds. Of two
 * contenders the one that looks later finds the other: it gives way to a smaller name, and waits for what becomes of a
 * greater one. So two never win; and since the smallest gives way to none but a holder, one does.
 */
import { randomBytes } from "node:crypto";
import { mkdtemp, readdir, rm, symlink } from "node:fs/promises";
import { connect, createServer, type Socket } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Asked, Hold } from "./lock_hold.ts";

/** Answer of a socket once its process holds the folder; one that gives way closes without a word. */
export const HELD = "held";
/** Socket addresses have 104 bytes on macOS, 108 on Linux. */
const MAX_ADDRESS = 100;
/** Error codes of a connection to a socket whose process is gone. */
export const GONE = ["ECONNREFUSED", "ENOENT", "ECONNRESET"];

/**
 * Holds the folder, or resolves with undefined when another process does. One that does not answer for `patience`
 * milliseconds (it is stopped, or busy) counts as holding it.
 */
export const holdFolderWithin =
  (patience: number): Hold =>
  async (folder, asked) => {
    const name = randomBytes(8).toString("hex");
    const address = await shortAddress(folder, name.length);
    try {
      const contender = await contend(join(address.folder, name), asked);
      const release = async () => {
        contender.giveWay();
        await rm(join(folder, name), { force: true });
      };
      const others = (await readdir(folder)).filter((other) => other !== name);
      const held = others.map((other) => isHeld(join(address.folder, other), other > name, patience));
      if ((await Promise.all(held)).includes(true)) {
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

/** `holdFolderWithin` with a patience that suits a busy machine. */
export const holdFolder = holdFolderWithin(5000);

/** Listens at a path. Who connects is kept waiting until it is decided whether this process holds the folder. */
async function contend(path: string, asked?: Asked) {
  const waiting = new Set<Socket>();
  let holds = false;
  const tell = (socket: Socket) => {
    if (!asked) return socket.end(HELD, () => socket.destroy());
    socket.write(HELD);
    return asked(socket);
  };
  const server = createServer((socket) => {
    socket.on("error", () => {});
    if (holds) return tell(socket);
    waiting.add(socket);
    return socket.once("close", () => waiting.delete(socket));
  });
  await new Promise<void>((resolve, reject) => server.once("error", reject).listen(path, resolve));
  server.unref();
  return {
    hold() {
      holds = true;
      waiting.forEach(tell);
    },
    giveWay() {
      server.close();
      for (const socket of waiting) socket.destroy();
    },
  };
}

/** Returns whether a contender holds the folder or goes before this one; a greater one is waited for until it is decided. */
function isHeld(path: string, greater: boolean, patience: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path);
    const decide = (held: boolean) => {
      resolve(held);
      socket.destroy();
    };
    socket.setTimeout(patience, () => decide(true));
    socket.on("connect", () => greater || decide(true));
    socket.on("data", () => decide(true));
    socket.on("end", () => decide(false));
    socket.on("error", (error: NodeJS.ErrnoException) => decide(!GONE.includes(error.code ?? "")));
  });
}

/** The folder itself, or, where its path is too long for a socket's address, a link to it for the time being. */
export async function shortAddress(folder: string, nameLength: number) {
  if (Buffer.byteLength(folder) + 1 + nameLength <= MAX_ADDRESS) return { folder, discard: async () => {} };
  const temporary = await mkdtemp(join(tmpdir(), "countersign-"));
  await symlink(folder, join(temporary, "to"));
  return { folder: join(temporary, "to"), discard: () => rm(temporary, { recursive: true }) };
}
