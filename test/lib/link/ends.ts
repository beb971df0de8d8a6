/** Two ends of a link without a socket between them. */
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

export interface EndOptions {
  keys?: readonly (typeof KEY)[];
  nonce?: number;
  peer?: string;
}

/** One end; client is peer `a`, server peer `b`, unless configured otherwise. */
export function end(
  role: Role,
  { keys = [KEY], nonce, peer = role === "client" ? "a" : "b" }: EndOptions = {},
): Session {
  const filled = new Uint8Array(32).fill(nonce ?? (role === "client" ? 1 : 2));
  return createSession({ role, self: identity(peer), keys, nonce: filled });
}

/** Messages between two ends. */
export interface Passed {
  client: LinkEvent[];
  server: LinkEvent[];
  /** The frames in the order they were sent. */
  frames: { from: Role; bytes: Uint8Array }[];
}

/** Carries everything to and fro until both are silent; `change` may replace what is under way. */
export function shake(
  client: Session,
  server: Session,
  change: (bytes: Uint8Array, index: number) => Uint8Array = (bytes) => bytes,
): Passed {
  const passed: Passed = { client: [], server: [], frames: [] };
  const under: { from: Role; bytes: Uint8Array }[] = client.open().map((bytes) => ({ from: "client", bytes }));
  for (let sent = under.shift(); sent; sent = under.shift()) {
    const bytes = change(sent.bytes, passed.frames.length);
    passed.frames.push({ from: sent.from, bytes });
    const to: Role = sent.from === "client" ? "server" : "client";
    const step = (to === "server" ? server : client).receive(bytes);
    passed[to].push(...step.events);
    for (const answer of step.send) under.push({ from: to, bytes: answer });
  }
  return passed;
}

/** Two ends that have proved themselves to each other. */
export function established(): { client: Session; server: Session; frames: Passed["frames"] } {
  const [client, server] = [end("client"), end("server")];
  const { frames } = shake(client, server);
  return { client, server, frames };
}

/** A copy with one byte changed. */
export function flipped(bytes: Uint8Array, at: number, by = 1): Uint8Array {
  const copy = bytes.slice();
  copy[at]! ^= by;
  return copy;
}

export const kinds = (events: readonly LinkEvent[]): string[] => events.map(({ kind }) => kind);
