/** This node's own insights: made of the outcomes of applied changes, numbered in the order in which they changed. */
import { entryKey, readHead } from "../audit/chain.ts";
import type { LinkDeps } from "./deps.ts";
import { NO_KPIS } from "../governance/rules/kpi.ts";
import { outcomeOf } from "../governance/rules/outcome.ts";
import type { Store, Stored } from "../store/store.ts";
import type { PeerIdentity } from "./handshake.ts";
import { insightOf, type SharedInsight } from "./insight.ts";

declare module "../store/store.ts" {
  interface Collections {
    insights_shared: SharedRecord;
  }
  interface Meta {
    insights_shared: Counters;
  }
}

const COLLECTION = "insights_shared";
/** How many own insights are kept, and how many open outcomes are looked at, the newest changes first. */
export const SHARED_INSIGHTS = 500;
/** How many audit entries are looked through for what was rolled back since the last time. */
const SCANNED_ENTRIES = 5000;

/** `insights_shared/<number>`; a change has one of them, and an update moves it to a new number. */
interface SharedRecord {
  change_id: string;
  /** The outcome was frozen; it is not looked at again. */
  final: boolean;
  insight: SharedInsight;
}

type SharedDeps = Pick<LinkDeps, "store" | "clock" | "sha256" | "product">;

/** Own insights, in the order of their numbers. */
export interface SharedPage {
  insights: SharedInsight[];
  /** The number of the last one on this page, and of the newest of all. */
  next: number;
  last: number;
}

/** Own insights after a number. A number beyond the newest is another store's: the page then begins anew. */
export async function sharedAfter(store: Store, self: PeerIdentity, after: number, limit: number): Promise<SharedPage> {
  const { last } = await counters(store);
  const from = after > last ? 0 : after;
  const page = limit === 0 ? [] : await store.list(COLLECTION, { after: keyOf(from), limit });
  return {
    insights: page.map(({ value }) => spokenBy(self, value.insight)),
    next: page.length === 0 ? from : Number(page.at(-1)!.id),
    last,
  };
}

/** The newest own insights, the newest first. */
export async function newestShared(store: Store, limit: number): Promise<SharedInsight[]> {
  return (await store.list(COLLECTION, { limit, reverse: true })).map(({ value }) => value.insight);
}

/** An own insight under today's names: they may have changed with a restart, and a peer takes it only from whom it names. */
export const spokenBy = (
  { instance_id, product_id, product_type }: PeerIdentity,
  insight: SharedInsight,
): SharedInsight => ({
  ...insight,
  origin_instance_id: instance_id,
  product_id: product_id ?? insight.product_id,
  product_type,
});

/**
 * Makes the function that brings the own insights up to date and returns those that changed. Outcomes only move with an
 * audit entry, so nothing is read while the chain has not grown.
 */
export function insightMaker(deps: SharedDeps, self: PeerIdentity): () => Promise<SharedInsight[]> {
  let looked: number | undefined;
  return async () => {
    const length = (await readHead(deps.store))?.length ?? 0;
    if (!deps.product || length === looked) return [];
    const changeIds = await moved(deps.store, looked ?? (await counters(deps.store)).looked, length);
    const changed = await changedInsights(deps, self, changeIds);
    await keepChanged(deps.store, changed, length);
    looked = length;
    return changed.map(({ record }) => record.insight);
  };
}

interface Changed {
  before: Stored<SharedRecord> | undefined;
  record: SharedRecord;
}

async function changedInsights(deps: SharedDeps, self: PeerIdentity, changeIds: readonly string[]): Promise<Changed[]> {
  const { store, sha256, product, clock } = deps;
  const kpis = (await store.get("kpi", "latest"))?.value ?? NO_KPIS;
  const at = new Date(clock.now()).toISOString();
  const kept = await store.list(COLLECTION, { limit: SHARED_INSIGHTS });
  const byChange = new Map(kept.map((stored) => [stored.value.change_id, stored]));
  const unfinished = kept.filter(({ value }) => !value.final).map(({ value }) => value.change_id);
  const changed: Changed[] = [];
  for (const changeId of new Set([...changeIds, ...unfinished])) {
    const record = (await store.get("outcomes", changeId))?.value;
    const change = (await store.get("changes", changeId))?.value.change;
    if (!record || !change) continue;
    const outcome = outcomeOf(record, kpis, product!.intent, at);
    const before = byChange.get(changeId);
    const insight = insightOf(outcome, change, {
      self,
      insightId: before?.value.insight.insight_id ?? idOf(self, changeId, sha256),
      observedAt: record.final?.as_of ?? kpis.values[outcome.kpi ?? ""]?.at ?? at,
    });
    const final = record.final !== null;
    if (!insight || (before && before.value.final === final && sameFacts(before.value.insight, insight))) continue;
    changed.push({ before, record: { change_id: changeId, final, insight } });
  }
  return changed;
}

/**
 * The changes whose outcomes may have moved since the chain had `looked` entries: the open ones, and those that were
 * rolled back meanwhile, which a guardrail may have done before anybody looked. The first time, the newest of all.
 */
async function moved(store: Store, looked: number, length: number): Promise<string[]> {
  if (looked === 0) return idsOf(await store.list("outcomes", { limit: SHARED_INSIGHTS, reverse: true }));
  const open = await store.list("outcomes_open", { limit: SHARED_INSIGHTS, reverse: true });
  const limit = Math.min(length - looked, SCANNED_ENTRIES);
  const newest = await store.list("audit", { after: entryKey(length + 1), limit, reverse: true });
  const rolledBack = newest.filter(({ value }) => value.event_type === "change_rolled_back");
  return [...idsOf(open), ...rolledBack.map(({ value }) => value.change_id)];
}

const idsOf = (page: readonly Stored[]): string[] => page.map(({ id }) => id);

/** A name that is the same every time and tells nothing of the change. */
const idOf = (self: PeerIdentity, changeId: string, sha256: LinkDeps["sha256"]): string =>
  `ins_${sha256(`countersign-insight/1\n${self.peer_id}\n${changeId}`).slice(0, 32)}`;

const sameFacts = (a: SharedInsight, b: SharedInsight): boolean => JSON.stringify(a) === JSON.stringify(b);

async function keepChanged(store: Store, changed: readonly Changed[], looked: number): Promise<void> {
  const before = await counters(store);
  if (changed.length === 0 && before.looked > 0) return;
  await store.transact(async (tx) => {
    let { last } = await counters(tx);
    for (const { before, record } of changed) {
      if (before) tx.delete(COLLECTION, before.id, before.revision);
      tx.put(COLLECTION, keyOf(++last), record, 0);
    }
    tx.put("meta", COLLECTION, { last, looked });
    const kept = await tx.list(COLLECTION, { limit: SHARED_INSIGHTS + changed.length });
    for (const { id } of kept.slice(0, Math.max(0, kept.length - SHARED_INSIGHTS))) tx.delete(COLLECTION, id);
  });
}

/** `meta/insights_shared`: the newest number, and the chain's length when the outcomes were looked at. */
interface Counters {
  last: number;
  looked: number;
}

const counters = async (reader: Pick<Store, "get">): Promise<Counters> =>
  (await reader.get("meta", COLLECTION))?.value ?? { last: 0, looked: 0 };

/** 16 digits, so that ids sort as numbers do. */
const keyOf = (number: number): string => String(number).padStart(16, "0");
