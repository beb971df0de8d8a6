/** Asks the process that has a file store open to change the store's move state. */
import { readdir } from "node:fs/promises";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { splitLines } from "../../lib/store/move/lines.ts";
import { MoveStateConflict, type BulkAccess } from "../../lib/store/bulk_access.ts";
import { HELD_MESSAGE, openShortAddress } from "../lock_folder.ts";
import type { OwnerAnswer, MoveStateRequest } from "./owner_commands.ts";

/** Advice if the owner cannot be reached. */
const STOP_ADVICE = "stop the service that uses it, and give the command again";

/** Finds the process that has a store open by the sockets in the store's lock folder. Returns a `commit` that it executes; undefined if none has it open. */
export async function findOwnerCommit(folder: string): Promise<BulkAccess["commit"] | undefined> {
  const probe = await connectToOwner(folder);
  if (!probe) return undefined;
  // The owner closes idle connections, and a copy takes long, so each request uses a new connection.
  probe.destroy();
  return async (writes, { from, to }) => {
    if (writes.length > 0) throw new Error("only the owner of the store writes records to it");
    const socket = await connectToOwner(folder);
    if (!socket) throw new Error(`the service that uses the store cannot be reached any more: ${STOP_ADVICE}`);
    const answer = await request(socket, { from: from ?? null, to: to ?? null });
    if (!answer) throw new Error(`the service that uses the store does not answer: ${STOP_ADVICE}`);
    if (answer.found !== undefined) throw new MoveStateConflict(answer.found ?? undefined, from);
    if (answer.error !== undefined) throw new Error(answer.error);
  };
}

async function connectToOwner(folder: string): Promise<Socket | undefined> {
  // Without a lock folder no process has the store open.
  const names = await readdir(folder).catch(() => []);
  const address = await openShortAddress(folder, Math.max(0, ...names.map((name) => name.length)));
  try {
    for (const name of names) {
      const socket = await connectIfOwner(join(address.folder, name));
      if (socket) return socket;
    }
    return undefined;
  } finally {
    await address.discard();
  }
}

/** Connects to a socket; resolves with undefined unless its process holds the lock. */
function connectIfOwner(path: string): Promise<Socket | undefined> {
  return new Promise((resolve) => {
    const socket = connect(path);
    const giveUp = (): void => {
      socket.destroy();
      resolve(undefined);
    };
    socket.once("error", giveUp).once("close", giveUp);
    socket.once("data", (greeting) => {
      if (greeting.toString() !== HELD_MESSAGE) return giveUp();
      socket.off("error", giveUp).off("close", giveUp).pause();
      resolve(socket);
    });
  });
}

/** Sends one request; resolves with undefined if the connection breaks. */
async function request(socket: Socket, requested: MoveStateRequest): Promise<OwnerAnswer | undefined> {
  // A broken connection is noticed as a missing answer.
  socket.on("error", () => {});
  try {
    socket.write(`${JSON.stringify(requested)}\n`);
    const { done, value } = await splitLines(socket).next();
    return done ? undefined : (JSON.parse(value) as OwnerAnswer);
  } catch {
    return undefined;
  } finally {
    socket.destroy();
  }
}
