/** Maintains a connection to one configured address: after a failure it dials again, with a delay and jitter. */
import { connect, type Socket } from "node:net";
import { reconnectDelay } from "../../lib/link/backoff.ts";
import type { PeerAddress } from "../option_values.ts";
import type { Connection } from "./connection.ts";
import type { Timers } from "./timers.ts";

/** A connection that lasted this long resets the delay. */
const STABLE_MS = 30_000;

/** Options of a dialer. */
export interface DialerOptions {
  address: PeerAddress;
  timers: Timers;
  random: () => number;
  /** Takes over the socket that dials; `onClosed` of that connection goes to `ended`. */
  open(socket: Socket, address: string): Connection;
  /** Checks that the peer is connected, whichever end dialled. */
  isUp(peerId: string): boolean;
}

/** One configured address. */
export interface Dialer {
  /** `host:port` */
  readonly address: string;
  /** The peer that answered there last. */
  readonly peerId: string | null;
  readonly state: "up" | "down" | "unknown";
  start(): void;
  /** Records that its connection was authenticated. */
  established(peerId: string): void;
  /** Records that its connection ended; `lasted`: time since its authentication, in milliseconds. */
  ended(lasted: number): void;
  /** Records that another connection to the peer ended; dials if this dialer had relied on it. */
  peerGone(peerId: string): void;
  stop(): void;
}

/** Formats `host:port`; an IPv6 address is in brackets. */
export const formatAddress = (host: string, port: number): string =>
  `${host.includes(":") ? `[${host}]` : host}:${port}`;

/** Creates a dialer that is not started yet. */
export function createDialer({ address, timers, random, open, isUp }: DialerOptions): Dialer {
  const text = formatAddress(address.host, address.port);
  /** `idle`: not started, or the peer has another connection; `waiting`: for the next dial. */
  let phase: "idle" | "busy" | "waiting" | "stopped" = "idle";
  let peerId: string | null = null;
  let state: Dialer["state"] = "unknown";
  let failures = 0;
  let cancel = (): void => {};

  const dial = (): void => {
    phase = "busy";
    open(connect(address), text);
  };

  const scheduleRetry = (): void => {
    if (phase === "stopped") return;
    if (peerId !== null && isUp(peerId)) {
      phase = "idle";
      return;
    }
    phase = "waiting";
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
      if (lasted >= STABLE_MS) failures = 0;
      scheduleRetry();
    },
    peerGone(id) {
      if (id !== peerId) return;
      state = "down";
      if (phase === "idle") scheduleRetry();
    },
    stop() {
      phase = "stopped";
      cancel();
    },
  };
}
