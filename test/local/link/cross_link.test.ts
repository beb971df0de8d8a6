/** Tests insights between nodes, reconnections, secrets, and what the link transmits. */
import { afterEach, describe, expect, test } from "vitest";
import { memoryStore } from "../../../lib/store/memory.ts";
import {
  waitUntilLinked,
  restartNode,
  readPeerRow,
  SECRET,
  startNode,
  stopAll,
  stopNode,
  type TestNode,
} from "./node.ts";
import { recordingProxy } from "./recording_proxy.ts";

const at = (host: string) => ({ host, port: 0 });
const acme = { product_id: "acme", product_type: "crm" };
const globex = { product_id: "globex", product_type: "crm" };
const initech = { product_id: "initech", product_type: "erp" };
afterEach(stopAll);

/** Starts nodes, each of which connects to all earlier ones. */
async function startMesh(
  ...products: { name: string; product_id: string; product_type: string }[]
): Promise<TestNode[]> {
  const nodes: TestNode[] = [];
  for (const [index, product] of products.entries())
    nodes.push(
      await startNode({ ...product, listenAt: at(`127.0.0.${index + 1}`), peers: nodes.map((node) => node.at) }),
    );
  for (const [index, node] of nodes.entries())
    await Promise.all(nodes.slice(0, index).map((earlier) => waitUntilLinked(node, earlier)));
  return nodes;
}

const readTrustByOrigin = async (node: TestNode) =>
  Object.fromEntries((await node.insights()).map(({ origin_instance_id, trust }) => [origin_instance_id, trust]));

describe("five nodes of two products of one type and of another product", () => {
  const startFive = () =>
    startMesh(
      { name: "1", ...acme },
      { name: "2", ...acme },
      { name: "3", ...globex },
      { name: "4", ...globex },
      { name: "5", ...initech },
    );

  test("every insight reaches every peer that should have it, with the right trust", async () => {
    const nodes = await startFive();
    for (const node of nodes) await node.addOutcome();
    for (const node of nodes) await node.link.sync();
    const [acme1, acme2, globex3, globex4, initech5] = await Promise.all(nodes.map(readTrustByOrigin));
    expect(acme1).toEqual({ "acme@2": 1, "globex@3": 0.55, "globex@4": 0.55 });
    expect(acme2).toEqual({ "acme@1": 1, "globex@3": 0.55, "globex@4": 0.55 });
    expect(globex3).toEqual({ "acme@1": 0.55, "acme@2": 0.55, "globex@4": 1 });
    expect(globex4).toEqual({ "acme@1": 0.55, "acme@2": 0.55, "globex@3": 1 });
    expect(initech5).toEqual({});
    const { counts } = (await nodes[4]!.get("/api/product/co-evolution")).body;
    expect(counts, "nothing was sent to initech@5").toEqual({ kept: 0, unrelated: 0, refused: 0 });
  });

  test("a peer that was offline gets the insights it missed, and the others get its insights", async () => {
    const nodes = await startFive();
    const [first, second, , , last] = nodes as [TestNode, TestNode, TestNode, TestNode, TestNode];
    await stopNode(second);
    const others = nodes.filter((node) => node !== second);
    for (const node of others) await node.log.waitForLine("link down");
    for (const node of others) await node.addOutcome();
    for (const node of others) await node.link.sync();
    expect(await readPeerRow(first, second)).toMatchObject({ state: "down" });
    await second.addOutcome();

    const restartedSecond = await restartNode(second);
    for (const node of others) node.time.advance(1_000);
    await Promise.all(others.map((node) => waitUntilLinked(restartedSecond, node)));
    await restartedSecond.link.sync();
    expect(await readTrustByOrigin(restartedSecond)).toEqual({ "acme@1": 1, "globex@3": 0.55, "globex@4": 0.55 });
    expect(await readTrustByOrigin(first)).toMatchObject({ "acme@2": 1 });
    expect(await readTrustByOrigin(last)).toEqual({});
    expect(await readPeerRow(first, restartedSecond)).toMatchObject({ state: "up", instance_id: "acme@2" });
  });
});

describe("a pair of nodes", () => {
  test.each([
    ["0", "1"],
    ["1", "0"],
  ])(
    "that connect to each other keep one connection, and reconnect when it breaks: peers %s… and %s…",
    async (...digits) => {
      // The peer ids decide which of two connections stays, so both orders of the ids are tested.
      const stores = [memoryStore(), memoryStore()];
      for (const [i, digit] of digits.entries())
        await stores[i]!.transact((tx) => tx.put("meta", "peer_id", { peer_id: digit.repeat(32) }));
      const first = await startNode({ name: "1", ...acme, listenAt: at("127.0.0.1"), store: stores[0]! });
      const second = await startNode({
        name: "2",
        ...acme,
        listenAt: at("127.0.0.2"),
        store: stores[1]!,
        peers: [first.at],
      });
      await waitUntilLinked(first, second);
      await stopNode(first);
      await second.log.waitForLine("link down");
      const restartedFirst = await restartNode(first, { peers: [second.at] });
      second.time.advance(1_000);
      await waitUntilLinked(restartedFirst, second);
      for (const node of [restartedFirst, second])
        expect(await node.link.sync()).toMatchObject({ peers: [{ ok: true }] });
      expect((await restartedFirst.get("/api/peers")).body.peers).toHaveLength(1);
      expect((await second.get("/api/peers")).body.peers).toHaveLength(1);
      expect(await readPeerRow(second, restartedFirst)).toMatchObject({
        state: "up",
        address: `127.0.0.1:${first.at.port}`,
      });

      await stopNode(second);
      const linesBefore = restartedFirst.log.lines.length;
      await restartedFirst.log.waitForLine("link down");
      const restartedSecond = await restartNode(second, { peers: [] });
      restartedFirst.time.advance(1_000);
      await restartedFirst.log.waitForLine("link up", linesBefore);
      expect(await restartedFirst.link.query("/api/product/identity")).toMatchObject([
        { status: 200, body: { instance_id: "acme@2" } },
      ]);
      expect(await readPeerRow(restartedSecond, restartedFirst)).toMatchObject({ state: "up" });
    },
  );

  test("waits longer after each failed attempt to connect, at most 30 s", async () => {
    const unreachable = await startNode({ name: "1", ...acme, listenAt: at("127.0.0.1") });
    await stopNode(unreachable);
    const node = await startNode({ name: "2", ...acme, peers: [unreachable.at] });
    expect(await node.link.query("/api/state")).toMatchObject([{ status: 503, body: { code: "peer_unreachable" } }]);
    const delays: number[] = [];
    for (let attempt = 0; attempt < 8; attempt++) {
      await waitForFailedAttempt(node);
      delays.push(node.time.msUntilNextTimer()!);
      node.time.advance(node.time.msUntilNextTimer()!);
    }
    expect(delays, "half of each limit, since random() returns 0.5").toEqual([
      500, 1_000, 2_000, 4_000, 8_000, 15_000, 15_000, 15_000,
    ]);
    expect(node.log.lines.map(({ message }) => message)).toEqual(["link cannot be made"]);
    expect((await node.get("/api/peers")).body.peers).toMatchObject([{ peer_id: null, state: "down", log: "unknown" }]);
    expect(node.link.capability()).toMatchObject({
      status: "degraded",
      reason: `not connected: 127.0.0.1:${unreachable.at.port}`,
    });
  });
});

/** Waits until a node's next timer is an attempt to connect, and not the limit of 5 s for a handshake under way. */
async function waitForFailedAttempt(node: TestNode): Promise<void> {
  while (node.time.msUntilNextTimer() === undefined || node.time.msUntilNextTimer() === 5_000)
    await new Promise(setImmediate);
}

describe("secrets", () => {
  const otherSecret = "another secret, just as long as it";

  test("that differ connect no nodes, and no peer is shown", async () => {
    const first = await startNode({ name: "1", ...acme, listenAt: at("127.0.0.1") });
    const second = await startNode({ name: "2", ...acme, peers: [first.at], secrets: [otherSecret] });
    await first.addOutcome();
    expect(await second.log.waitForLine("link cannot be made")).toMatchObject({
      fields: { reason: "the other end ended the handshake: do the secrets agree?" },
    });
    expect((await first.log.waitForLine("link connection refused")).fields["reason"]).toMatch(
      /secret that is not one of/,
    );
    expect((await first.link.sync()).peers).toEqual([]);
    expect(await second.insights()).toEqual([]);
    expect((await second.get("/api/peers")).body.peers).toMatchObject([{ state: "down", peer_id: null }]);
  });

  test("are replaced on one node at a time without an interruption", async () => {
    const first = await startNode({ name: "1", ...acme, listenAt: at("127.0.0.1"), secrets: [SECRET, otherSecret] });
    await waitUntilLinked(first, await startNode({ name: "2", ...acme, peers: [first.at], secrets: [SECRET] }));
    await waitUntilLinked(
      first,
      await startNode({ name: "3", ...acme, peers: [first.at], secrets: [otherSecret, SECRET] }),
    );
  });

  test("are not written to the log", async () => {
    const first = await startNode({ name: "1", ...acme, listenAt: at("127.0.0.1") });
    const second = await startNode({ name: "2", ...acme, peers: [first.at], secrets: [otherSecret] });
    await second.log.waitForLine("link cannot be made");
    const lines = JSON.stringify([first.log.lines, second.log.lines]);
    for (const secret of [SECRET, otherSecret]) expect(lines).not.toContain(secret);
  });
});

describe("the link's traffic", () => {
  test("has no tenants, people or texts by people", async () => {
    const node = await startNode({ name: "1", ...acme, listenAt: at("127.0.0.1") });
    const proxy = await recordingProxy(node.at);
    const peer = await startNode({ name: "2", ...acme, peers: [proxy.at] });
    await waitUntilLinked(node, peer);
    const words = {
      tenant_id: "tenant-hooli",
      summary: "words of a summary",
      rationale: "words of a rationale",
      proposer: "pat-proposer",
    };
    for (const [index, sender] of [node, peer].entries()) {
      const id = await sender.addOutcome({ ...words, value: '"words of a value"', target: `ui.t${index}` });
      await sender.post("rollback", { change_id: id });
      await sender.post("/api/chat", { message: "words of a chat" });
      await sender.post("/api/tasks", { title: "words of a task" });
      const next = await sender.propose({ ...words, target: "ui.next" });
      await sender.post("deny", { change_id: next.change_id, approver: "ana-approver", note: "words of a note" });
      await sender.link.sync();
      for (const path of [
        "/api/state",
        "/api/capabilities",
        "/api/product/identity",
        "/api/product/co-evolution",
        "get_checkpoint",
      ])
        await sender.post(`/api/peer/query?path=${path}`);
    }
    expect(await peer.insights()).toHaveLength(1);
    const wire = Buffer.concat([proxy.fromClient(), proxy.fromServer()]).toString("latin1");
    expect(wire.includes("config on ui.t0")).toBe(true);
    const leakedWords = ["hooli", "words of", "pat-proposer", "ana-approver", SECRET].filter((word) =>
      wire.includes(word),
    );
    expect(leakedWords).toEqual([]);
    await proxy.close();
  });
});
