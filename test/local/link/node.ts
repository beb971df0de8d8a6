/** A complete service with its link, in this process, on real sockets. */
import { DAY_MS } from "../../../lib/kit/days.ts";
import { countersign } from "../../../handlers/index.ts";
import type { Deps } from "../../../lib/deps.ts";
import type { CheckpointSource } from "../../../lib/link/answer_peer.ts";
import type { Insight } from "../../../lib/link/insight.ts";
import type { LinkPort } from "../../../lib/link/port.ts";
import { memoryStore } from "../../../lib/store/memory.ts";
import type { Store } from "../../../lib/store/store.ts";
import { type CrossLink, openCrossLink } from "../../../local/cross_link.ts";
import type { PeerAddress } from "../../../local/option_values.ts";
import { checkedFetch } from "../../support/checked_fetch.ts";
import { type Client, client } from "../../support/client.ts";
import { countedIds } from "../../support/ids.ts";
import { manifest } from "../../support/intents.ts";
import { type ManualTime, manualTime } from "./manual_timers.ts";
import { type RecordedLog, recordedLog } from "./recorded_log.ts";
import { SECRET } from "./secret.ts";

export { SECRET };

export interface NodeOptions {
  name: string;
  /** Without a product id the node has no product. */
  product_id?: string;
  product_type?: string;
  /** If absent, the node only makes connections and accepts none. */
  listenAt?: PeerAddress | undefined;
  peers?: readonly PeerAddress[];
  secrets?: readonly string[];
  store?: Store;
  time?: ManualTime;
  checkpoint?: (deps: Deps) => CheckpointSource;
}

export interface TestNode extends Client {
  options: NodeOptions;
  deps: Deps & { link: LinkPort };
  link: CrossLink;
  log: RecordedLog;
  time: ManualTime;
  /** The address to which other nodes connect; port 0 if the node accepts no connections. */
  at: PeerAddress;
  /** Returns the stored insights. */
  insights(): Promise<Insight[]>;
  /** Proposes, approves and applies a change, and feeds KPIs until the change has an outcome; returns the change's id. */
  addOutcome(overrides?: Record<string, string | number>): Promise<string>;
}

const KPIS = { csat: { baseline: 4, target: 5 }, incident_rate: { baseline: 0.04, target: 0.01 } };

const running = new Set<TestNode>();

/** Starts a node, which `stopAll` stops. */
export async function startNode(options: NodeOptions): Promise<TestNode> {
  const { name, product_id, product_type, store = memoryStore(), time = manualTime() } = options;
  const log = recordedLog();
  const type = product_type === undefined ? {} : { product_type };
  const { fetch, ...service } = await countersign({
    store,
    log,
    ids: countedIds(),
    clock: time.clock,
    node_id: name,
    intent: product_id === undefined ? undefined : manifest({ product_id, ...type, kpis: KPIS }),
  });
  const deps = service.deps as TestNode["deps"];
  const link = await openCrossLink({
    deps,
    fetch,
    secrets: options.secrets ?? [SECRET],
    listenAt: options.listenAt,
    peers: options.peers ?? [],
    nodeId: name,
    timers: time.timers,
    random: () => 0.5,
    checkpoint: options.checkpoint?.(deps),
  });
  deps.link = link;
  const requests = client(checkedFetch(fetch));
  const port = Number(/:(\d+)$/.exec(link.self.address ?? ":0")![1]);

  const node: TestNode = {
    ...requests,
    options: { ...options, store, time },
    deps,
    link,
    log,
    time,
    at: { host: options.listenAt?.host ?? "", port },
    insights: async () => (await requests.get("/api/product/co-evolution?limit=500")).body.insights,
    async addOutcome(overrides = {}) {
      await requests.post("kpi", { csat: 4 });
      const id = await requests.bring("applied", { kpi: "csat", expected_delta_k: 0.2, ...overrides });
      // Verdicts are shared only after their horizon.
      time.clock.advance(7 * DAY_MS);
      await requests.post("kpi", { csat: 4.3 });
      return id;
    },
  };
  running.add(node);
  return node;
}

/** Stops a node as the end of its process would: its connections break, and its store remains. */
export async function stopNode(node: TestNode): Promise<void> {
  running.delete(node);
  await node.link.close();
}

/** Starts a stopped node again, on the same store and address. */
export const restartNode = (node: TestNode, overrides: Partial<NodeOptions> = {}): Promise<TestNode> =>
  startNode({ ...node.options, ...(node.at.port ? { listenAt: node.at } : {}), ...overrides });

/** Stops all nodes that a test left running. */
export const stopAll = () => Promise.all([...running].map(stopNode));

/** Returns the row of a peer in a node's list of peers. */
export const readPeerRow = async (node: TestNode, other: TestNode) =>
  (await node.get("/api/peers")).body.peers.find(
    (peer: { peer_id: string }) => peer.peer_id === other.link.self.peer_id,
  );

/** Waits until two nodes are connected. */
export async function waitUntilLinked(a: TestNode, b: TestNode): Promise<void> {
  await Promise.all([waitUntilUp(a, b), waitUntilUp(b, a)]);
}

async function waitUntilUp(node: TestNode, other: TestNode): Promise<void> {
  for (let from = 0; ;) {
    const line = await node.log.waitForLine("link up", from);
    if (line.fields["peer_id"] === other.link.self.peer_id) return;
    from = node.log.lines.indexOf(line) + 1;
  }
}
