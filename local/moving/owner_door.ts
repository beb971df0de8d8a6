/**
 * The process that owns a file store is asked by those who move it, on the socket that locks it: each line is a marking, as
 * JSON, and is answered with a line. Whoever can open the socket can write the files too, which are the user's own.
 */
import type { Socket } from "node:net";
import { linesOf } from "../../lib/store/move/lines.ts";
import { type Mark, MarkChanged, type Marking, type Whole } from "../../lib/store/whole.ts";
import type { Asked } from "../lock_hold.ts";

/** An answer: what it failed with, and where that is another mark, which; or nothing. */
export interface Answered {
  error?: string;
  found?: Mark | null;
}

/** As a line has it: `null` for no mark. */
export interface AskedMarking {
  from: Mark | null;
  to: Mark | null;
}

/** Lets in who asks, once the store is open. */
export interface Door {
  readonly enter: Asked;
  open(whole: Whole): void;
  /** Lets nobody in any more, and waits for what is under way. */
  close(): Promise<void>;
}

/** Who asks nothing for so long goes. */
const PATIENCE_MS = 5000;

/** A door that nobody has opened yet. */
export function newDoor(patienceMs = PATIENCE_MS): Door {
  const inside = new Map<Socket, Promise<void>>();
  let whole: Whole | undefined;

  const talk = async (socket: Socket): Promise<void> => {
    let held: Mark | undefined;
    try {
      for await (const line of linesOf(socket)) {
        socket.setTimeout(0);
        const marking = markingIn(line);
        const answer = await whole!.commit([], marking).then(
          (): Answered => ({}),
          (error: Error): Answered => ({
            error: error.message,
            ...(error instanceof MarkChanged && { found: error.found ?? null }),
          }),
        );
        if (!answer.error) held = marking.to?.state === "held" ? marking.to : undefined;
        socket.write(`${JSON.stringify(answer)}\n`);
      }
    } catch {
      // It broke off, or said what is no marking: it is let go of as it stands.
    } finally {
      socket.destroy();
      // Who held it and is gone holds it no longer.
      if (held) await whole!.commit([], { from: held, to: undefined }).catch(() => undefined);
    }
  };

  return {
    enter(socket) {
      if (!whole) return void socket.destroy();
      socket.unref().setTimeout(patienceMs, () => socket.destroy());
      const talking = talk(socket).finally(() => inside.delete(socket));
      inside.set(socket, talking);
    },
    open: (opened) => void (whole = opened),
    async close() {
      const talks = [...inside.values()];
      for (const socket of inside.keys()) socket.destroy();
      await Promise.all(talks);
      whole = undefined;
    },
  };
}

function markingIn(line: string): Marking {
  const { from, to } = JSON.parse(line) as AskedMarking;
  return { from: from ?? undefined, to: to ?? undefined };
}
