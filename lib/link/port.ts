/** The port of the link: the interface that the rest of the service uses. */
import * as z from "zod";
import { once } from "../kit/once.ts";
import type { Capability } from "../operations/capability.ts";
import { PLAIN_MESSAGES, READ_PATHS } from "./messages.ts";
import { RELATIONS } from "./trust.ts";
import { LOG_STATES } from "./peer_log.ts";

/** A peer in the answer of GET /api/peers; unknown values are `null`. */
export const peerRowSchema = once(() =>
  z
    .object({
      peer_id: z
        .string()
        .nullable()
        .meta({ description: "Id of the peer; null before the first contact.", examples: ["eu-1@acme"] }),
      instance_id: z
        .string()
        .nullable()
        .meta({ description: "Instance of the peer; null before the first contact.", examples: ["eu-1"] }),
      address: z.string().meta({ description: "Host and port of the peer.", examples: ["10.0.0.2:8421"] }),
      state: z.enum(["up", "down", "unknown"]).describe("Connection; unknown: not tried or not seen since the start."),
      product_id: z
        .string()
        .nullable()
        .meta({ description: "Product of the peer; null if unknown.", examples: ["acme-crm"] }),
      product_type: z
        .string()
        .nullable()
        .meta({ description: "Product type; null if unknown.", examples: ["crm"] }),
      relation: z.enum(RELATIONS).nullable().describe("Relation of the two products; null if unknown."),
      trust: z
        .number()
        .nullable()
        .describe("Weight of its insights: 1, 0.55, or 0 if they are not stored; null if unknown."),
      last_seen_at: z
        .string()
        .nullable()
        .meta({
          description: "Time of its last message; null before the first.",
          examples: ["2026-11-22T18:00:00.000Z"],
        }),
      rtt_ms: z.number().nullable().describe("Round trip in milliseconds; null when not measured."),
      log: z
        .enum(LOG_STATES)
        .describe("rewritten: its log does not continue the stored one; lost: a person accepted that."),
      log_reason: z.string().nullable().describe("Reason for that result; null without one."),
    })
    .describe("Another instance, linked with this one."),
);
export type PeerRow = z.infer<ReturnType<typeof peerRowSchema>>;

/** This node as its peers see it; without a link it has no `peer_id` and no address. */
export const selfRowSchema = once(() =>
  z.object({
    peer_id: z
      .string()
      .nullable()
      .meta({ description: "Id of this node; null without a link.", examples: ["local@acme"] }),
    instance_id: z
      .string()
      .nullable()
      .meta({ description: "This instance; null without a product.", examples: ["local"] }),
    product_id: z
      .string()
      .nullable()
      .meta({ description: "Product of this node; null without one.", examples: ["acme-crm"] }),
    product_type: z
      .string()
      .nullable()
      .meta({ description: "Product type; null if not stated.", examples: ["crm"] }),
    address: z
      .string()
      .nullable()
      .meta({ description: "Address for peers; null without a link.", examples: ["10.0.0.1:8421"] }),
  }),
);
export type SelfRow = z.infer<ReturnType<typeof selfRowSchema>>;

/** The answer of one peer; without an answer, status 503 or 504 with an error as body. */
export const peerResultSchema = once(() =>
  z.object({
    peer_id: z
      .string()
      .nullable()
      .meta({ description: "The peer that answers; null if unknown.", examples: ["eu-1@acme"] }),
    address: z.string().meta({ description: "Address of the request.", examples: ["10.0.0.2:8421"] }),
    status: z.number().int().describe("HTTP status of the answer; 503 or 504 if none came."),
    body: z.unknown().describe("Answer: any JSON."),
  }),
);
export type PeerResult = z.infer<ReturnType<typeof peerResultSchema>>;

/** Report of a sync with all peers: the number of new or changed own insights, and the result for each peer. */
export interface SyncReport {
  shared: number;
  peers: { peer_id: string; ok: boolean; kept: number; updated: number; error: string | null }[];
}

/** The cross-host link. */
export interface LinkPort {
  readonly self: SelfRow;
  peers(): Promise<PeerRow[]>;
  /**
   * Sends a query to one peer, by `peer_id` or address, or to all peers. Returns undefined if `peer` is unknown.
   */
  query(query: Query, peer?: string): Promise<PeerResult[] | undefined>;
  /** Updates the own insights, sends them to the peers and reads theirs. Failures of peers are reported, not thrown. */
  sync(): Promise<SyncReport>;
  capability(): Capability;
}

/** Queries that a person may send to peers: a read endpoint, or a message whose body the caller does not provide. */
export const QUERIES = [...READ_PATHS, ...PLAIN_MESSAGES] as const;
export type Query = (typeof QUERIES)[number];
