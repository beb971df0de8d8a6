/** An insight: what one applied change was expected to do and what was seen after it, without anything that names a tenant or a person. */
import * as z from "zod";
import { line, target } from "../http/form.ts";
import { type Change, KINDS } from "../governance/rules/change.ts";
import { type Outcome, VERDICTS } from "../governance/rules/outcome.ts";
import type { PeerIdentity } from "./handshake.ts";

const time = z.iso.datetime();
/** Larger figures would drown every other insight in a sum. */
const delta = z.number().min(-1e12).max(1e12).nullable();

/** What leaves a node. Whatever else a message carries is dropped. */
export const sharedInsightSchema = z.object({
  insight_id: z.string().regex(/^[A-Za-z0-9_-]{1,100}$/),
  origin_instance_id: line(200),
  product_id: line(200),
  product_type: line(200).nullable(),
  kind: z.enum(KINDS),
  target,
  /** The KPI that both deltas are about. */
  kpi: z.string().regex(/^[a-z][a-z0-9_]{0,63}$/),
  summary: z.string().max(500),
  expected_delta_k: delta,
  /** Its sign turned so that up is good. */
  realised_delta: delta,
  verdict: z.enum(VERDICTS),
  /** When the KPI was last looked at. */
  observed_at: time,
  basis: z.literal("correlation"),
});
export type SharedInsight = z.infer<typeof sharedInsightSchema>;

/** What is kept of a peer's insight; `trust` and `received_at` are the receiver's own. */
export const insightSchema = sharedInsightSchema.extend({
  received_at: time,
  trust: z.number(),
  /** The node that sent it; instance ids may be equal by default. */
  peer_id: z.string(),
});
export type Insight = z.infer<typeof insightSchema>;

type Facts = Pick<SharedInsight, "kind" | "target" | "kpi" | "expected_delta_k" | "realised_delta" | "verdict">;

/** The only text of an insight: made of its own fields, at both ends, so that nobody's words travel. */
export function summaryOf({ kind, target, kpi, expected_delta_k, realised_delta, verdict }: Facts): string {
  const figures = `expected ${signed(expected_delta_k)}, realised ${signed(realised_delta)} on ${kpi}`;
  return `${kind} on ${target}: ${figures} (${verdict})`;
}

const signed = (delta: number | null): string =>
  delta === null ? "nothing stated" : delta > 0 ? `+${delta}` : `${delta}`;

/**
 * The insight that an outcome gives, or undefined while nothing was measured. Also an outcome without an expectation is
 * shared once it is measured: sharing only its regressions would bias what peers learn.
 */
export function insightOf(
  outcome: Outcome,
  change: Pick<Change, "kind" | "target">,
  { self, insightId, observedAt }: { self: PeerIdentity; insightId: string; observedAt: string },
): SharedInsight | undefined {
  const { kpi, expected_delta_k, realised_delta, verdict } = outcome;
  if (kpi === null || realised_delta === null || self.product_id === null) return undefined;
  const facts = { kind: change.kind, target: change.target, kpi, expected_delta_k, realised_delta, verdict };
  return {
    insight_id: insightId,
    origin_instance_id: self.instance_id,
    product_id: self.product_id,
    product_type: self.product_type,
    ...facts,
    summary: summaryOf(facts),
    observed_at: observedAt,
    basis: "correlation",
  };
}
