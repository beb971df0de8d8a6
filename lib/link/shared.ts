/** This node's own insights: made of the outcomes of applied changes, numbered in the order in which they changed. */
import { readHead } from "../audit/chain.ts";
import type { FollowDeps } from "../follow/follower.ts";
import { changeAt, outcomes } from "../follow/outcomes.ts";
import { type Reading, reading } from "../follow/reading.ts";
import { ringKey as keyOf } from "../follow/ring.ts";
import { outcomeOf } from "../governance/rules/outcome.ts";
import type { Sha256 } from "../kit/platform.ts";
import type { Reads, Store, Stored } from "../store/store.ts";
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
/** Each that changed moves to a new number, and may push out another. */
const SLICE = 15;

/** `insights_shared/<number>`; a change has one of them, and an update moves it to a new number. */
interface SharedRecord {
  change_id: string;
  /** The outcome was frozen; it is not looked at again. */
  final: boolean;
  insight: SharedInsight;
}

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
export function insightMaker(deps: FollowDeps, self: PeerIdentity): () => Promise<SharedInsight[]> {
  let looked: number | undefined;
  return async () => {
    const { store } = deps;
    const length = (await readHead(store))?.length ?? 0;
    if (!deps.product || length === looked) return [];
    const read = await reading(deps, outcomes);
    const changed = await changedInsights(deps, self, read, await moved(read, (await counters(store)).closed));
    await keepChanged(store, changed, read.state.closed.seq);
    looked = length;
    return changed.map(({ record }) => record.insight);
  };
}

type Outcomes = Reading<(typeof outcomes)["start"]>;

interface Changed {
  before: Stored<SharedRecord> | undefined;
  record: SharedRecord;
}

async function changedInsights(
  { store, sha256, product, clock }: FollowDeps,
  self: PeerIdentity,
  { getMany, state: { kpis } }: Outcomes,
  changeIds: readonly string[],
): Promise<Changed[]> {
  const at = new Date(clock.now()).toISOString();
  const kept = await store.list(COLLECTION, { limit: SHARED_INSIGHTS });
  const byChange = new Map(kept.map((stored) => [stored.value.change_id, stored]));
  const unfinished = kept.filter(({ value }) => !value.final).map(({ value }) => value.change_id);
  const ids = [...new Set([...changeIds, ...unfinished])];
  const [records, changes] = await Promise.all([getMany("outcomes", ids), store.getMany("changes", ids)]);
  return ids.flatMap((changeId, index): Changed[] => {
    const record = records[index]?.value;
    const change = changes[index]?.value.change;
    if (!record || !change) return [];
    const outcome = outcomeOf(record, kpis, product!.intent, at);
    const before = byChange.get(changeId);
    const insight = insightOf(outcome, change, {
      self,
      insightId: before?.value.insight.insight_id ?? idOf(self, changeId, sha256),
      observedAt: record.final?.as_of ?? kpis.values[outcome.kpi ?? ""]?.at ?? at,
    });
    const final = record.final !== null;
    if (!insight || (before && before.value.final === final && sameFacts(before.value.insight, insight))) return [];
    return [{ before, record: { change_id: changeId, final, insight } }];
  });
}

/** The changes whose outcomes may have moved: the open ones, and those that were closed since. The first time, the newest. */
async function moved({ list }: Outcomes, closed: number | undefined): Promise<string[]> {
  const newest = { limit: SHARED_INSIGHTS, reverse: true, keysOnly: true } as const;
  if (closed === undefined) return (await list("outcomes", newest)).map(({ id }) => id);
  const open = await list("outcomes_open", newest);
  const since = await list("closed", { after: keyOf(closed), limit: SHARED_INSIGHTS });
  return [...open.map(({ id }) => changeAt(id)), ...since.map(({ value }) => value)];
}

/** A name that is the same every time and tells nothing of the change. */
const idOf = (self: PeerIdentity, changeId: string, sha256: Sha256): string =>
  `ins_${sha256(`countersign-insight/1\n${self.peer_id}\n${changeId}`).slice(0, 32)}`;

const sameFacts = (a: SharedInsight, b: SharedInsight): boolean => JSON.stringify(a) === JSON.stringify(b);

/** How far it was looked is kept with the last slice: what a crash leaves out is looked at again. */
async function keepChanged(store: Store, changed: readonly Changed[], closed: number): Promise<void> {
  if (changed.length === 0 && (await counters(store)).closed === closed) return;
  for (let start = 0; start === 0 || start < changed.length; start += SLICE) {
    const slice = changed.slice(start, start + SLICE);
    await store.transact(async (tx) => {
      const looked = await counters(tx);
      let { last } = looked;
      for (const { before, record } of slice) {
        if (before) tx.delete(COLLECTION, before.id, before.revision);
        tx.put(COLLECTION, keyOf(++last), record, 0);
      }
      tx.put("meta", COLLECTION, { ...looked, last, ...(start + SLICE >= changed.length ? { closed } : {}) });
      const kept = await tx.list(COLLECTION, { limit: SHARED_INSIGHTS + slice.length, keysOnly: true });
      for (const { id } of kept.slice(0, Math.max(0, kept.length - SHARED_INSIGHTS))) tx.delete(COLLECTION, id);
    });
  }
}

/** `meta/insights_shared`: the newest number, and how many changes had been closed when their outcomes were looked at. */
interface Counters {
  last: number;
  closed?: number;
}

const counters = async (reads: Pick<Reads, "get">): Promise<Counters> =>
  (await reads.get("meta", COLLECTION))?.value ?? { last: 0 };
