/** Stores this node's name and a record of each peer, so that they survive a restart. */
import { bytesToHex } from "@noble/hashes/utils.js";
import type { Store, Tx } from "../store/store.ts";
import type { PeerIdentity } from "./handshake.ts";
import type { StoredLog, LogState } from "./peer_log.ts";

declare module "../store/store.ts" {
  interface Collections {
    peers: PeerRecord;
  }
  interface Meta {
    peer_id: { peer_id: string };
  }
}

const COLLECTION = "peers";
/** Maximum number of stored peers; beyond it the peer that was seen least recently is removed. */
const MAX_PEERS = 200;

/** `peers/<peer_id>` */
export interface PeerRecord extends PeerIdentity {
  /** The address that was dialled, or from which the peer connected. */
  address: string;
  last_seen_at: string;
  /** Number of the last insight that was read from the peer. */
  cursor: number;
  /** The newest accepted state of the peer's audit log. */
  kept_log: StoredLog | null;
  /** Result of comparing the log that the peer reported last with `kept_log`, and its reason. */
  log: LogState;
  log_reason: string | null;
}

/** Lists the stored peers, at most 200. */
export async function listPeers(store: Store): Promise<PeerRecord[]> {
  return (await store.list(COLLECTION, { limit: MAX_PEERS })).map(({ value }) => value);
}

/** Finds the record of a peer. */
export async function findPeer(reader: Pick<Store | Tx, "get">, peerId: string): Promise<PeerRecord | undefined> {
  return (await reader.get(COLLECTION, peerId))?.value;
}

/** Finds the longest stored state of a log by its origin, and the instance that reported it. */
export async function describePeerLog(
  store: Store,
  origin: string,
): Promise<{ kept: StoredLog; instance_id: string } | undefined> {
  return (await listPeers(store))
    .flatMap(({ kept_log, instance_id }) => (kept_log?.origin === origin ? [{ kept: kept_log, instance_id }] : []))
    .sort((a, b) => b.kept.length - a.kept.length)[0];
}

/** Fields on which insights and trust depend; when one of them changes, all insights of the peer are read again. */
const NAME_FIELDS = ["instance_id", "product_id", "product_type"] as const;

/** Saves changed fields of a peer; a new peer may replace the one that was seen least recently. */
export async function savePeer(tx: Tx, peer: PeerIdentity & Partial<PeerRecord>): Promise<void> {
  const stored = await findPeer(tx, peer.peer_id);
  const defaults = {
    address: "",
    last_seen_at: "",
    cursor: 0,
    kept_log: null,
    log: "unknown" as const,
    log_reason: null,
  };
  const isRenamed = stored && NAME_FIELDS.some((name) => stored[name] !== peer[name]);
  const cursorReset = isRenamed ? { cursor: 0 } : {};
  tx.put(COLLECTION, peer.peer_id, { ...defaults, ...stored, ...cursorReset, ...peer });
  if (stored) return;
  const all = await tx.list(COLLECTION, { limit: MAX_PEERS + 1 });
  if (all.length <= MAX_PEERS) return;
  const others = all.filter(({ id }) => id !== peer.peer_id);
  const leastRecent = others.reduce((a, b) => (a.value.last_seen_at <= b.value.last_seen_at ? a : b));
  tx.delete(COLLECTION, leastRecent.id);
}

/** Reads this node's id on the link, or creates a random one, so that nodes with default names stay distinct. */
export function openPeerId(store: Store): Promise<string> {
  return store.transact(async (tx) => {
    const stored = (await tx.get("meta", "peer_id"))?.value.peer_id;
    if (stored) return stored;
    const peer_id = bytesToHex(crypto.getRandomValues(new Uint8Array(16)));
    tx.put("meta", "peer_id", { peer_id }, 0);
    return peer_id;
  });
}
