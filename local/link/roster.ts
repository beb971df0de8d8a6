/** The connections that have proved themselves: one a peer. */
import { replacesConnection } from "../../lib/link/trust.ts";
import type { Connection } from "./connection.ts";

/** How many peers may be connected at once. */
export const MOST_PEERS = 128;

/** Who is connected. */
export interface Roster {
  get(peerId: string): Connection | undefined;
  all(): Connection[];
  /** Takes in a connection that has just proved itself; false when it was closed in favour of the one that is there. */
  add(connection: Connection): boolean;
  /** Takes one out; false when it was not, or no longer, its peer's connection. */
  remove(connection: Connection): boolean;
}

/** An empty roster of the node with this peer_id. */
export function createRoster(own: string): Roster {
  const connections = new Map<string, Connection>();
  return {
    get: (peerId) => connections.get(peerId),
    all: () => [...connections.values()],
    add(connection) {
      const { peer_id } = connection.peer!;
      const there = connections.get(peer_id);
      if (there && !replacesConnection(own, peer_id, connection, there)) {
        connection.close("this pair has another connection");
        return false;
      }
      if (!there && connections.size >= MOST_PEERS) {
        connection.close(`${MOST_PEERS} peers are connected already`);
        return false;
      }
      connections.set(peer_id, connection);
      there?.close("this pair has a newer connection");
      return true;
    },
    remove(connection) {
      const peerId = connection.peer?.peer_id;
      if (peerId === undefined || connections.get(peerId) !== connection) return false;
      return connections.delete(peerId);
    },
  };
}
