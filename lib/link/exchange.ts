/** Syncs a node with its connected peers, and sends queries to them. */
import type { ProjectionDeps } from "../projections/projection.ts";
import { createKeyedMutex } from "../kit/keyed_mutex.ts";
import { errorAnswer } from "./answer_peer.ts";
import type { PeerIdentity } from "./handshake.ts";
import type { SharedInsight } from "./insight.ts";
import { type PeerAnswer, type AskPeer, MAX_INSIGHTS_PER_MESSAGE, LinkError, type Message } from "./messages.ts";
import type { Query, SyncReport } from "./port.ts";
import { insightMaker, listNewestShared, updateOrigin } from "./shared_insights.ts";
import { shareInsights, syncPeer, type SyncResult } from "./sync.ts";

/** A connected peer. */
export interface Contact {
  peer: PeerIdentity;
  ask: AskPeer;
}

/** Creates the exchange of the node `self`. */
export function createExchange(deps: ProjectionDeps, self: PeerIdentity) {
  const { store, clock, log } = deps;
  const mutex = createKeyedMutex();
  const makeInsights = insightMaker(deps, self);

  const sync = ({ peer, ask }: Contact, changed: readonly SharedInsight[]): Promise<SyncResult> =>
    mutex(`peer ${peer.peer_id}`, () => syncPeer({ store, clock, self }, peer, ask, changed));

  const report = async (contact: Contact, changed: readonly SharedInsight[]): Promise<SyncReport["peers"][number]> => {
    const { peer_id } = contact.peer;
    try {
      return { peer_id, ok: true, ...(await sync(contact, changed)), error: null };
    } catch (error) {
      const isLinkError = error instanceof LinkError;
      if (!isLinkError) log.error("the sync with a peer failed", { peer_id, error: String(error) });
      const reason = isLinkError ? error.message : "it failed; the service's log has it";
      return { peer_id, ok: false, kept: 0, updated: 0, error: reason };
    }
  };

  const share = async ({ peer, ask }: Contact): Promise<PeerAnswer> => {
    const insights = (await listNewestShared(store, MAX_INSIGHTS_PER_MESSAGE)).map((insight) =>
      updateOrigin(self, insight),
    );
    return (await shareInsights(self, peer, ask, insights)) ?? { status: 200, body: { shared: 0 } };
  };

  return {
    /** Syncs with one peer; rejects when the peer does not answer. */
    syncOne: (contact: Contact): Promise<SyncResult> => sync(contact, []),
    /** Updates this node's insights, then syncs with each peer. Failures of peers are reported, not thrown. */
    async syncAll(contacts: readonly Contact[]): Promise<SyncReport> {
      const changed = await mutex("insights", makeInsights);
      return { shared: changed.length, peers: await Promise.all(contacts.map((contact) => report(contact, changed))) };
    },
    /** Sends a query; a peer that does not answer gets status 503 or 504. */
    async question(contact: Contact, query: Query): Promise<PeerAnswer> {
      try {
        if (query === "share_evolution_insight") return await share(contact);
        if (query.startsWith("/")) return await contact.ask("query", { path: query, method: "GET" });
        return await contact.ask(query as Message, {});
      } catch (error) {
        if (!(error instanceof LinkError)) throw error;
        return errorAnswer(error.code === "peer_timeout" ? 504 : 503, error.code, error.message);
      }
    },
  };
}
