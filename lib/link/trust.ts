/** Rules that both nodes evaluate alike: the relation of their products, and which of two connections stays. */
import type { PeerIdentity } from "./handshake.ts";

export const RELATIONS = ["same_product", "same_product_type", "other"] as const;
export type Relation = (typeof RELATIONS)[number];

const TRUST: Record<Relation, number> = { same_product: 1, same_product_type: 0.55, other: 0 };

type Product = Pick<PeerIdentity, "product_id" | "product_type">;

/** Returns the relation of a peer's product to this node's; an absent name matches none. */
export function findRelation(self: Product, peer: Product): Relation {
  if (self.product_id && self.product_id === peer.product_id) return "same_product";
  if (self.product_type && self.product_type === peer.product_type) return "same_product_type";
  return "other";
}

/** Returns the weight of a peer's insights; those with the weight 0 are not stored. */
export const trustWeight = (relation: Relation): number => TRUST[relation];

/**
 * Returns whether a new connection replaces the current one; both ends decide alike. If the same end dialled both, the newer one
 * stays, since the older may be half-open. If each end dialled one, that of the node with the smaller peer_id stays.
 */
export function replacesConnection(
  ownId: string,
  peerId: string,
  added: { role: "client" | "server" },
  current: { role: "client" | "server" },
): boolean {
  if (added.role === current.role) return true;
  const isDialledByThisNode = added.role === "client";
  const hasSmallerId = ownId < peerId;
  return isDialledByThisNode === hasSmallerId;
}
