/** All connections of a node: those it accepts, those it dials, and the one that is kept of each pair. */
import type { Socket } from "node:net";
import type { Clock, Log } from "../../lib/kit/platform.ts";
import type { PeerIdentity } from "../../lib/link/handshake.ts";
import type { SecretKey } from "../../lib/link/keys.ts";
import type { PeerAddress } from "../option_values.ts";
import { admission, type UnauthenticatedPeer } from "./admission.ts";
import { type Connection, type ConnectionOptions, openConnection } from "./connection.ts";
import { addressText, type Dialer, dialer } from "./dialer.ts";
import { listen, type Listener } from "./listener.ts";
import { refusalLog } from "./refusals.ts";
import { createRoster } from "./roster.ts";
import type { Timers } from "./timers.ts";

/** Parts of a node's connections, and their listeners. */
export interface MeshOptions {
  self: PeerIdentity;
  keys: readonly SecretKey[];
  /** Absent: the node dials only. */
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
  /** One a peer. */
  connections(): Connection[];
  /** The peers that were connected since the start, by peer_id. */
  readonly met: ReadonlySet<string>;
  /** Ends everything; nothing is heard of it afterwards. */
  close(): Promise<void>;
}

/** Listens and dials; rejects with Node's error when it cannot listen. */
export async function openMesh(options: MeshOptions): Promise<Mesh> {
  const { self, keys, clock, timers, random, log } = options;
  const roster = createRoster(self.peer_id);
  const door = admission();
  const refused = refusalLog(log, clock);
  const open = new Set<Connection>();
  const met = new Set<string>();
  let closing = false;

  const isUp = (peerId: string): boolean => roster.get(peerId) !== undefined;

  const take = (socket: Socket, role: "client" | "server", address: string, own?: Dialer): Connection => {
    let since: number | undefined;
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
        since = timers.now();
        own?.established(peer.peer_id);
        leaveDoor(established);
        if (!roster.add(established)) return;
        met.add(peer.peer_id);
        log.info("link up", { peer_id: peer.peer_id, instance_id: peer.instance_id, address });
        options.onUp(established);
      },
      onClosed(ended, reason) {
        open.delete(ended);
        leaveDoor(ended);
        if (closing) return;
        const { peer } = ended;
        if (roster.remove(ended)) {
          log.warn("link down", { peer_id: peer!.peer_id, instance_id: peer!.instance_id, address, reason });
          options.onDown(ended);
          for (const other of dialers) if (other !== own) other.peerGone(peer!.peer_id);
        } else if (!peer) {
          if (role === "server") refused(address, reason);
          else if (own!.state !== "down") log.warn("link cannot be made", { address, reason });
        }
        own?.ended(since === undefined ? 0 : timers.now() - since);
      },
    });
    open.add(connection);
    return connection;
  };

  const strangers = new Map<Connection, UnauthenticatedPeer>();
  const leaveDoor = (connection: Connection): void => {
    const unproven = strangers.get(connection);
    if (unproven) door.release(unproven);
    strangers.delete(connection);
  };

  const accept = (socket: Socket, from: string): void => {
    const connection = take(socket, "server", addressText(from, socket.remotePort ?? 0));
    const unproven: UnauthenticatedPeer = {
      from,
      get greeted() {
        return connection.greeted;
      },
      close: connection.close,
    };
    strangers.set(connection, unproven);
    door.admit(unproven);
  };

  const dialers = options.peers.map((address): Dialer => {
    const own: Dialer = dialer({
      address,
      timers,
      random,
      isUp,
      open: (socket, text) => take(socket, "client", text, own),
    });
    return own;
  });

  const listener: Listener | undefined =
    options.listenAt &&
    (await listen(options.listenAt, accept, (error) => log.error("link listener failed", { error: error.message })));
  for (const each of dialers) each.start();

  return {
    address: listener?.address ?? null,
    dialers,
    connections: roster.all,
    met,
    async close() {
      closing = true;
      for (const each of dialers) each.stop();
      const stopped = listener?.close();
      for (const connection of open) connection.close("this node is stopping");
      await stopped;
    },
  };
}
