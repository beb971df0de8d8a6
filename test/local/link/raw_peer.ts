/** A peer on a real socket that a test controls, to send valid and invalid frames. */
import { once } from "node:events";
import { connect, type Socket } from "node:net";
import type { PeerIdentity } from "../../../lib/link/handshake.ts";
import { deriveSecretKey } from "../../../lib/link/keys.ts";
import { type LinkEvent, type Session, createSession } from "../../../lib/link/session.ts";
import type { PeerAddress } from "../../../local/option_values.ts";
import { SECRET } from "./secret.ts";

export interface RawPeer {
  socket: Socket;
  link: Session;
  /** Stops answering all messages, also pings. */
  stopAnswering(): void;
  /** Returns the next event of a kind, waiting for it if necessary. */
  nextEvent<K extends LinkEvent["kind"]>(kind: K): Promise<Extract<LinkEvent, { kind: K }>>;
  /** Resolves when the other end has closed. */
  closed: Promise<unknown>;
}

export const RAW_PEER_IDENTITY: PeerIdentity = {
  peer_id: "f".repeat(32),
  instance_id: "raw",
  product_id: "acme",
  product_type: null,
};

/** Returns an insight about acme in the form in which instances send it. */
export const makeRawInsight = (origin_instance_id: string, insight_id: string) => ({
  insight_id,
  origin_instance_id,
  product_id: "acme",
  product_type: "crm",
  kind: "config",
  target: "ui.banner",
  kpi: "csat",
  summary: "",
  expected_delta_k: 1,
  realised_delta: 1,
  shared_count: 0,
  verdict: "met",
  observed_at: "2026-01-01T00:00:00.000Z",
  basis: "correlation",
});

/** Resolves when a socket is closed, also by a reset. */
export const waitForClose = (socket: Socket): Promise<void> =>
  new Promise((resolve) => socket.once("close", () => resolve()));

/** Connects a socket that sends nothing. */
export async function openSilentSocket({ host, port }: PeerAddress, localAddress?: string): Promise<Socket> {
  const socket = connect({ host, port, ...(localAddress ? { localAddress } : {}) });
  socket.on("error", () => {});
  await once(socket, "connect");
  return socket;
}

/** Connects to a node and does a valid handshake; with `stopAfterHello` it sends no more than its HELLO. */
export async function connectRawPeer(
  at: PeerAddress,
  {
    self = RAW_PEER_IDENTITY,
    secret = SECRET,
    stopAfterHello = false,
    localAddress,
  }: { self?: PeerIdentity; secret?: string; stopAfterHello?: boolean; localAddress?: string } = {},
): Promise<RawPeer> {
  const socket = await openSilentSocket(at, localAddress);
  const nonce = crypto.getRandomValues(new Uint8Array(32));
  const link = createSession({ role: "client", self, keys: [deriveSecretKey(secret)], nonce });
  const events: LinkEvent[] = [];
  let isMuted = stopAfterHello;
  const checks = new Set<() => void>();
  socket.on("data", (chunk) => {
    const step = link.receive(chunk);
    if (!isMuted) for (const bytes of step.send) socket.write(bytes);
    events.push(...step.events);
    for (const check of checks) check();
  });
  for (const bytes of link.open()) socket.write(bytes);
  return {
    socket,
    link,
    stopAnswering: () => void (isMuted = true),
    closed: waitForClose(socket),
    nextEvent: (kind) =>
      new Promise((resolve) => {
        const resolveIfReceived = () => {
          const index = events.findIndex((event) => event.kind === kind);
          if (index === -1) return;
          checks.delete(resolveIfReceived);
          resolve(events.splice(index, 1)[0] as never);
        };
        checks.add(resolveIfReceived);
        resolveIfReceived();
      }),
  };
}
