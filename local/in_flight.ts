/** Tracks the requests that are being answered, which a stop waits for. */
import type { ServerResponse } from "node:http";
import type { Duplex } from "node:stream";
import { createTransientMap } from "../lib/kit/transient_map.ts";

/** A request is in flight until its handler has ended and its response has been closed. */
export interface InFlight {
  begin(response: ServerResponse): void;
  /** Records that the handler of a request has ended. */
  endHandling(response: ServerResponse): void;
  /** Lists the responses that were not yet sent on a connection, oldest first. */
  listPending(connection: Duplex): ServerResponse[];
  /** Closes each connection after its next response. */
  closeAfterAnswer(): void;
  /** Resolves when nothing is in flight, or after `timeout` milliseconds. */
  waitUntilIdle(timeout: number): Promise<void>;
}

/** Creates a tracker without requests. */
export function trackInFlight(): InFlight {
  /** Events that each response still waits for: the end of its handler, and its own close. */
  const pending = createTransientMap<ServerResponse, number>();
  let isClosing = false;
  let onIdle: (() => void) | undefined;

  const countDown = (response: ServerResponse) => {
    const eventsLeft = pending.get(response)! - 1;
    if (eventsLeft > 0) return void pending.set(response, eventsLeft);
    pending.delete(response);
    if (pending.size === 0) onIdle?.();
  };
  function onClose(this: ServerResponse) {
    countDown(this);
  }

  return {
    begin(response) {
      pending.set(response, 2);
      if (isClosing) response.shouldKeepAlive = false;
      response.on("close", onClose);
    },
    endHandling: countDown,
    listPending: (connection) => [...pending.keys()].filter((response) => response.socket === connection),
    closeAfterAnswer() {
      isClosing = true;
      for (const response of pending.keys()) response.shouldKeepAlive = false;
    },
    waitUntilIdle(timeout) {
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
