/** Sessions of a link whose frames are passed in memory, without a socket. */
import { deriveSecretKey } from "../../../lib/link/keys.ts";
import { type LinkEvent, type Role, type Session, createSession } from "../../../lib/link/session.ts";

export const KEY = deriveSecretKey("a secret of the tests, long enough");
export const OTHER_KEY = deriveSecretKey("another secret, not shared");

export const identity = (digit: string) => ({
  peer_id: digit.repeat(32),
  instance_id: `acme-crm@${digit}`,
  product_id: "acme-crm",
  product_type: "crm",
});

/** `nonce`: the value of each of the nonce's 32 bytes; `peer`: the digit of the end's identity. */
export interface EndOptions {
  keys?: readonly (typeof KEY)[];
  nonce?: number;
  peer?: string;
}

/** Creates the session of one end; by default the client is peer `a` and the server peer `b`. */
export function end(
  role: Role,
  { keys = [KEY], nonce, peer = role === "client" ? "a" : "b" }: EndOptions = {},
): Session {
  const filled = new Uint8Array(32).fill(nonce ?? (role === "client" ? 1 : 2));
  return createSession({ role, self: identity(peer), keys, nonce: filled });
}

/** Events and frames of two sessions. */
export interface Passed {
  client: LinkEvent[];
  server: LinkEvent[];
  /** The frames in the order they were sent. */
  frames: { from: Role; bytes: Uint8Array }[];
}

/** Passes frames between two sessions until neither sends any; `change` may replace a frame, whose index it gets. */
export function shake(
  client: Session,
  server: Session,
  change: (bytes: Uint8Array, index: number) => Uint8Array = (bytes) => bytes,
): Passed {
  const passed: Passed = { client: [], server: [], frames: [] };
  const queue: { from: Role; bytes: Uint8Array }[] = client.open().map((bytes) => ({ from: "client", bytes }));
  for (let sent = queue.shift(); sent; sent = queue.shift()) {
    const bytes = change(sent.bytes, passed.frames.length);
    passed.frames.push({ from: sent.from, bytes });
    const to: Role = sent.from === "client" ? "server" : "client";
    const result = (to === "server" ? server : client).receive(bytes);
    passed[to].push(...result.events);
    for (const answer of result.send) queue.push({ from: to, bytes: answer });
  }
  return passed;
}

/** Creates two sessions after a successful handshake. */
export function established(): { client: Session; server: Session; frames: Passed["frames"] } {
  const [client, server] = [end("client"), end("server")];
  const { frames } = shake(client, server);
  return { client, server, frames };
}

/** Returns a copy in which the byte at an index is XORed with `bits`. */
export function flipped(bytes: Uint8Array, index: number, bits = 1): Uint8Array {
  const copy = bytes.slice();
  copy[index]! ^= bits;
  return copy;
}

export const kinds = (events: readonly LinkEvent[]): string[] => events.map(({ kind }) => kind);
