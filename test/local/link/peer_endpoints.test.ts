/** Tests the endpoints about peers: their list, and queries that are sent to them. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { START } from "../../support/clock.ts";
import { waitUntilLinked, startNode, stopAll, stopNode, type TestNode } from "./node.ts";

const acme = { product_id: "acme", product_type: "crm" };
afterEach(stopAll);

describe("without a link", () => {
  let alone: TestNode;
  beforeEach(async () => {
    alone = await startNode({ name: "1", ...acme });
    delete (alone.deps as { link?: unknown }).link;
  });

  test("the list of peers is empty, and a query has no answers", async () => {
    expect((await alone.get("/api/peers")).body).toEqual({
      peers: [],
      self: { peer_id: null, instance_id: "acme@1", ...acme, address: null },
    });
    expect((await alone.post("/api/peer/query?path=/api/state&method=GET")).body).toEqual({ results: [] });
    expect((await alone.get("/api/product/co-evolution")).body).toEqual({
      insights: [],
      peers: [],
      shared: [],
      counts: { kept: 0, unrelated: 0, refused: 0 },
    });
  });
});

describe("GET /api/peers", () => {
  test("shows this node, a peer and their relation", async () => {
    const first = await startNode({ name: "1", ...acme, listenAt: { host: "127.0.0.1", port: 0 } });
    const second = await startNode({ name: "2", product_id: "globex", product_type: "crm", peers: [first.at] });
    await waitUntilLinked(first, second);
    await second.link.sync();
    const { status, body } = await second.get("/api/peers");
    expect(status).toBe(200);
    expect(body).toEqual({
      peers: [
        {
          peer_id: first.link.self.peer_id,
          instance_id: "acme@1",
          address: `127.0.0.1:${first.at.port}`,
          state: "up",
          ...acme,
          relation: "same_product_type",
          trust: 0.55,
          last_seen_at: START,
          rtt_ms: 0,
          log: "consistent",
          log_reason: null,
        },
      ],
      self: {
        peer_id: second.link.self.peer_id,
        instance_id: "globex@2",
        product_id: "globex",
        product_type: "crm",
        address: null,
      },
    });
    expect((await first.get("/api/peers")).body.self.address).toBe(`127.0.0.1:${first.at.port}`);
  });

  test("shows nodes without a product too, which exchange no insights", async () => {
    const first = await startNode({ name: "1", ...acme, listenAt: { host: "127.0.0.1", port: 0 } });
    const withoutProduct = await startNode({ name: "bare", peers: [first.at] });
    await waitUntilLinked(first, withoutProduct);
    await first.addOutcome();
    await first.link.sync();
    expect(await withoutProduct.link.sync()).toMatchObject({ shared: 0, peers: [{ ok: true, kept: 0 }] });
    expect((await first.get("/api/peers")).body.peers).toMatchObject([
      { instance_id: "bare", product_id: null, relation: "other", trust: 0, log: "unknown" },
    ]);
  });
});

describe("POST /api/peer/query", () => {
  let first: TestNode;
  let second: TestNode;
  let third: TestNode;
  beforeEach(async () => {
    first = await startNode({ name: "1", ...acme, listenAt: { host: "127.0.0.1", port: 0 } });
    second = await startNode({ name: "2", ...acme, peers: [first.at] });
    third = await startNode({ name: "3", ...acme, peers: [first.at] });
    await waitUntilLinked(first, second);
    await waitUntilLinked(first, third);
  });
  const query = (queryString: string) => first.post(`/api/peer/query?${queryString}`);
  const findResult = (body: { results: { peer_id: string }[] }, node: TestNode) =>
    body.results.find(({ peer_id }) => peer_id === node.link.self.peer_id);

  test.each([
    ["/api/state", { tick: 0 }],
    ["/api/capabilities", { capabilities: expect.any(Array) }],
    ["/api/product/identity", { node_id: "2", instance_id: "acme@2" }],
    ["/api/product/co-evolution", { insights: [] }],
    ["query_product_identity", { instance_id: "acme@2", node_id: "2", binding_mode: "one_product_one_svc" }],
    ["query_product_evolution", { product_id: "acme", insights: [], last: 0 }],
    ["share_evolution_insight", { shared: 0 }],
    ["get_checkpoint", { length: 0, origin: expect.stringMatching(/^acme\/audit\//) }],
  ])("sends %s to all peers", async (path, expected) => {
    const { status, body } = await query(`path=${path}&method=GET`);
    expect(status).toBe(200);
    expect(body.results).toHaveLength(2);
    expect(findResult(body, second)).toMatchObject({ status: 200, body: expected });
  });

  test("share_evolution_insight sends this node's insights again, which its peers already have", async () => {
    await first.addOutcome();
    await first.link.sync();
    expect((await query("path=share_evolution_insight")).body.results).toMatchObject([
      { status: 200, body: { unchanged: 1 } },
      { status: 200, body: { unchanged: 1 } },
    ]);
  });

  test("sends a query to one peer by its id or address", async () => {
    const byId = await query(`path=/api/product/identity&peer=${second.link.self.peer_id}`);
    expect(byId.body.results).toMatchObject([{ body: { node_id: "2" } }]);
    const byAddress = await second.post(`/api/peer/query?path=/api/product/identity&peer=127.0.0.1:${first.at.port}`);
    expect(byAddress.body.results).toMatchObject([{ body: { node_id: "1" } }]);
  });

  test("reports that a peer has disconnected", async () => {
    await stopNode(second);
    await first.log.waitForLine("link down");
    const { body } = await query("path=/api/state");
    expect(findResult(body, third)).toMatchObject({ status: 200 });
    expect(findResult(body, second)).toMatchObject({
      status: 503,
      body: { code: "peer_unreachable", error: "the peer is not connected" },
    });
  });

  test.each([
    ["path=http://169.254.169.254/latest", "path"],
    ["path=/api/product/runtime", "path"],
    ["path=/api/state/../product/audit", "path"],
    ["path=/api/state?x=1%26y", "path"],
    ["path=query", "path"],
    ["path=toString", "path"],
    ["method=GET", "path"],
    ["path=/api/state&method=POST", "method"],
    ["path=/api/state&host=10.0.0.1", "host"],
    ["path=/api/state&path=/api/state", "path"],
    ["path=/api/state&peer=10.0.0.1:80", "peer"],
  ])("rejects %s", async (queryString, field) => {
    const { status, body } = await query(queryString);
    expect([status, body.code, body.fields[0].field]).toEqual([400, "invalid_field", field]);
  });

  test("accepts its fields in the query or in the body, but not in both", async () => {
    expect((await first.post("/api/peer/query", { path: "/api/state" })).body.results).toHaveLength(2);
    expect((await first.post("/api/peer/query?path=/api/state", { path: "/api/state" })).status).toBe(400);
  });

  test("needs the admin token where one is set", async () => {
    const guarded = await startNode({ name: "4", ...acme });
    guarded.deps.adminToken = "token of the tests";
    expect((await guarded.post("/api/peer/query?path=/api/state")).status).toBe(401);
    const token = { "x-svc-admin-token": "token of the tests" };
    expect((await guarded.post("/api/peer/query?path=/api/state", {}, token)).status).toBe(200);
  });
});
