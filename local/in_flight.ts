/** The requests being answered: what a stop waits for. */
import type { ServerResponse } from "node:http";
import type { Duplex } from "node:stream";

/** A request is in flight until its handler has settled and its connection is done with the response. */
export interface InFlight {
  track(response: ServerResponse, handled: Promise<void>): void;
  /** The responses not yet sent on a connection, oldest first. */
  on(connection: Duplex): ServerResponse[];
  /** From now on each connection ends with its next answer. */
  closeAfterAnswer(): void;
  /** Resolves when nothing is in flight, or after `timeout` milliseconds. */
  idle(timeout: number): Promise<void>;
}

/** Starts with nothing in flight. */
export function inFlight(): InFlight {
  const pending = new Set<ServerResponse>();
  let closing = false;
  let onIdle: (() => void) | undefined;

  return {
    track(response, handled) {
      pending.add(response);
      if (closing) response.shouldKeepAlive = false;
      const closed = new Promise((resolve) => response.once("close", resolve));
      void Promise.all([handled, closed]).finally(() => {
        pending.delete(response);
        if (pending.size === 0) onIdle?.();
      });
    },
    on: (connection) => [...pending].filter((response) => response.socket === connection),
    closeAfterAnswer() {
      closing = true;
      for (const response of pending) response.shouldKeepAlive = false;
    },
    idle(timeout) {
      if (pending.size === 0) return Promise.resolve();
      return new Promise((resolve) => {
        const timer = setTimeout(resolve, timeout);
        onIdle = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    },
  };
}
