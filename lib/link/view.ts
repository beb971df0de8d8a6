/** What is read of the co-evolution registry. */
import type { LinkDeps } from "./deps.ts";
import type { Change } from "../governance/rules/change.ts";
import { type Evidence, evidenceOf } from "./evidence.ts";
import { listInsights, notKept } from "./registry.ts";
import { newestShared } from "./shared.ts";

/** The registry's newest `limit` insights, the peers, and as many of the insights that this node shares. */
export async function coEvolutionView({ store, link }: LinkDeps, limit: number) {
  const insights = await listInsights(store);
  return {
    insights: insights.slice(0, limit),
    peers: (await link?.peers()) ?? [],
    shared: await newestShared(store, limit),
    counts: { kept: insights.length, ...(await notKept(store)) },
  };
}

/** What peers saw after changes like this one, or `null`. */
export async function changeEvidence(store: LinkDeps["store"], change: Change): Promise<Evidence | null> {
  return change.kpi === null ? null : evidenceOf(change, await listInsights(store));
}
