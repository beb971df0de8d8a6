/** Five processes on loopback addresses: two for each of two products of one type, and one for a product of another type. */
import { once } from "node:events";
import { mkdir, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test, vi } from "vitest";
import { DAY_MS } from "../../lib/kit/days.ts";
import { client, type Client } from "../support/client.ts";
import { type RecordingProxy, recordingProxy } from "../local/link/recording_proxy.ts";
import { killAll, type Server, serve, temporaryFolder } from "./server.ts";

const SECRET = "a secret of the tests that is long enough";
const acme = { product_id: "acme", product_type: "crm" };
const globex = { product_id: "globex", product_type: "crm" };
const initech = { product_id: "initech", product_type: "erp" };

interface Node extends Client {
  name: string;
  server: Server;
  /** `host:port` of its link. */
  link: string;
  restart(moreArgs?: readonly string[]): Promise<Node>;
}

const folder = temporaryFolder();

async function start(name: string, product: object, args: readonly string[], secret = SECRET): Promise<Node> {
  const cwd = join(folder, name);
  await mkdir(cwd, { recursive: true });
  const intent = {
    ...product,
    version: "1",
    approved_by: "ana",
    update_epoch: 1,
    kpis: { csat: { baseline: 4, target: 5 } },
  };
  await writeFile(join(cwd, "intent.json"), JSON.stringify(intent));
  const options = ["--product-intent=intent.json", `--agent-id=${name}`, "--cycle-interval=0", ...args];
  const server = await serve(cwd, options, { SVC_CROSS_LINK_SECRET: secret, ...PAST });
  const opened = server.stderr.find((line) => line.includes('"link open"'));
  const link = opened ? (JSON.parse(opened).address as string) : "";
  const restart = (moreArgs: readonly string[] = []) => start(name, product, [...args, ...moreArgs], secret);
  return { ...client(fetch, server.url), name, server, link, restart };
}

const listenOn = (n: number, port = "0") => [`--cross-link-host=127.0.0.${n}`, `--cross-link-port=${port}`];
const connectTo = (...nodes: { link: string }[]) => [`--cross-link-peers=${nodes.map(({ link }) => link).join(",")}`];

/** Waits until `node` has logged, since line `from`, that it is connected to an instance. */
const waitForLink = (node: Node, instance: string, from = 0): Promise<void> =>
  waitForLog(node, "link up", from, (line) => line.includes(`"${instance}"`));

/** Waits until `node` has logged such a message since line `from`. */
async function waitForLog(node: Node, message: string, from: number, isMatch = (_: string) => true): Promise<void> {
  for (;;) {
    const lines = node.server.stderr.slice(from);
    if (lines.some((line) => line.includes(`"${message}"`) && isMatch(line))) return;
    await once(node.server.child.stderr!, "data");
  }
}

/**
 * Verdicts are shared after their horizon, a week after the apply, so the clocks of the processes start in the past and are
 * advanced in steps.
 */
const PAST = {
  NODE_OPTIONS: `--import ${new URL("../ui/shifted_clock.mjs", import.meta.url)}`,
  CLOCK_OFFSET_MS: String(-80 * DAY_MS),
  CLOCK_STEP_MS: String(8 * DAY_MS),
};

/** Applies a change whose KPI improves, and passes the horizon of its verdict. */
async function produceOutcome(node: Node): Promise<void> {
  await node.post("kpi", { csat: 4 });
  await node.bring("applied", { kpi: "csat", expected_delta_k: 0.2 });
  await node.post("kpi", { csat: 4.3 });
  const now = async () => Date.parse((await node.get("/api/state")).body.as_of);
  const before = await now();
  // The signal advances the clock of the process by more than the horizon.
  node.server.child.kill("SIGUSR2");
  await vi.waitFor(async () => expect((await now()) - before).toBeGreaterThan(7 * DAY_MS));
}

const sync = async (node: Node) => {
  const { status, text } = await node.post("/api/action/run-now", { action: "sync_peers" });
  expect(status, text).toBe(200);
};
/** Returns the trust of each insight, by the instance that it comes from. */
const readTrusts = async (node: Node): Promise<Record<string, number>> => {
  const { insights } = (await node.get("co-evolution")).body;
  return Object.fromEntries(
    insights.map((insight: { origin_instance_id: string; trust: number }) => [
      insight.origin_instance_id,
      insight.trust,
    ]),
  );
};

let nodes: [Node, Node, Node, Node, Node];
let proxy: RecordingProxy;

beforeAll(async () => {
  const one = await start("n1", acme, listenOn(1));
  const two = await start("n2", acme, [...listenOn(2), ...connectTo(one)]);
  const three = await start("n3", globex, [...listenOn(3), ...connectTo(one, two)]);
  const [host = "", port = ""] = one.link.split(":");
  proxy = await recordingProxy({ host, port: Number(port) });
  const four = await start("n4", globex, [
    ...listenOn(4),
    ...connectTo({ link: `127.0.0.1:${proxy.at.port}` }, two, three),
  ]);
  const five = await start("n5", initech, [...listenOn(5), ...connectTo(one, two, three, four)]);
  nodes = [one, two, three, four, five];
  const instances = ["acme@n1", "acme@n2", "globex@n3", "globex@n4", "initech@n5"];
  await Promise.all(
    nodes.flatMap((node, i) => instances.filter((_, j) => i !== j).map((instance) => waitForLink(node, instance))),
  );
}, 60_000);
afterAll(async () => {
  await killAll();
  await proxy?.close();
});

test("every insight reaches every process that should have it, with the right trust", async () => {
  for (const node of nodes) await produceOutcome(node);
  for (const node of nodes) await sync(node);
  const [one, two, three, four, five] = await Promise.all(nodes.map(readTrusts));
  // Trust is 1 for the same product and 0.55 for the same type; a product of another type gets and sends nothing.
  expect(one).toEqual({ "acme@n2": 1, "globex@n3": 0.55, "globex@n4": 0.55 });
  expect(two).toEqual({ "acme@n1": 1, "globex@n3": 0.55, "globex@n4": 0.55 });
  expect(three).toEqual({ "acme@n1": 0.55, "acme@n2": 0.55, "globex@n4": 1 });
  expect(four).toEqual({ "acme@n1": 0.55, "acme@n2": 0.55, "globex@n3": 1 });
  expect(five).toEqual({});
});

test("peers answer queries, and their logs are consistent", async () => {
  await sync(nodes[0]);
  const { body } = await nodes[0].post("/api/peer/query?path=/api/product/identity&method=GET");
  expect(body.results.map((row: { status: number }) => row.status)).toEqual([200, 200, 200, 200]);
  const { peers } = (await nodes[0].get("/api/peers")).body;
  expect(peers.map(({ state, log }: { state: string; log: string }) => [state, log])).toEqual(
    Array.from({ length: 4 }, () => ["up", "consistent"]),
  );
});

test("a killed process keeps its insights after a restart, and gets the ones it missed", async () => {
  const [one, two] = nodes;
  const [, port] = two.link.split(":");
  two.server.child.kill("SIGKILL");
  await two.server.ended;
  await produceOutcome(one);
  await sync(one);
  const from = one.server.stderr.length;
  const restarted = await two.restart([`--cross-link-port=${port}`]);
  nodes[1] = restarted;
  await Promise.all([waitForLink(one, "acme@n2", from), waitForLink(restarted, "acme@n1")]);
  await sync(restarted);
  const { insights } = (await restarted.get("co-evolution")).body;
  expect(
    insights.filter((insight: { origin_instance_id: string }) => insight.origin_instance_id === "acme@n1"),
  ).toHaveLength(2);
  expect(await readTrusts(restarted)).toMatchObject({ "globex@n3": 0.55, "globex@n4": 0.55 });
});

test("a disconnected process gets missed insights after it reconnects, and sends its own", async () => {
  const [one, , , four] = nodes;
  const readStateOfFour = async () => {
    const { peers } = (await one.get("/api/peers")).body;
    return peers.find(({ instance_id }: { instance_id: string }) => instance_id === "globex@n4").state;
  };
  const countInsights = async (node: Node, instance: string): Promise<number> =>
    (await node.get("co-evolution")).body.insights.filter(
      (insight: { origin_instance_id: string }) => insight.origin_instance_id === instance,
    ).length;
  const before = [await countInsights(one, "globex@n4"), await countInsights(four, "acme@n1")];
  const from = [one.server.stderr.length, four.server.stderr.length];
  proxy.cut();
  await Promise.all([waitForLog(one, "link down", from[0]!), waitForLog(four, "link down", from[1]!)]);
  expect(await readStateOfFour()).toBe("down");
  await produceOutcome(one);
  await produceOutcome(four);
  for (const node of nodes) await sync(node);
  expect(
    [await countInsights(one, "globex@n4"), await countInsights(four, "acme@n1")],
    "no process relays insights",
  ).toEqual(before);

  proxy.acceptAgain();
  await Promise.all([waitForLink(one, "globex@n4", from[0]), waitForLink(four, "acme@n1", from[1])]);
  expect(await readStateOfFour()).toBe("up");
  for (const node of [one, four]) await sync(node);
  expect([await countInsights(one, "globex@n4"), await countInsights(four, "acme@n1")]).toEqual(
    before.map((count) => count + 1),
  );
});

test("a process with another secret is not connected", async () => {
  const outsider = await start("n6", acme, connectTo(nodes[0]), "another secret that is just as long");
  await outsider.server.logged("link cannot be made");
  await sync(outsider);
  expect(await readTrusts(outsider)).toEqual({});
  expect((await outsider.get("/api/peers")).body.peers).toMatchObject([{ state: "down", peer_id: null }]);
  const { capabilities } = (await outsider.get("/api/capabilities")).body;
  expect(capabilities.find(({ id }: { id: string }) => id === "cross_link")).toMatchObject({ status: "degraded" });
});

test("replayed bytes of an earlier connection are rejected", async () => {
  const [one] = nodes;
  const from = one.server.stderr.length;
  const [host = "", port = ""] = one.link.split(":");
  const socket = connect({ host, port: Number(port) }).on("error", () => {});
  socket.write(proxy.fromClient());
  await new Promise((resolve) => socket.once("close", resolve));
  expect(one.server.stderr.slice(from).filter((line) => line.includes('"link up"'))).toEqual([]);
});

test("the link's secret is in no log", () => {
  for (const { server } of nodes) expect(server.stderr.join("\n")).not.toContain(SECRET);
});
