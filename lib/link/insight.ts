/** Insights: the expected and the measured effect of one applied change, without names of tenants or people. */
import * as z from "zod";
import { once } from "../kit/once.ts";
import { line, target } from "../kit/fields.ts";
import { type Change, KINDS } from "../changes/rules/change.ts";
import { type Outcome, SHARED_VERDICTS } from "../changes/rules/outcome.ts";
import { describeSharing } from "../changes/rules/outcome_words.ts";
import type { PeerIdentity } from "./handshake.ts";

const time = () => z.iso.datetime();
/** A bounded number: larger ones would dominate every sum over insights. */
const delta = () => z.number().min(-1e12).max(1e12).nullable();

/** An insight as a node sends it. Unknown members are dropped. */
export const sharedInsightSchema = once(() =>
  z
    .object({
      insight_id: z
        .string()
        .regex(/^[A-Za-z0-9_-]{1,100}$/)
        .meta({
          description: "Id of the insight, made by the node where the change was applied.",
          examples: ["ins_7"],
        }),
      origin_instance_id: line(200).meta({ description: "Instance that applied the change.", examples: ["eu-1"] }),
      product_id: line(200).meta({ description: "The product that was changed.", examples: ["acme-crm"] }),
      product_type: line(200)
        .nullable()
        .meta({ description: "Product type; null if not stated.", examples: ["crm"] }),
      kind: z.enum(KINDS).describe("Kind of change."),
      target: target().meta({ description: "Target of the change.", examples: ["limits.seats"] }),
      kpi: z
        .string()
        .regex(/^[a-z][a-z0-9_]{0,63}$/)
        .meta({ description: "The KPI that both deltas are about.", examples: ["nrr_quarterly"] }),
      summary: z
        .string()
        .max(500)
        .meta({
          description: "A sentence made of these fields.",
          examples: ["config on limits.seats: expected +0.05, realised +0.03 on nrr_quarterly (missed)"],
        }),
      expected_delta_k: delta().describe("Gain that was expected; null when not stated."),
      realised_delta: delta().describe(
        "Gain that was seen, its sign turned so that up is good; null when not measured.",
      ),
      shared_count: z.int().min(0).max(1e9).describe("Number of other changes that share the movement."),
      verdict: z.enum(SHARED_VERDICTS).describe("Comparison of the two deltas."),
      observed_at: time().describe("Time of the last KPI value."),
      basis: z.literal("correlation").describe("A correlation is no proof of a cause."),
    })
    .describe("Effect of a change, without names of tenants or people."),
);
export type SharedInsight = z.infer<ReturnType<typeof sharedInsightSchema>>;

/** A peer's insight as stored; `trust` and `received_at` are the receiver's own. */
export const insightSchema = once(() =>
  sharedInsightSchema()
    .extend({
      received_at: time().describe("Time of receipt."),
      trust: z.number().describe("Weight here: 1 of the same product, 0.55 of the same product type."),
      peer_id: z.string().meta({ description: "The node that sent it.", examples: ["eu-1@acme"] }),
    })
    .describe("Effect of a change at a peer, as received here."),
);
export type Insight = z.infer<ReturnType<typeof insightSchema>>;

type Facts = Pick<
  SharedInsight,
  "kind" | "target" | "kpi" | "expected_delta_k" | "realised_delta" | "shared_count" | "verdict"
>;

/** Formats the summary, the only text of an insight. Sender and receiver both compute it, so that no free text is transferred. */
export function insightSummary(facts: Facts): string {
  const { kind, target, kpi, expected_delta_k, realised_delta, shared_count, verdict } = facts;
  const deltas = `expected ${formatDelta(expected_delta_k)}, realised ${formatDelta(realised_delta)} on ${kpi}`;
  const remarks = [verdict, describeSharing({ shared_count })].filter(Boolean).join(", ");
  return `${kind} on ${target}: ${deltas} (${remarks})`;
}

function formatDelta(delta: number | null): string {
  if (delta === null) return "nothing stated";
  return delta > 0 ? `+${delta}` : `${delta}`;
}

/**
 * Makes the insight of an outcome; undefined if nothing was measured, or it is too early for a verdict. Outcomes without an
 * expectation are shared too: sharing only regressions would bias the evidence of peers.
 */
export function makeInsight(
  outcome: Outcome,
  change: Pick<Change, "kind" | "target">,
  { self, insightId, observedAt }: { self: PeerIdentity; insightId: string; observedAt: string },
): SharedInsight | undefined {
  const { kpi, expected_delta_k, realised_delta, shared_count, verdict } = outcome;
  if (kpi === null || realised_delta === null || verdict === "too_early" || self.product_id === null) return undefined;
  const { kind, target } = change;
  const facts = { kind, target, kpi, expected_delta_k, realised_delta, shared_count, verdict };
  return {
    insight_id: insightId,
    origin_instance_id: self.instance_id,
    product_id: self.product_id,
    product_type: self.product_type,
    ...facts,
    summary: insightSummary(facts),
    observed_at: observedAt,
    basis: "correlation",
  };
}
