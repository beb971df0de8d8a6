/** Evidence for a change: results that peers saw after similar changes. It is only shown, and changes no tier or consent. */
import * as z from "zod";
import { once } from "../kit/once.ts";
import type { Change } from "../changes/rules/change.ts";
import { normalizeTarget } from "../changes/rules/target_key.ts";
import { SHARED_VERDICTS } from "../changes/rules/outcome.ts";
import type { Store } from "../store/store.ts";
import type { Insight } from "./insight.ts";
import { listInsights } from "./registry.ts";

export const evidenceSchema = once(() =>
  z
    .object({
      kpi: z.string().meta({ description: "The KPI of the insights.", examples: ["nrr_quarterly"] }),
      match: z
        .enum(["target", "prefix"])
        .describe("target: insights on the same target; prefix: only on targets with the same parent."),
      n: z.number().int().describe("Number of insights."),
      shared: z.number().int().describe("Number of insights that share their movement."),
      effective_n: z.number().describe("Number of insights of equal trust with the same weight."),
      mean_delta: z.number().describe("Their mean gain, weighed by trust; up is good."),
      verdicts: z
        .record(z.enum(SHARED_VERDICTS), z.number().int().describe("Insights of this verdict."))
        .describe("Number of insights by verdict."),
      insight_ids: z.array(z.string()).meta({ description: "Ids of the insights.", examples: [["ins_7"]] }),
      basis: z.literal("correlation").describe("A correlation is no proof of a cause."),
    })
    .describe("Effects of similar changes at peers."),
);
export type Evidence = z.infer<ReturnType<typeof evidenceSchema>>;

/** Returns the results that peers saw after similar changes; `null` if there are none. */
export const changeEvidence = async (store: Store, change: Change): Promise<Evidence | null> =>
  change.kpi === null ? null : peerEvidence(change, await listInsights(store));

/**
 * Computes the evidence for a change from insights of the same kind and KPI, weighed by trust: from those on its target or, if there
 * are none, from those on targets with the same parent. Returns `null` without such insights.
 */
export function peerEvidence(
  change: Pick<Change, "kind" | "target" | "kpi">,
  insights: readonly Insight[],
): Evidence | null {
  const { kind, kpi } = change;
  if (kpi === null) return null;
  const similar = insights.filter(
    (insight) => insight.kind === kind && insight.kpi === kpi && insight.realised_delta !== null && insight.trust > 0,
  );
  const targetName = normalizeTarget(change.target);
  const onTarget = similar.filter(({ target }) => normalizeTarget(target) === targetName);
  const hasExactMatch = onTarget.length > 0;
  const matches = hasExactMatch
    ? onTarget
    : similar.filter(({ target }) => isSibling(normalizeTarget(target), targetName));
  if (matches.length === 0) return null;
  const sum = (pick: (insight: Insight) => number) => matches.reduce((total, insight) => total + pick(insight), 0);
  const trustSum = sum(({ trust }) => trust);
  return {
    kpi,
    match: hasExactMatch ? "target" : "prefix",
    n: matches.length,
    shared: matches.filter(({ shared_count }) => shared_count > 0).length,
    effective_n: roundDigits(trustSum ** 2 / sum(({ trust }) => trust ** 2)),
    mean_delta: roundDigits(sum(({ trust, realised_delta }) => trust * realised_delta!) / trustSum),
    verdicts: countVerdicts(matches),
    insight_ids: matches.map(({ insight_id }) => insight_id),
    basis: "correlation",
  };
}

/** Returns true for targets with the same parent, such as `limits.uploads` and `limits.downloads`. A target without parent has none. */
const isSibling = (a: string, b: string): boolean => parentTarget(a) !== "" && parentTarget(a) === parentTarget(b);

/** Returns a target up to and including its last separator; empty without a separator. */
const parentTarget = (target: string): string => /^.*[.:/]/.exec(target)?.[0] ?? "";

function countVerdicts(insights: readonly Insight[]): Record<Insight["verdict"], number> {
  const counts = Object.fromEntries(SHARED_VERDICTS.map((verdict) => [verdict, 0])) as Record<
    Insight["verdict"],
    number
  >;
  for (const { verdict } of insights) counts[verdict]++;
  return counts;
}

const roundDigits = (value: number): number => Number(value.toPrecision(12));
