/** The co-evolution registry: insights from peers of the same product or product type. */
import { addNotice } from "../projections/activity_log.ts";
import type { LinkDeps } from "./deps.ts";
import type { Reads, Tx } from "../store/store.ts";
import type { PeerIdentity } from "./handshake.ts";
import { type Insight, type SharedInsight, sharedInsightSchema, insightSummary } from "./insight.ts";
import { listNewestShared } from "./shared_insights.ts";
import { findRelation, trustWeight } from "./trust.ts";

declare module "../store/store.ts" {
  interface Collections {
    co_evolution: Insight;
  }
  interface Meta {
    co_evolution: RejectedCounts;
  }
}

const COLLECTION = "co_evolution";
/** Maximum number of stored insights. */
export const MAX_INSIGHTS = 500;
/** Insights stored in one transaction; each may replace another. */
const INSIGHTS_PER_TRANSACTION = 20;

/** Counts of a message's insights by result. `unrelated`: the peer has another product and product type, so nothing is stored. */
export interface Acceptance {
  kept: number;
  updated: number;
  unchanged: number;
  unrelated: number;
  refused: { insight_id: string | null; reason: string }[];
}

/** `meta/co_evolution`: counts of insights that were not stored, over the life of the store. */
export interface RejectedCounts {
  unrelated: number;
  refused: number;
}

/** Validates and stores insights that a peer sent, a few in each transaction. */
export async function acceptInsights(
  { store }: Pick<LinkDeps, "store">,
  ends: { self: PeerIdentity; peer: PeerIdentity },
  received: readonly unknown[],
  now: number,
): Promise<Acceptance> {
  const { self, peer } = ends;
  const acceptance: Acceptance = { kept: 0, updated: 0, unchanged: 0, unrelated: 0, refused: [] };
  const trust = trustWeight(findRelation(self, peer));
  const at = new Date(now).toISOString();
  const receivedFields = { trust, received_at: at, peer_id: peer.peer_id };
  if (trust === 0) acceptance.unrelated = received.length;
  else
    for (let start = 0; start < received.length; start += INSIGHTS_PER_TRANSACTION) {
      const slice = received.slice(start, start + INSIGHTS_PER_TRANSACTION);
      const results = await store.transact((tx) => storeSlice(tx, slice, peer, receivedFields));
      for (const result of results)
        if (typeof result === "string") acceptance[result]++;
        else acceptance.refused.push(result);
    }
  const { kept, unrelated, refused } = acceptance;
  if (kept + unrelated + refused.length === 0) return acceptance;
  await store.transact(async (tx) => {
    if (unrelated + refused.length > 0) {
      const before = await readRejectedCounts(tx);
      const counts = { unrelated: before.unrelated + unrelated, refused: before.refused + refused.length };
      tx.put("meta", COLLECTION, counts);
    }
    if (kept === 0) return;
    await addNotice({ store }, tx, {
      at,
      kind: "insight",
      title: `${kept} ${kept === 1 ? "insight" : "insights"} from ${peer.instance_id}`,
      detail: `Kept with a trust of ${trust}.`,
      ref: peer.peer_id,
    });
  });
  return acceptance;
}

type ReceivedFields = Pick<Insight, "trust" | "received_at" | "peer_id">;
type InsightResult = "kept" | "updated" | "unchanged" | Acceptance["refused"][number];

/** Validates and stores received insights in one transaction; returns a result for each, in their order. */
async function storeSlice(
  tx: Tx,
  received: readonly unknown[],
  peer: PeerIdentity,
  receivedFields: ReceivedFields,
): Promise<InsightResult[]> {
  const results: InsightResult[] = [];
  for (const raw of received) {
    const parsed = sharedInsightSchema().safeParse(raw);
    const reason = parsed.success ? findOriginProblem(parsed.data, peer) : "it is not an insight of this version";
    if (reason) results.push({ insight_id: parsed.data?.insight_id ?? null, reason });
    else results.push(await storeInsight(tx, parsed.data!, receivedFields));
  }
  if (results.includes("kept")) await deleteOldest(tx);
  return results;
}

/** Lists stored insights, the last received first. A transaction may exceed the maximum before it deletes the oldest. */
export const listInsights = async (reads: Pick<Reads, "list">): Promise<Insight[]> =>
  (await reads.list(COLLECTION, { limit: MAX_INSIGHTS * 2 }))
    .map(({ value }) => value)
    .sort((a, b) => b.received_at.localeCompare(a.received_at));

/** Returns the newest `limit` insights, the peers, and the newest `limit` insights that this node shares. */
export async function coEvolutionView({ store, link }: LinkDeps, limit: number) {
  const insights = await listInsights(store);
  return {
    insights: insights.slice(0, limit),
    peers: (await link?.peers()) ?? [],
    shared: await listNewestShared(store, limit),
    counts: { kept: insights.length, ...(await readRejectedCounts(store)) },
  };
}

/** Reads the counts of insights that were not stored so far. */
export const readRejectedCounts = async (reads: Pick<Reads, "get">): Promise<RejectedCounts> =>
  (await reads.get("meta", COLLECTION))?.value ?? { unrelated: 0, refused: 0 };

/** Explains why an insight is not from the peer that sent it; peers may send only their own insights. */
function findOriginProblem(insight: SharedInsight, peer: PeerIdentity): string | undefined {
  if (insight.origin_instance_id !== peer.instance_id)
    return "origin_instance_id is not the sender's: nothing is relayed";
  if (insight.product_id !== peer.product_id || insight.product_type !== peer.product_type)
    return "its product is not the one of the handshake";
  return undefined;
}

async function storeInsight(tx: Tx, received: SharedInsight, receivedFields: ReceivedFields): Promise<InsightResult> {
  const { insight_id } = received;
  const before = (await tx.get(COLLECTION, insight_id))?.value;
  if (before && before.peer_id !== receivedFields.peer_id)
    return { insight_id, reason: "another peer's insight has this id" };
  const insight: Insight = { ...received, summary: insightSummary(received), ...receivedFields };
  // Equal except for the time of receipt. Stored insights are made here, so their members have the same order.
  if (before && JSON.stringify({ ...before, received_at: insight.received_at }) === JSON.stringify(insight))
    return "unchanged";
  tx.put(COLLECTION, insight_id, insight);
  return before ? "updated" : "kept";
}

/** Deletes the oldest insights of the peer with the most insights, so that no peer displaces the others. */
async function deleteOldest(tx: Tx): Promise<void> {
  const stored = await listInsights(tx);
  while (stored.length > MAX_INSIGHTS) {
    const counts = new Map<string, number>();
    for (const { peer_id } of stored) counts.set(peer_id, (counts.get(peer_id) ?? 0) + 1);
    const [largestPeer] = [...counts].reduce((most, next) => (next[1] > most[1] ? next : most));
    const oldestIndex = stored.findLastIndex(({ peer_id }) => peer_id === largestPeer);
    const [oldest] = stored.splice(oldestIndex, 1);
    tx.delete(COLLECTION, oldest!.insight_id);
  }
}
