/** Runs the cross-host link of a Node process: connects to peers, exchanges insights with them, and forwards questions. */
import type { ProjectionDeps } from "../lib/projections/projection.ts";
import type { Capability } from "../lib/operations/capability.ts";
import { answerPeer, type CheckpointSource, errorAnswer } from "../lib/link/answer_peer.ts";
import { type Contact, createExchange } from "../lib/link/exchange.ts";
import { checkIdentity, type PeerIdentity } from "../lib/link/handshake.ts";
import { deriveSecretKey } from "../lib/link/keys.ts";
import type { PeerAnswer } from "../lib/link/messages.ts";
import { listPeers, openPeerId, savePeer } from "../lib/link/peer_records.ts";
import type { LinkPort, PeerRow } from "../lib/link/port.ts";
import type { Connection } from "./link/connection.ts";
import { type Mesh, openMesh } from "./link/mesh.ts";
import { listPeerRows } from "./link/peer_rows.ts";
import { systemTimers, type Timers } from "./link/timers.ts";
import type { PeerAddress } from "./option_values.ts";

/** Options of a link. */
export interface CrossLinkOptions {
  deps: ProjectionDeps;
  /** The service's own endpoints, some of which answer peers. */
  fetch: (request: Request) => Promise<Response>;
  /** The first secret signs what this node sends; all are accepted. */
  secrets: readonly string[];
  /** Undefined: the node only dials. */
  listenAt?: PeerAddress | undefined;
  peers: readonly PeerAddress[];
  /** Instance id where no product is governed. */
  nodeId: string;
  checkpoint?: CheckpointSource | undefined;
  timers?: Timers;
  /** 0 to 1, for the jitter between attempts. */
  random?: () => number;
}

/** A running link. */
export interface CrossLink extends LinkPort {
  /** Closes all connections and waits for writes under way. */
  close(): Promise<void>;
}

/** Opens the link. Errors: Node's own where it cannot listen; names of this node that are too long to be sent. */
export async function openCrossLink(options: CrossLinkOptions): Promise<CrossLink> {
  const { deps, fetch, checkpoint } = options;
  const { store, clock, log, product } = deps;
  const self = await readIdentity(options);
  checkIdentity(self);
  const insights = createExchange(deps, self);
  const logs = await watchRewrittenLogs(store);
  const { inBackground, finish } = backgroundWork(log);

  const answer = (peer: PeerIdentity, request: { message: string; body: unknown }): Promise<PeerAnswer> => {
    const pendingAnswer = answerPeer({ store, clock, product, self, fetch, checkpoint }, peer, request);
    // A close waits for the answer, and its failure is logged.
    inBackground("answering a peer", pendingAnswer);
    return pendingAnswer.catch(() => errorAnswer(500, "internal", "internal error; the peer's log has it"));
  };

  /** Makes a contact that asks over a connection, and again over the one that has replaced it if the first question fails. */
  const toContact = (connection: Connection): Contact => ({
    peer: connection.peer!,
    ask: (message, body) =>
      connection.ask(message, body).catch((error: unknown) => {
        const current = mesh.connections().find(({ peer }) => peer!.peer_id === connection.peer!.peer_id);
        if (!current || current === connection) throw error;
        return current.ask(message, body);
      }),
  });

  const mesh = await openMesh({
    self,
    keys: options.secrets.map(deriveSecretKey),
    listenAt: options.listenAt,
    peers: options.peers,
    clock,
    timers: options.timers ?? systemTimers,
    random: options.random ?? Math.random,
    log,
    answer,
    onUp: (connection) =>
      inBackground(
        "syncing with a new peer",
        saveLastSeen(store, connection)
          .then(() => insights.syncOne(toContact(connection)))
          .finally(logs.refresh),
      ),
    onDown: (connection) => inBackground("saving when a peer was last seen", saveLastSeen(store, connection)),
  });

  const peers = async (): Promise<PeerRow[]> =>
    listPeerRows({ self, ...mesh, connections: mesh.connections(), records: await listPeers(store) });

  return {
    self: { ...self, address: mesh.address },
    peers,
    async query(question, peer) {
      const rows = await peers();
      const connected = new Map(mesh.connections().map((each) => [each.peer!.peer_id, toContact(each)]));
      const configured = new Set(mesh.dialers.map(({ address }) => address));
      // Without `peer`: all that were connected since the start, and all that are configured.
      const isSelected = ({ state, peer_id, address }: PeerRow): boolean =>
        peer === undefined ? state !== "unknown" || configured.has(address) : peer_id === peer || address === peer;
      const selected = rows.filter(isSelected);
      if (peer !== undefined && selected.length === 0) return undefined;
      return Promise.all(
        selected.map(async ({ peer_id, address }) => {
          const contact = connected.get(peer_id ?? "");
          const answer = contact
            ? await insights.question(contact, question)
            : errorAnswer(503, "peer_unreachable", "the peer is not connected");
          return { peer_id, address, ...answer };
        }),
      );
    },
    sync: () => insights.syncAll(mesh.connections().map(toContact)).finally(logs.refresh),
    capability: () => describeCapability(mesh, logs.rewritten),
    async close() {
      await mesh.close();
      await finish();
    },
  };
}

async function readIdentity({ deps: { store, product }, nodeId }: CrossLinkOptions): Promise<PeerIdentity> {
  return {
    peer_id: await openPeerId(store),
    instance_id: product?.identity.instance_id ?? nodeId,
    product_id: product?.identity.product_id ?? null,
    product_type: product?.intent.product_type ?? null,
  };
}

function saveLastSeen(store: ProjectionDeps["store"], { peer, address, lastSeen }: Connection): Promise<void> {
  return store.transact((tx) => savePeer(tx, { ...peer!, address, last_seen_at: new Date(lastSeen).toISOString() }));
}

/** Runs work in the background, and logs its failures; `finish` waits for all of it. */
function backgroundWork(log: ProjectionDeps["log"]) {
  const running = new Set<Promise<unknown>>();
  return {
    inBackground(description: string, work: Promise<unknown>): void {
      const finished: Promise<unknown> = work
        .catch((error: unknown) => log.warn(`${description} failed`, { error: String(error) }))
        .finally(() => running.delete(finished));
      running.add(finished);
    },
    async finish(): Promise<void> {
      while (running.size > 0) await Promise.all(running);
    },
  };
}

/** Lists the peers whose audit logs were rewritten; `refresh` reads them again. */
async function watchRewrittenLogs(store: ProjectionDeps["store"]) {
  const logs = {
    rewritten: [] as string[],
    refresh: async () => {
      const records = await listPeers(store);
      logs.rewritten = records.filter(({ log }) => log === "rewritten").map(({ instance_id }) => instance_id);
    },
  };
  await logs.refresh();
  return logs;
}

function describeCapability({ dialers }: Mesh, rewritten: readonly string[]): Capability {
  const missing = dialers.filter(({ state }) => state !== "up").map(({ address }) => address);
  const problems = [
    ...(missing.length > 0 ? [`not connected: ${missing.join(", ")}`] : []),
    ...(rewritten.length > 0 ? [`the audit log was rewritten at: ${rewritten.join(", ")}`] : []),
  ];
  return {
    id: "cross_link",
    group: "link",
    status: problems.length === 0 ? "available" : "degraded",
    reason: problems.length === 0 ? null : problems.join("; "),
    enable_with: null,
  };
}
