/** Rules by which two nodes agree on one connection and on their relation without exchanging messages. */
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

/** The weight of a peer's insights: 1, 0.55, or 0 for one whose insights are not kept. */
export const trustWeight = (relation: Relation): number => TRUST[relation];

/**
 * Returns whether a new connection replaces the present one; both ends decide alike. Of two connections that one end dialled, the
 * newer stays (the older may be half-open); if each end dialled one, that of the node with the smaller peer_id stays.
 */
export function replacesConnection(
  own: string,
  peer: string,
  established: { role: "client" | "server" },
  there: { role: "client" | "server" },
): boolean {
  if (established.role === there.role) return true;
  return (established.role === "client") === own < peer;
}
