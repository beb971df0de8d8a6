/** Lists peers for display: connected, configured and formerly connected ones. */
import type { PeerIdentity } from "../../lib/link/handshake.ts";
import { findRelation, trustWeight } from "../../lib/link/trust.ts";
import type { PeerRecord } from "../../lib/link/peer_records.ts";
import type { PeerRow } from "../../lib/link/port.ts";
import type { Connection } from "./connection.ts";
import type { Dialer } from "./dialer.ts";

/** Data about peers. */
export interface PeerSources {
  self: PeerIdentity;
  dialers: readonly Dialer[];
  /** Authenticated connections: each has its peer. */
  connections: readonly Connection[];
  records: readonly PeerRecord[];
  /** The peers that were connected since the start. */
  connectedSinceStart: ReadonlySet<string>;
}

/** Lists configured peers in their order, then other connected ones, then those that were connected formerly. */
export function listPeerRows({ self, dialers, connections, records, connectedSinceStart }: PeerSources): PeerRow[] {
  const rows: PeerRow[] = [];
  const listedPeers = new Set<string>();
  const add = (peerId: string | null, address: string, state: PeerRow["state"]): void => {
    // A peer is listed once, by the first source that has it; the peer at an address that never answered is not known.
    if (peerId !== null && listedPeers.has(peerId)) return;
    if (peerId !== null) listedPeers.add(peerId);
    const connection = connections.find(({ peer }) => peer?.peer_id === peerId);
    const record = records.find(({ peer_id }) => peer_id === peerId);
    const identity = connection?.peer ?? record;
    const relation = identity ? findRelation(self, identity) : null;
    rows.push({
      peer_id: peerId,
      instance_id: identity?.instance_id ?? null,
      address,
      state,
      product_id: identity?.product_id ?? null,
      product_type: identity?.product_type ?? null,
      relation,
      trust: relation && trustWeight(relation),
      last_seen_at: connection ? new Date(connection.lastSeen).toISOString() : (record?.last_seen_at ?? null),
      rtt_ms: connection?.rtt ?? null,
      log: record?.log ?? "unknown",
      log_reason: record?.log_reason ?? null,
    });
  };
  const findPeerAt = (address: string) => records.find((record) => record.address === address)?.peer_id ?? null;
  for (const { peerId, address, state } of dialers) add(peerId ?? findPeerAt(address), address, state);
  for (const { peer, address } of connections) add(peer!.peer_id, address, "up");
  for (const { peer_id, address } of records)
    add(peer_id, address, connectedSinceStart.has(peer_id) ? "down" : "unknown");
  return rows;
}
