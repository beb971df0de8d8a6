/** What the rest of the service sees of the link. */
import * as z from "zod";
import type { Capability } from "../pulse/capability.ts";
import { PLAIN_MESSAGES, READ_PATHS } from "./messages.ts";
import { RELATIONS } from "./trust.ts";
import { LOG_STATES } from "./peer_log.ts";

/** A peer as GET /api/peers shows it; what is not known yet is `null`. */
export const peerRowSchema = z.object({
  peer_id: z.string().nullable(),
  instance_id: z.string().nullable(),
  address: z.string(),
  /** `unknown`: not tried or not seen since the start. */
  state: z.enum(["up", "down", "unknown"]),
  product_id: z.string().nullable(),
  product_type: z.string().nullable(),
  relation: z.enum(RELATIONS).nullable(),
  /** 1, 0.55, or 0: insights of this peer are not kept. */
  trust: z.number().nullable(),
  last_seen_at: z.string().nullable(),
  rtt_ms: z.number().nullable(),
  /** `rewritten`: its audit log is no longer a continuation of the one that was kept. */
  log: z.enum(LOG_STATES),
  log_reason: z.string().nullable(),
});
export type PeerRow = z.infer<typeof peerRowSchema>;

/** This node as its peers see it; without a link it has no `peer_id` and no address. */
export const selfRowSchema = z.object({
  peer_id: z.string().nullable(),
  instance_id: z.string().nullable(),
  product_id: z.string().nullable(),
  product_type: z.string().nullable(),
  address: z.string().nullable(),
});
export type SelfRow = z.infer<typeof selfRowSchema>;

/** One peer's answer; a peer that does not answer has status 503 or 504 and says so in its body. */
export const peerResultSchema = z.object({
  peer_id: z.string().nullable(),
  address: z.string(),
  status: z.number().int(),
  body: z.unknown(),
});
export type PeerResult = z.infer<typeof peerResultSchema>;

/** What a sync with all peers did: own insights made or changed, and each peer's part. */
export interface SyncReport {
  shared: number;
  peers: { peer_id: string; ok: boolean; kept: number; updated: number; error: string | null }[];
}

/** The cross-host link. */
export interface LinkPort {
  readonly self: SelfRow;
  peers(): Promise<PeerRow[]>;
  /**
   * Asks one peer, by `peer_id` or address, or all of them. `what` is a read path or the name of a message
   * (`QUERIES`); undefined when `peer` names none.
   */
  query(what: Query, peer?: string): Promise<PeerResult[] | undefined>;
  /** Brings the own insights up to date, hands them out and reads those of the peers. Never rejects for a peer's sake. */
  sync(): Promise<SyncReport>;
  capability(): Capability;
}

/** What a person may ask peers: a read endpoint, or a message that needs no further input. */
export const QUERIES = [...READ_PATHS, ...PLAIN_MESSAGES] as const;
export type Query = (typeof QUERIES)[number];
