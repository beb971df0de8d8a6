/** Manages all connections of a node, which accepts and dials: one connection for each peer. */
import type { Socket } from "node:net";
import type { Clock, Log } from "../../lib/kit/platform.ts";
import type { PeerIdentity } from "../../lib/link/handshake.ts";
import type { SecretKey } from "../../lib/link/keys.ts";
import type { PeerAddress } from "../option_values.ts";
import { createAdmission, type UnauthenticatedPeer } from "./admission.ts";
import { type Connection, type ConnectionOptions, openConnection } from "./connection.ts";
import { formatAddress, type Dialer, createDialer } from "./dialer.ts";
import { listen, type Listener } from "./listener.ts";
import { createRejectionLog } from "./rejection_log.ts";
import { createRoster } from "./roster.ts";
import type { Timers } from "./timers.ts";

/** Options of a mesh. */
export interface MeshOptions {
  self: PeerIdentity;
  keys: readonly SecretKey[];
  /** Undefined: the node only dials. */
  listenAt?: PeerAddress | undefined;
  peers: readonly PeerAddress[];
  clock: Clock;
  timers: Timers;
  /** 0 to 1, for the jitter. */
  random: () => number;
  log: Log;
  answer: ConnectionOptions["answer"];
  onUp(connection: Connection): void;
  onDown(connection: Connection): void;
}

/** A node's connections. */
export interface Mesh {
  /** Address on which it listens, or `null`. */
  readonly address: string | null;
  readonly dialers: readonly Dialer[];
  /** Lists the connections, one for each peer. */
  connections(): Connection[];
  /** The peers that were connected since the start, by peer_id. */
  readonly connectedSinceStart: ReadonlySet<string>;
  /** Closes all connections without further callbacks. */
  close(): Promise<void>;
}

/** Listens and dials. Errors: Node's own where it cannot listen. */
export async function openMesh(options: MeshOptions): Promise<Mesh> {
  const { self, keys, clock, timers, random, log } = options;
  const roster = createRoster(self.peer_id);
  const admission = createAdmission();
  const logRejection = createRejectionLog(log, clock);
  const openConnections = new Set<Connection>();
  const connectedPeerIds = new Set<string>();
  let isClosing = false;

  const isUp = (peerId: string): boolean => roster.get(peerId) !== undefined;

  const openSocket = (socket: Socket, role: "client" | "server", address: string, ownDialer?: Dialer): Connection => {
    let establishedAt: number | undefined;
    const connection = openConnection({
      socket,
      role,
      address,
      self,
      keys,
      clock,
      timers,
      answer: options.answer,
      onEstablished(established, peer) {
        establishedAt = timers.now();
        ownDialer?.established(peer.peer_id);
        releaseAdmission(established);
        // The roster has closed the connection if the peer has another one, or if there are too many peers.
        if (!roster.add(established)) return;
        connectedPeerIds.add(peer.peer_id);
        log.info("link up", { peer_id: peer.peer_id, instance_id: peer.instance_id, address });
        options.onUp(established);
      },
      onClosed(ended, reason) {
        openConnections.delete(ended);
        releaseAdmission(ended);
        if (isClosing) return;
        const { peer } = ended;
        if (roster.remove(ended)) {
          log.warn("link down", { peer_id: peer!.peer_id, instance_id: peer!.instance_id, address, reason });
          options.onDown(ended);
          // Another dialer of the same peer may have relied on this connection, and dials now.
          for (const other of dialers) if (other !== ownDialer) other.peerGone(peer!.peer_id);
        } else if (!peer) {
          if (role === "server") logRejection(address, reason);
          // Only the first of a dialer's failures in a row is logged: after it, the dialer's state is "down".
          else if (ownDialer!.state !== "down") log.warn("link cannot be made", { address, reason });
        }
        ownDialer?.ended(establishedAt === undefined ? 0 : timers.now() - establishedAt);
      },
    });
    openConnections.add(connection);
    return connection;
  };

  const unauthenticated = new Map<Connection, UnauthenticatedPeer>();
  const releaseAdmission = (connection: Connection): void => {
    const candidate = unauthenticated.get(connection);
    if (candidate) admission.release(candidate);
    unauthenticated.delete(connection);
  };

  const accept = (socket: Socket, from: string): void => {
    const connection = openSocket(socket, "server", formatAddress(from, socket.remotePort ?? 0));
    const candidate: UnauthenticatedPeer = {
      from,
      get greeted() {
        return connection.greeted;
      },
      close: connection.close,
    };
    unauthenticated.set(connection, candidate);
    admission.admit(candidate);
  };

  const dialers = options.peers.map((address): Dialer => {
    const ownDialer: Dialer = createDialer({
      address,
      timers,
      random,
      isUp,
      open: (socket, text) => openSocket(socket, "client", text, ownDialer),
    });
    return ownDialer;
  });

  const listener: Listener | undefined =
    options.listenAt &&
    (await listen(options.listenAt, accept, (error) => log.error("link listener failed", { error: error.message })));
  for (const dialer of dialers) dialer.start();

  return {
    address: listener?.address ?? null,
    dialers,
    connections: roster.all,
    connectedSinceStart: connectedPeerIds,
    async close() {
      isClosing = true;
      for (const dialer of dialers) dialer.stop();
      const stopped = listener?.close();
      for (const connection of openConnections) connection.close("this node is stopping");
      await stopped;
    },
  };
}
