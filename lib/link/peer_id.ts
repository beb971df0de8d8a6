import { bytesToHex } from "@noble/hashes/utils.js";
import type { Store } from "../store/store.ts";

declare module "../store/store.ts" {
  interface Meta {
    peer_id: { peer_id: string };
  }
}

/** The node's name on the link: random, made once and kept with the store, so that two nodes with default names stay two. */
export function openPeerId(store: Store): Promise<string> {
  return store.transact(async (tx) => {
    const kept = (await tx.get("meta", "peer_id"))?.value.peer_id;
    if (kept) return kept;
    const peer_id = bytesToHex(crypto.getRandomValues(new Uint8Array(16)));
    tx.put("meta", "peer_id", { peer_id }, 0);
    return peer_id;
  });
}
