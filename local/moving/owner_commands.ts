/**
 * Serves the commands that move a file store. Such a command runs in a process of its own and sends each change of the move state
 * over the socket that locks the store; the store's owner commits it. A request is a line of JSON, and so is the answer. There is no
 * authentication, since a process that can open the socket can also write the files.
 */
import type { Socket } from "node:net";
import { splitLines } from "../../lib/store/move/lines.ts";
import { type MoveState, MoveStateConflict, type BulkAccess } from "../../lib/store/bulk_access.ts";
import type { OnConnection } from "../lock_types.ts";

/** An answer: empty, or the error, and the move state that was found. */
export interface OwnerAnswer {
  error?: string;
  found?: MoveState | null;
}

/** A change of the move state as a line; `null` for none. */
export interface MoveStateRequest {
  from: MoveState | null;
  to: MoveState | null;
}

/** Answers commands while the store is open. */
export interface OwnerCommands {
  readonly accept: OnConnection;
  open(bulk: BulkAccess): void;
  /** Closes all connections, waits for the commands under way, and then rejects further ones. */
  close(): Promise<void>;
}

/** Time after which a connection without a request is closed. */
const PATIENCE_MS = 5000;

/** Creates the server of commands; it accepts them once it is open. */
export function createOwnerCommands(patienceMs = PATIENCE_MS): OwnerCommands {
  const connections = new Map<Socket, Promise<void>>();
  let bulk: BulkAccess | undefined;

  const serve = async (socket: Socket): Promise<void> => {
    try {
      for await (const line of splitLines(socket)) {
        // Only the first request has a time limit.
        socket.setTimeout(0);
        const { from, to } = JSON.parse(line) as MoveStateRequest;
        const answer = await bulk!.commit([], { from: from ?? undefined, to: to ?? undefined }).then(
          (): OwnerAnswer => ({}),
          (error: Error): OwnerAnswer => ({
            error: error.message,
            ...(error instanceof MoveStateConflict && { found: error.found ?? null }),
          }),
        );
        socket.write(`${JSON.stringify(answer)}\n`);
      }
    } catch {
      // The connection broke, or the line is no request: the move state stays as it is.
    } finally {
      socket.destroy();
    }
  };

  return {
    accept(socket) {
      if (!bulk) return void socket.destroy();
      socket.unref().setTimeout(patienceMs, () => socket.destroy());
      const serving = serve(socket).finally(() => connections.delete(socket));
      connections.set(socket, serving);
    },
    open: (opened) => void (bulk = opened),
    async close() {
      const pending = [...connections.values()];
      for (const socket of connections.keys()) socket.destroy();
      await Promise.all(pending);
      bulk = undefined;
    },
  };
}
