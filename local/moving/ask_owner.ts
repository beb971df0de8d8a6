/** Asks the process that owns a file store to set its mark. */
import { readdir } from "node:fs/promises";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { splitLines } from "../../lib/store/move/lines.ts";
import { MarkChanged, type Whole } from "../../lib/store/whole.ts";
import { HELD_MESSAGE, openShortAddress } from "../lock_folder.ts";
import type { Answered, MarkingRequest } from "./owner_door.ts";

/** The advice where the owner cannot be asked. */
const STOP = "stop the service that uses it, and give the command again";

/** Finds the owner of a store by the folder of its lock; returns a commit through it, undefined where none can be reached. */
export async function askOwner(folder: string): Promise<Whole["commit"] | undefined> {
  const found = await socketIn(folder);
  if (!found) return undefined;
  // The owner closes a connection without a request, and a copy takes its time: each request has a connection of its own.
  found.destroy();
  return async (writes, { from, to }) => {
    if (writes.length > 0) throw new Error("only the owner of the store writes records to it");
    const socket = await socketIn(folder);
    if (!socket) throw new Error(`the service that uses the store cannot be reached any more: ${STOP}`);
    const answer = await request(socket, { from: from ?? null, to: to ?? null });
    if (!answer) throw new Error(`the service that uses the store does not answer: ${STOP}`);
    if (answer.found !== undefined) throw new MarkChanged(answer.found ?? undefined, from);
    if (answer.error !== undefined) throw new Error(answer.error);
  };
}

async function socketIn(folder: string): Promise<Socket | undefined> {
  const names = await readdir(folder).catch(() => []);
  const address = await openShortAddress(folder, Math.max(0, ...names.map((name) => name.length)));
  try {
    for (const name of names) {
      const socket = await greeted(join(address.folder, name));
      if (socket) return socket;
    }
    return undefined;
  } finally {
    await address.discard();
  }
}

/** A socket whose process says that it holds the folder. */
function greeted(path: string): Promise<Socket | undefined> {
  return new Promise((resolve) => {
    const socket = connect(path);
    const none = (): void => {
      socket.destroy();
      resolve(undefined);
    };
    socket.once("error", none).once("close", none);
    socket.once("data", (said) => {
      if (said.toString() !== HELD_MESSAGE) return none();
      socket.off("error", none).off("close", none).pause();
      resolve(socket);
    });
  });
}

/** Sends one request; resolves with undefined where the connection broke. */
async function request(socket: Socket, marking: MarkingRequest): Promise<Answered | undefined> {
  // A broken connection shows as an answer that does not come.
  socket.on("error", () => {});
  try {
    socket.write(`${JSON.stringify(marking)}\n`);
    const { done, value } = await splitLines(socket).next();
    return done ? undefined : (JSON.parse(value) as Answered);
  } catch {
    return undefined;
  } finally {
    socket.destroy();
  }
}
