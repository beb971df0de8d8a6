/** This node's own insights, made from outcomes of applied changes and numbered in the order of their updates. */
import type { ProjectionDeps } from "../projections/projection.ts";
import { outcomes } from "../projections/outcomes.ts";
import { type Snapshot, readProjection } from "../projections/snapshot.ts";
import { sequenceKey } from "../projections/buffer.ts";
import { makeOutcome } from "../changes/rules/outcome.ts";
import type { Sha256 } from "../kit/platform.ts";
import type { Reads, Store, Stored } from "../store/store.ts";
import type { PeerIdentity } from "./handshake.ts";
import { makeInsight, type SharedInsight } from "./insight.ts";
import { readRecords } from "../changes/records.ts";

declare module "../store/store.ts" {
  interface Collections {
    insights_shared: SharedRecord;
  }
  interface Meta {
    /** The newest number. */
    insights_shared: { last: number };
  }
}

const COLLECTION = "insights_shared";
/** Maximum number of own insights that are stored, and of newest outcomes that are checked. */
export const MAX_SHARED_INSIGHTS = 500;
/** Insights stored in one transaction; each moves to a new number and may replace another. */
const INSIGHTS_PER_TRANSACTION = 15;

/** Record `insights_shared/<number>`: the insight of one change; each update moves it to a new number. */
interface SharedRecord {
  change_id: string;
  /** True when the outcome is final and is not checked again. */
  final: boolean;
  insight: SharedInsight;
}

/**
 * Returns own insights numbered above `after`, the number of the last one returned, and the newest number. An `after` above the
 * newest comes from another store, so reading starts again at the first insight.
 */
export async function readShared(store: Store, self: PeerIdentity, after: number, limit: number) {
  const last = await readNewestNumber(store);
  const from = after > last ? 0 : after;
  const page = limit === 0 ? [] : await store.list(COLLECTION, { after: sequenceKey(from), limit });
  return {
    insights: page.map(({ value }) => updateOrigin(self, value.insight)),
    next: page.length === 0 ? from : Number(page.at(-1)!.id),
    last,
  };
}

/** Lists the newest own insights, newest first. */
export async function listNewestShared(store: Store, limit: number): Promise<SharedInsight[]> {
  return (await store.list(COLLECTION, { limit, reverse: true })).map(({ value }) => value.insight);
}

/** Updates the origin of an own insight: it may change with a restart, and peers accept only insights that name their sender. */
export const updateOrigin = (
  { instance_id, product_id, product_type }: PeerIdentity,
  insight: SharedInsight,
): SharedInsight => ({
  ...insight,
  origin_instance_id: instance_id,
  product_id: product_id ?? insight.product_id,
  product_type,
});

/**
 * Creates the function that updates the own insights and returns the changed ones. Outcomes change only with a new audit entry,
 * or when they become due, so otherwise the function returns early.
 */
export function insightMaker(deps: ProjectionDeps, self: PeerIdentity): () => Promise<SharedInsight[]> {
  /** Log length and next due time at the last check. */
  let checkedState = "";
  return async () => {
    const { store } = deps;
    if (!deps.product) return [];
    const read = await readProjection(deps, outcomes);
    const at = new Date(deps.clock.now()).toISOString();
    const { due } = read.state;
    const currentState = `${read.as_of + read.behind} ${due}`;
    // After the time `due`, each call checks until the projection has closed the outcome, which it does a moment later.
    const isDue = due !== null && due <= at;
    if (currentState === checkedState && !isDue) return [];
    const changed = await findChangedInsights(deps, self, read, at);
    for (let start = 0; start < changed.length; start += INSIGHTS_PER_TRANSACTION)
      await storeSlice(store, changed.slice(start, start + INSIGHTS_PER_TRANSACTION));
    checkedState = currentState;
    return changed.map(({ record }) => record.insight);
  };
}

interface ChangedInsight {
  before: Stored<SharedRecord> | undefined;
  record: SharedRecord;
}

/** Finds insights that changed, among those of the newest outcomes and those that are stored and not final. */
async function findChangedInsights(
  { store, sha256, product }: ProjectionDeps,
  self: PeerIdentity,
  { getMany, list, state: { kpis, windows } }: Snapshot<(typeof outcomes)["start"]>,
  at: string,
): Promise<ChangedInsight[]> {
  const storedInsights = await store.list(COLLECTION, { limit: MAX_SHARED_INSIGHTS });
  const byChange = new Map(storedInsights.map((stored) => [stored.value.change_id, stored]));
  const newest = await list("outcomes", { limit: MAX_SHARED_INSIGHTS, reverse: true });
  const newestIds = new Set(newest.map(({ id }) => id));
  const unfinished = storedInsights.filter(({ value }) => !value.final && !newestIds.has(value.change_id));
  const older = await getMany(
    "outcomes",
    unfinished.map(({ value }) => value.change_id),
  );
  const measured = [...newest, ...older]
    .flatMap((stored) => (stored && !byChange.get(stored.id)?.value.final ? [stored.value] : []))
    .map((record) => ({
      final: record.final,
      ...makeOutcome(record, { kpis, counts: windows, intent: product!.intent }, at),
    }))
    .filter(({ realised_delta, verdict }) => realised_delta !== null && verdict !== "too_early");
  const changes = await readRecords(
    store,
    measured.map(({ change_id }) => change_id),
  );
  return measured.flatMap((outcome, index): ChangedInsight[] => {
    const { change_id, kpi } = outcome;
    const change = changes[index]?.change;
    const before = byChange.get(change_id);
    const isFinal = outcome.final !== null;
    const insight =
      change &&
      makeInsight(outcome, change, {
        self,
        insightId: before?.value.insight.insight_id ?? makeInsightId(self, change_id, sha256),
        // An outcome with a delta has a KPI.
        observedAt: outcome.final?.as_of ?? kpis.values[kpi!]?.at ?? at,
      });
    if (!insight || (before?.value.final === isFinal && isSameInsight(before.value.insight, insight))) return [];
    return [{ before, record: { change_id, final: isFinal, insight } }];
  });
}

/** Makes the id of an insight: always the same for a change, and without information about it. */
const makeInsightId = (self: PeerIdentity, changeId: string, sha256: Sha256): string =>
  `ins_${sha256(`countersign-insight/1\n${self.peer_id}\n${changeId}`).slice(0, 32)}`;

const isSameInsight = (a: SharedInsight, b: SharedInsight): boolean => JSON.stringify(a) === JSON.stringify(b);

/** Moves changed insights to new numbers, and deletes the oldest ones above the maximum. */
async function storeSlice(store: Store, changed: readonly ChangedInsight[]): Promise<void> {
  await store.transact(async (tx) => {
    let last = await readNewestNumber(tx);
    for (const { before, record } of changed) {
      if (before) tx.delete(COLLECTION, before.id, before.revision);
      tx.put(COLLECTION, sequenceKey(++last), record, 0);
    }
    tx.put("meta", COLLECTION, { last });
    const storedInsights = await tx.list(COLLECTION, { limit: MAX_SHARED_INSIGHTS + changed.length, keysOnly: true });
    for (const { id } of storedInsights.slice(0, Math.max(0, storedInsights.length - MAX_SHARED_INSIGHTS)))
      tx.delete(COLLECTION, id);
  });
}

const readNewestNumber = async (reads: Pick<Reads, "get">): Promise<number> =>
  (await reads.get("meta", COLLECTION))?.value.last ?? 0;
