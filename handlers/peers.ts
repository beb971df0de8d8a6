import * as z from "zod";
import { type Call, endpoint } from "../lib/http/endpoint.ts";
import { answer } from "../lib/http/answer.ts";
import type { LinkDeps } from "../lib/link/deps.ts";
import { peerRowSchema, selfRowSchema } from "../lib/link/port.ts";

/** GET /api/peers: the known peers, and this node as peers see it. */
export const peers = endpoint(
  {
    method: "GET",
    path: "/api/peers",
    summary: "Peers of the cross-host link",
    operation: "listPeers",
    description: "Linked instances, and this one as they see it.",
    example: {},
    ownReads: "neutral",
    input: z.object({}),
    output: z.object({
      peers: z.array(peerRowSchema()).describe("A row for each peer."),
      self: selfRowSchema().describe("This node as they see it."),
    }),
  },
  async (_input, { deps: { link, product } }: Call<LinkDeps>) => {
    if (link) return answer({ peers: await link.peers(), self: link.self });
    // Without a link the node has neither a peer id nor an address; without a product it has no other names.
    const { instance_id = null, product_id = null } = product?.identity ?? {};
    const product_type = product?.intent.product_type ?? null;
    return answer({ peers: [], self: { peer_id: null, instance_id, product_id, product_type, address: null } });
  },
);
