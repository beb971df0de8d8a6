/** The requests being answered: what a stop waits for. */
import type { ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { createTransientMap } from "../lib/kit/transient_map.ts";

/** A request is in flight until its handler has settled and its connection is done with the response. */
export interface InFlight {
  begin(response: ServerResponse): void;
  /** Its handler has settled. */
  handled(response: ServerResponse): void;
  /** The responses not yet sent on a connection, oldest first. */
  on(connection: Duplex): ServerResponse[];
  /** From now on each connection ends with its next answer. */
  closeAfterAnswer(): void;
  /** Resolves when nothing is in flight, or after `timeout` milliseconds. */
  idle(timeout: number): Promise<void>;
}

/** Starts with nothing in flight. */
export function inFlight(): InFlight {
  /** Number of events that each still waits for: its handler, and the end of its connection's part. */
  const pending = createTransientMap<ServerResponse, number>();
  let closing = false;
  let onIdle: (() => void) | undefined;

  const settle = (response: ServerResponse) => {
    const left = pending.get(response)! - 1;
    if (left > 0) return void pending.set(response, left);
    pending.delete(response);
    if (pending.size === 0) onIdle?.();
  };
  function closed(this: ServerResponse) {
    settle(this);
  }

  return {
    begin(response) {
      pending.set(response, 2);
      if (closing) response.shouldKeepAlive = false;
      response.on("close", closed);
    },
    handled: settle,
    on: (connection) => [...pending.keys()].filter((response) => response.socket === connection),
    closeAfterAnswer() {
      closing = true;
      for (const response of pending.keys()) response.shouldKeepAlive = false;
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
