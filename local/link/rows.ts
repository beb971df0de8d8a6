/** Peers as they are shown: who is connected, who should be, and who was met before. */
import type { PeerIdentity } from "../../lib/link/handshake.ts";
import { findRelation, trustWeight } from "../../lib/link/trust.ts";
import type { PeerRecord } from "../../lib/link/peer_records.ts";
import type { PeerRow } from "../../lib/link/port.ts";
import type { Connection } from "./connection.ts";
import type { Dialer } from "./dialer.ts";

/** Input of the rows. */
export interface Known {
  self: PeerIdentity;
  dialers: readonly Dialer[];
  connections: readonly Connection[];
  records: readonly PeerRecord[];
  /** The peers that were connected since the start. */
  met: ReadonlySet<string>;
}

/** The configured peers in their order, then the others that are connected, then those of earlier times. */
export function peerRows({ self, dialers, connections, records, met }: Known): PeerRow[] {
  const rows: PeerRow[] = [];
  const shown = new Set<string>();
  const add = (peerId: string | null, address: string, state: PeerRow["state"]): void => {
    if (peerId !== null && shown.has(peerId)) return;
    if (peerId !== null) shown.add(peerId);
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
  const metAt = (address: string) => records.find((record) => record.address === address)?.peer_id ?? null;
  for (const { peerId, address, state } of dialers) add(peerId ?? metAt(address), address, state);
  for (const { peer, address } of connections) add(peer!.peer_id, address, "up");
  for (const { peer_id, address } of records) add(peer_id, address, met.has(peer_id) ? "down" : "unknown");
  return rows;
}
