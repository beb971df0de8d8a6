/** Asks the process that owns a file store to mark it. */
import { readdir } from "node:fs/promises";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { linesOf } from "../../lib/store/move/lines.ts";
import { MarkChanged, type Whole } from "../../lib/store/whole.ts";
import { HELD, shortAddress } from "../lock_folder.ts";
import type { Answered, AskedMarking } from "./owner_door.ts";

/** Who owns a store; when one has left, a hold that was asked for ends too. */
export interface Owner {
  commit: Whole["commit"];
  leave(): void;
}

/** What to do where the owner cannot be asked. */
const STOP = "stop the service that uses it, and give the command again";

/** Finds the owner by the folder of its lock; undefined where none can be talked to. */
export async function askOwner(folder: string): Promise<Owner | undefined> {
  const found = await socketIn(folder);
  if (!found) return undefined;
  // An owner waits a few seconds for what it is asked, and a copy takes its time: it is met again when there is something to ask.
  found.destroy();
  let talk: Talk | undefined;
  return {
    async commit(writes, { from, to }) {
      if (writes.length > 0) throw new Error("who owns the store writes to it, and nobody else");
      if (!talk) {
        const socket = await socketIn(folder);
        if (!socket) throw new Error(`the service that uses the store cannot be asked any more: ${STOP}`);
        talk = talkOn(socket);
      }
      const answer = await talk.ask({ from: from ?? null, to: to ?? null });
      if (!answer) {
        talk.leave();
        talk = undefined;
        throw new Error(`the service that uses the store does not answer: ${STOP}`);
      }
      const { error, found: mark } = answer;
      if (mark !== undefined) throw new MarkChanged(mark ?? undefined, from);
      if (error !== undefined) throw new Error(error);
    },
    leave: () => talk?.leave(),
  };
}

async function socketIn(folder: string): Promise<Socket | undefined> {
  const names = await readdir(folder).catch(() => []);
  const address = await shortAddress(folder, Math.max(0, ...names.map((name) => name.length)));
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
      if (said.toString() !== HELD) return none();
      socket.off("error", none).off("close", none).pause();
      resolve(socket);
    });
  });
}

/** A conversation with the owner. */
interface Talk {
  /** Its answer; undefined where it broke off. */
  ask(marking: AskedMarking): Promise<Answered | undefined>;
  leave(): void;
}

function talkOn(socket: Socket): Talk {
  // A broken socket is told of by the answer that does not come.
  socket.on("error", () => {});
  const answers = linesOf(socket);
  return {
    async ask(marking) {
      socket.write(`${JSON.stringify(marking)}\n`);
      const { done, value } = await answers.next().catch(() => ({ done: true, value: undefined }) as const);
      return done ? undefined : (JSON.parse(value) as Answered);
    },
    leave: () => void socket.destroy(),
  };
}
