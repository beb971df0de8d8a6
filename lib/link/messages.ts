/** The messages between peers, with the bodies of their requests and answers. */
import * as z from "zod";
import { once } from "../kit/once.ts";

/** Messages that `POST /api/peer/query` can send, since they need no body from the caller. */
export const PLAIN_MESSAGES = [
  "query_product_identity",
  "query_product_evolution",
  "share_evolution_insight",
  "get_checkpoint",
] as const;
export type Message = (typeof PLAIN_MESSAGES)[number] | "query";

/** The only endpoints that a peer may read. */
export const READ_PATHS = [
  "/api/state",
  "/api/capabilities",
  "/api/product/identity",
  "/api/product/co-evolution",
  "/api/l1l5_trend",
] as const;

/** Maximum number of insights in one message. */
export const MAX_INSIGHTS_PER_MESSAGE = 50;

const count = () => z.int().min(0);
const insights = () => z.array(z.unknown()).max(MAX_INSIGHTS_PER_MESSAGE);

/** Body of `query_product_evolution`. `after`: the number of the last insight that the caller has received from this peer. */
export const evolutionQuery = once(() =>
  z.object({
    after: count().default(0),
    limit: z.int().min(0).max(MAX_INSIGHTS_PER_MESSAGE).default(MAX_INSIGHTS_PER_MESSAGE),
  }),
);

/** Answer with the peer's own insights in the order of their updates; `next`: the next `after`; `last`: the newest number. */
export const evolutionAnswer = once(() =>
  z.object({
    product_id: z.string().nullable(),
    product_type: z.string().nullable(),
    insights: insights(),
    next: count(),
    last: count(),
  }),
);

export const shareQuery = once(() => z.object({ insights: insights() }));

export const pathQuery = once(() => z.object({ path: z.enum(READ_PATHS), method: z.literal("GET").default("GET") }));

/** Body of `get_checkpoint`. `from`: the length of the log that the caller has stored. */
export const checkpointQuery = once(() => z.object({ from: count().nullable().default(null) }));

const hash = () => z.string().regex(/^[0-9a-f]{64}$/);

/**
 * An accepted loss of the log's end, from its entry: the log had `known` entries, the last with the hash `known_head` (null:
 * not known), and continues from `length` entries.
 */
const acceptedLoss = () =>
  z.object({
    entry: count(),
    length: count(),
    known: count(),
    known_head: hash().nullable(),
    actor: z.string().max(256),
  });
export type AcceptedLoss = z.infer<ReturnType<typeof acceptedLoss>>;

/**
 * The log at one length. `head_at_from`: the current hash of entry `from`; `checkpoint`: the signed note of this length;
 * `proof`: the consistency proof from `from` to this length, base64 hashes; `loss`: the last accepted loss within it.
 */
export const checkpointAnswer = once(() =>
  z.object({
    origin: z.string().min(1).max(1000),
    length: count(),
    head: hash(),
    head_at_from: hash().nullable().default(null),
    checkpoint: z.string().max(8192).nullable().default(null),
    proof: z.array(z.string().max(64)).max(128).nullable().default(null),
    loss: acceptedLoss().nullable().default(null),
  }),
);
export type CheckpointAnswer = z.infer<ReturnType<typeof checkpointAnswer>>;

/** An answer of a peer: an HTTP status and a JSON body. */
export interface PeerAnswer {
  status: number;
  body: unknown;
}

/** Sends a message to a peer and returns its answer. Errors: `LinkError` if no answer arrives. */
export type AskPeer = (message: Message, body: unknown) => Promise<PeerAnswer>;

/** No answer arrived: the connection is closed, or the peer took too long. */
export class LinkError extends Error {
  override readonly name = "LinkError";
  constructor(
    readonly code: "peer_unreachable" | "peer_timeout",
    message: string,
  ) {
    super(message);
  }
}
