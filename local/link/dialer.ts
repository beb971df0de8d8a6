/** Keeps one configured address connected: dials, waits with jitter after a failure, dials again. */
import { connect, type Socket } from "node:net";
import { reconnectDelay } from "../../lib/link/backoff.ts";
import type { PeerAddress } from "../option_values.ts";
import type { Connection } from "./connection.ts";
import type { Timers } from "./timers.ts";

/** A connection that lasted this long, in milliseconds, ends a row of failures. */
const SETTLED_MS = 30_000;

/** Options of a dialer. */
export interface DialerOptions {
  address: PeerAddress;
  timers: Timers;
  random: () => number;
  /** Takes over the socket that dials; `onClosed` of that connection goes to `ended`. */
  open(socket: Socket, address: string): Connection;
  /** Returns whether there is a connection to the peer already, no matter which end dialled. */
  isUp(peerId: string): boolean;
}

/** One configured address. */
export interface Dialer {
  /** `host:port` */
  readonly address: string;
  /** Who answered there last. */
  readonly peerId: string | null;
  readonly state: "up" | "down" | "unknown";
  start(): void;
  /** Its connection has proved itself. */
  established(peerId: string): void;
  /** Its connection is over; `lasted` is how long it was established, in milliseconds. */
  ended(lasted: number): void;
  /** A connection to the peer, not this dialer's, is gone: dials if it had been waiting for that. */
  peerGone(peerId: string): void;
  stop(): void;
}

/** `host:port`, an IPv6 address in brackets. */
export const addressText = (host: string, port: number): string => `${host.includes(":") ? `[${host}]` : host}:${port}`;

/** A dialer that has not started. */
export function dialer({ address, timers, random, open, isUp }: DialerOptions): Dialer {
  const text = addressText(address.host, address.port);
  let stage: "idle" | "busy" | "waiting" | "stopped" = "idle";
  let peerId: string | null = null;
  let state: Dialer["state"] = "unknown";
  let failures = 0;
  let cancel = (): void => {};

  const dial = (): void => {
    stage = "busy";
    open(connect(address), text);
  };

  const again = (): void => {
    if (stage === "stopped") return;
    if (peerId !== null && isUp(peerId)) {
      stage = "idle";
      return;
    }
    stage = "waiting";
    cancel = timers.after(reconnectDelay(failures++, random), dial);
  };

  return {
    address: text,
    get peerId() {
      return peerId;
    },
    get state() {
      return peerId !== null && isUp(peerId) ? "up" : state;
    },
    start: dial,
    established(id) {
      peerId = id;
      state = "up";
    },
    ended(lasted) {
      state = "down";
      if (lasted >= SETTLED_MS) failures = 0;
      again();
    },
    peerGone(id) {
      if (id !== peerId) return;
      state = "down";
      if (stage === "idle") again();
    },
    stop() {
      stage = "stopped";
      cancel();
    },
  };
}
