/**
 * The owner of a file store sets its mark for a command that moves it, on the socket that locks the store: a line is a marking as
 * JSON, and is answered with a line. Who can open the socket can write the files too, which are the user's own.
 */
import type { Socket } from "node:net";
import { splitLines } from "../../lib/store/move/lines.ts";
import { type Mark, MarkChanged, type Whole } from "../../lib/store/whole.ts";
import type { OnConnection } from "../lock_hold.ts";

/** An answer: empty, or the error, and the mark that was found instead. */
export interface Answered {
  error?: string;
  found?: Mark | null;
}

/** A marking as a line; `null` for no mark. */
export interface MarkingRequest {
  from: Mark | null;
  to: Mark | null;
}

/** Answers commands once the store is open. */
export interface Door {
  readonly enter: OnConnection;
  open(whole: Whole): void;
  /** Rejects further commands and waits for those under way. */
  close(): Promise<void>;
}

/** A connection without a request is closed after this time. */
const PATIENCE_MS = 5000;

/** Makes a door that is not open yet. */
export function newDoor(patienceMs = PATIENCE_MS): Door {
  const inside = new Map<Socket, Promise<void>>();
  let whole: Whole | undefined;

  const serve = async (socket: Socket): Promise<void> => {
    try {
      for await (const line of splitLines(socket)) {
        socket.setTimeout(0);
        const { from, to } = JSON.parse(line) as MarkingRequest;
        const answer = await whole!.commit([], { from: from ?? undefined, to: to ?? undefined }).then(
          (): Answered => ({}),
          (error: Error): Answered => ({
            error: error.message,
            ...(error instanceof MarkChanged && { found: error.found ?? null }),
          }),
        );
        socket.write(`${JSON.stringify(answer)}\n`);
      }
    } catch {
      // The connection broke, or the line is no marking: the mark stays as it is.
    } finally {
      socket.destroy();
    }
  };

  return {
    enter(socket) {
      if (!whole) return void socket.destroy();
      socket.unref().setTimeout(patienceMs, () => socket.destroy());
      const serving = serve(socket).finally(() => inside.delete(socket));
      inside.set(socket, serving);
    },
    open: (opened) => void (whole = opened),
    async close() {
      const underWay = [...inside.values()];
      for (const socket of inside.keys()) socket.destroy();
      await Promise.all(underWay);
      whole = undefined;
    },
  };
}
