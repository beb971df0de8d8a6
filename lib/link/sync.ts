/** Syncs with one peer: exchanges new insights and checks the audit log of the peer. */
import type * as z from "zod";
import type { Store } from "../store/store.ts";
import type { LinkDeps } from "./deps.ts";
import { addNotice } from "../projections/activity_log.ts";
import type { PeerIdentity } from "./handshake.ts";
import type { SharedInsight } from "./insight.ts";
import {
  type PeerAnswer,
  type AskPeer,
  checkpointAnswer,
  evolutionAnswer,
  MAX_INSIGHTS_PER_MESSAGE,
  LinkError,
} from "./messages.ts";
import { findRelation, trustWeight } from "./trust.ts";
import { judgeLog, type Judgement, type StoredLog } from "./peer_log.ts";
import { describePeerLog, findPeer, savePeer } from "./peer_records.ts";
import { acceptInsights } from "./registry.ts";
import { MAX_SHARED_INSIGHTS } from "./shared_insights.ts";

type SyncDeps = Pick<LinkDeps, "store" | "clock"> & { self: PeerIdentity };

/** Maximum number of pages in one sync, enough for all insights that a peer stores. */
const MAX_PAGES = MAX_SHARED_INSIGHTS / MAX_INSIGHTS_PER_MESSAGE;

/** Result of a sync with one peer. */
export interface SyncResult {
  /** Number of new insights, and of changed ones. */
  kept: number;
  updated: number;
}

/**
 * Syncs with one peer: sends it the changed insights of this node, reads its insights and checks its log. Errors: `LinkError` if
 * the peer does not answer, or gives an invalid answer.
 */
export async function syncPeer(
  deps: SyncDeps,
  peer: PeerIdentity,
  ask: AskPeer,
  changed: readonly SharedInsight[] = [],
): Promise<SyncResult> {
  await shareInsights(deps.self, peer, ask, changed);
  const result = await readInsights(deps, peer, ask);
  await checkLog(deps, peer, ask);
  return result;
}

/** Sends insights to a related peer; others get nothing. Returns the answer to the last message, if one was sent. */
export async function shareInsights(
  self: PeerIdentity,
  peer: PeerIdentity,
  ask: AskPeer,
  insights: readonly SharedInsight[],
): Promise<PeerAnswer | undefined> {
  if (trustWeight(findRelation(self, peer)) === 0) return undefined;
  let lastAnswer: PeerAnswer | undefined;
  for (let start = 0; start < insights.length; start += MAX_INSIGHTS_PER_MESSAGE)
    lastAnswer = await ask("share_evolution_insight", {
      insights: insights.slice(start, start + MAX_INSIGHTS_PER_MESSAGE),
    });
  return lastAnswer;
}

async function readInsights(deps: SyncDeps, peer: PeerIdentity, ask: AskPeer): Promise<SyncResult> {
  const { store, clock, self } = deps;
  const isRelated = trustWeight(findRelation(self, peer)) > 0;
  const result: SyncResult = { kept: 0, updated: 0 };
  let after = (await findPeer(store, peer.peer_id))?.cursor ?? 0;
  for (let page = 0; page < MAX_PAGES; page++) {
    // An unrelated peer is asked for no insights; the query still shows that it works.
    const limit = isRelated ? MAX_INSIGHTS_PER_MESSAGE : 0;
    const answer = await ask("query_product_evolution", { after, limit });
    const { insights, next, last } = parseAnswer(answer, evolutionAnswer());
    if (insights.length > 0 || next !== after) {
      const acceptance = await acceptInsights(deps, { self, peer }, insights, clock.now());
      await store.transact((tx) => savePeer(tx, { ...peer, cursor: next }));
      result.kept += acceptance.kept;
      result.updated += acceptance.updated;
    }
    if (insights.length === 0 || next >= last) break;
    after = next;
  }
  return result;
}

async function checkLog({ store, clock }: SyncDeps, peer: PeerIdentity, ask: AskPeer): Promise<void> {
  const before = await findPeer(store, peer.peer_id);
  const stored = before?.kept_log ?? null;
  const at = new Date(clock.now()).toISOString();
  const judgement = await judgePeerLog(store, stored, ask, at);
  // An answer without a log does not clear a peer whose log was rewritten.
  if (!judgement || (before?.log === "rewritten" && judgement.log === "unknown")) return;
  const isChanged = judgement.log !== before?.log || judgement.reason !== before?.log_reason;
  // The same judgement of a log that has not grown needs no write.
  if (!isChanged && judgement.reference?.length === stored?.length) return;
  await store.transact(async (tx) => {
    await savePeer(tx, { ...peer, kept_log: judgement.reference, log: judgement.log, log_reason: judgement.reason });
    const { log } = judgement;
    if ((log !== "rewritten" && log !== "lost") || before?.log === log) return;
    const event = log === "lost" ? "lost its end" : "was rewritten";
    await addNotice({ store }, tx, {
      at,
      kind: `peer_log_${log}`,
      title: `The audit log of ${peer.instance_id} ${event}`,
      detail: judgement.reason!,
      ref: peer.peer_id,
    });
  });
}

/**
 * Compares the reported state of a peer's log with the stored one; undefined for a peer without a log. Without a stored state, the
 * log is compared with the state that another peer reported for the same origin, since a peer may have changed its name. A second
 * request then asks for the proof from that state.
 */
async function judgePeerLog(
  store: Store,
  stored: StoredLog | null,
  ask: AskPeer,
  at: string,
): Promise<Judgement | undefined> {
  const answer = await ask("get_checkpoint", stored ? { from: stored.length } : {});
  if (answer.status === 404 && !stored) return undefined;
  if (answer.status !== 200)
    return { log: "unknown", reason: "the peer gives no account of its log", reference: stored };
  const reported = parseAnswer(answer, checkpointAnswer());
  const earlier = stored ? undefined : await describePeerLog(store, reported.origin);
  if (!earlier) return judgeLog(stored, reported, at);
  const judgement = await judgePeerLog(store, earlier.kept, ask, at);
  if (!judgement?.reason) return judgement;
  return { ...judgement, reason: `${judgement.reason}, by what ${earlier.instance_id} reported of it` };
}

function parseAnswer<T>({ status, body }: PeerAnswer, schema: z.ZodType<T>): T {
  const parsed = status === 200 ? schema.safeParse(body) : undefined;
  if (parsed?.success) return parsed.data;
  throw new LinkError("peer_unreachable", `the peer's answer (status ${status}) is not one of this protocol`);
}
