/** The authenticated connections, one for each peer. */
import { replacesConnection } from "../../lib/link/trust.ts";
import type { Connection } from "./connection.ts";

/** Maximum number of connected peers. */
export const MAX_PEERS = 128;

/** The connected peers. */
export interface Roster {
  get(peerId: string): Connection | undefined;
  all(): Connection[];
  /** Adds an authenticated connection; false if it was closed instead, since the peer has one already or there are too many. */
  add(connection: Connection): boolean;
  /** Removes a connection; false if it is not its peer's current one. */
  remove(connection: Connection): boolean;
}

/** Creates an empty roster; `ownPeerId` is this node's peer_id. */
export function createRoster(ownPeerId: string): Roster {
  const connections = new Map<string, Connection>();
  return {
    get: (peerId) => connections.get(peerId),
    all: () => [...connections.values()],
    add(connection) {
      const { peer_id } = connection.peer!;
      const existing = connections.get(peer_id);
      if (existing && !replacesConnection(ownPeerId, peer_id, connection, existing)) {
        connection.close("this pair has another connection");
        return false;
      }
      if (!existing && connections.size >= MAX_PEERS) {
        connection.close(`${MAX_PEERS} peers are connected already`);
        return false;
      }
      connections.set(peer_id, connection);
      existing?.close("this pair has a newer connection");
      return true;
    },
    remove(connection) {
      const peerId = connection.peer?.peer_id;
      if (peerId === undefined || connections.get(peerId) !== connection) return false;
      return connections.delete(peerId);
    },
  };
}
