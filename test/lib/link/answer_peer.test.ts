/** Requests of peers are answered, and a sync reads the insights of a peer. */
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { app } from "../../../handlers/index.ts";
import { type AnswerDeps, answerPeer } from "../../../lib/link/answer_peer.ts";
import { type AskPeer, LinkError } from "../../../lib/link/messages.ts";
import { savePeer } from "../../../lib/link/peer_records.ts";
import { acceptInsights, listInsights } from "../../../lib/link/registry.ts";
import { insightMaker } from "../../../lib/link/shared_insights.ts";
import { syncPeer } from "../../../lib/link/sync.ts";
import { memoryStore } from "../../../lib/store/memory.ts";
import { DAY, testClock } from "../../support/clock.ts";
import { service, type TestService } from "../../support/service.ts";
import type { PeerIdentity } from "../../../lib/link/handshake.ts";
import { identity } from "./test_sessions.ts";

const self = identity("a");
const peer = identity("b");
const unrelated: PeerIdentity = { ...peer, product_id: "other", product_type: null };

let svc: TestService;
let requestedPaths: string[];
let deps: AnswerDeps;
beforeEach(async () => {
  svc = await service({ intent: { kpis: { csat: { baseline: 4, target: 5 } } } });
  requestedPaths = [];
  const fetch = app(svc.deps);
  deps = {
    store: svc.deps.store,
    clock: svc.deps.clock,
    product: svc.deps.product,
    self,
    fetch: (request) => (requestedPaths.push(new URL(request.url).pathname), fetch(request)),
  };
});
const answer = (message: string, body: unknown, from: PeerIdentity = peer) => answerPeer(deps, from, { message, body });

/** Creates an own insight for each target. */
async function createInsights(...targets: string[]): Promise<void> {
  await svc.post("kpi", { csat: 4 });
  for (const target of targets) await svc.bring("applied", { kpi: "csat", expected_delta_k: 0.2, target });
  svc.deps.clock.advance(7 * DAY);
  await svc.post("kpi", { csat: 4.3 });
  await insightMaker(svc.deps, self)();
}

describe("a peer's request", () => {
  test("of an unknown message is answered with 400", async () => {
    for (const message of ["drop_tables", "toString", "__proto__", ""])
      expect(await answer(message, {})).toMatchObject({ status: 400, body: { code: "unknown_message" } });
  });

  test.each([
    ["another path", { path: "/api/product/audit" }],
    ["a path with a query", { path: "/api/state?x=1" }],
    ["an address", { path: "http://10.0.0.1/api/state" }],
    ["another method", { path: "/api/state", method: "POST" }],
    ["no path", {}],
    ["no object", "path=/api/state"],
  ])("with %s is passed to no endpoint", async (_, body) => {
    expect(await answer("query", body)).toMatchObject({ status: 400, body: { code: "invalid_field" } });
    expect(requestedPaths).toEqual([]);
  });

  test("reads the endpoints that peers may read", async () => {
    expect(await answer("query", { path: "/api/product/identity" })).toMatchObject({
      status: 200,
      body: { product_id: "acme-crm" },
    });
    expect(requestedPaths).toEqual(["/api/product/identity"]);
  });

  test("for insights is answered to a related peer only", async () => {
    await createInsights("ui.one", "ui.two");
    expect(await answer("query_product_evolution", {})).toMatchObject({
      status: 200,
      body: { insights: [{}, {}], next: 2, last: 2 },
    });
    expect(await answer("query_product_evolution", {}, unrelated)).toMatchObject({
      body: { insights: [], next: 0, last: 0 },
    });
  });

  test("shares 50 insights at most, and invalid ones are rejected one by one", async () => {
    expect(await answer("share_evolution_insight", { insights: Array.from({ length: 51 }, () => ({})) })).toMatchObject(
      { status: 400 },
    );
    // An insight without fields is invalid.
    expect(await answer("share_evolution_insight", { insights: [{}] })).toMatchObject({
      status: 200,
      body: { kept: 0, refused: [{}] },
    });
  });

  test("for a checkpoint is answered with the log's length and heads", async () => {
    await createInsights("ui.one");
    const entries = await svc.audit();
    expect((await answer("get_checkpoint", { from: 2 })).body).toEqual({
      origin: entries[0].origin,
      length: entries.length,
      head: entries.at(-1).current_hash,
      head_at_from: entries[1].current_hash,
      checkpoint: null,
      proof: null,
      loss: null,
    });
    expect((await answer("get_checkpoint", { from: 0 })).body).toMatchObject({ head_at_from: "0".repeat(64) });
    expect((await answer("get_checkpoint", { from: 999 })).body).toMatchObject({ head_at_from: null });
    expect((await answer("get_checkpoint", { from: -1 })).status).toBe(400);
  });

  test("for a checkpoint is 404 without a product", async () => {
    const withoutProduct = { ...deps, store: memoryStore(), product: undefined };
    expect(await answerPeer(withoutProduct, peer, { message: "get_checkpoint", body: {} })).toMatchObject({
      status: 404,
    });
  });
});

describe("a sync", () => {
  // The syncing side has the identity `peer`, and it reads from the service, which is `self`.
  const own = { store: memoryStore(), clock: testClock(), self: peer };
  afterEach(() => void (own.store = memoryStore()));
  /** Returns a function that sends messages to the peer; `log` gets their names. */
  const peerConnection =
    (log: string[] = []): AskPeer =>
    (message, body) => (log.push(message), answerPeer(deps, peer, { message, body }));

  test("reads every insight once, in pages, and later only what changed", async () => {
    await createInsights(...Array.from({ length: 60 }, (_, i) => `ui.t${i}`));
    const log: string[] = [];
    expect(await syncPeer(own, self, peerConnection(log))).toEqual({ kept: 60, updated: 0 });
    expect(log).toEqual(["query_product_evolution", "query_product_evolution", "get_checkpoint"]);
    expect(await syncPeer(own, self, peerConnection())).toEqual({ kept: 0, updated: 0 });
    await svc.bring("applied", { kpi: "csat", target: "ui.late" });
    svc.deps.clock.advance(7 * DAY);
    await svc.post("kpi", { csat: 4.4 });
    await insightMaker(svc.deps, self)();
    // The late change was applied at the horizon of the others, so it shares the movement of their KPI.
    expect(await syncPeer(own, self, peerConnection())).toEqual({ kept: 1, updated: 60 });
    expect(await listInsights(own.store)).toHaveLength(61);
  });

  test("reads all insights again from a peer whose counter is lower than the stored cursor", async () => {
    await createInsights("ui.one");
    await syncPeer(own, self, peerConnection());
    await own.store.transact((tx) =>
      tx.put("peers", self.peer_id, {
        ...self,
        address: "",
        last_seen_at: "",
        cursor: 77,
        kept_log: null,
        log: "unknown",
        log_reason: null,
      }),
    );
    await own.store.transact(async (tx) => {
      for (const { insight_id } of await listInsights(own.store)) tx.delete("co_evolution", insight_id);
    });
    expect(await syncPeer(own, self, peerConnection())).toMatchObject({ kept: 1 });
  });

  test("reads all insights again from a peer with changed names", async () => {
    await createInsights("ui.one");
    await syncPeer(own, self, peerConnection());
    const renamed = { ...self, instance_id: "renamed", product_type: "erp" };
    await own.store.transact((tx) => savePeer(tx, renamed));
    const ask: AskPeer = (message, body) => answerPeer({ ...deps, self: renamed }, peer, { message, body });
    expect(await syncPeer(own, renamed, ask)).toEqual({ kept: 0, updated: 1 });
    expect(await listInsights(own.store)).toMatchObject([{ origin_instance_id: "renamed", product_type: "erp" }]);
  });

  test.each([
    ["no list", { insights: 1, next: 0, last: 0, product_id: null, product_type: null }],
    [
      "too long a list",
      { insights: Array.from({ length: 51 }), next: 1, last: 1, product_id: null, product_type: null },
    ],
    ["nothing", null],
  ])("rejects a response with %s", async (_, body) => {
    await expect(syncPeer(own, self, async () => ({ status: 200, body }))).rejects.toThrow(LinkError);
    expect(await listInsights(own.store)).toEqual([]);
  });

  test("ends although the peer always reports more pages", async () => {
    let pages = 0;
    const endless: AskPeer = async (message) =>
      message === "get_checkpoint"
        ? { status: 404, body: {} }
        : {
            status: 200,
            body: { insights: [{}], next: ++pages, last: 1_000_000, product_id: "acme-crm", product_type: "crm" },
          };
    // A sync reads at most ten pages.
    await syncPeer(own, self, endless);
    expect(pages).toBe(10);
  });
});

test("an unrelated peer's insights are counted, not stored", async () => {
  const store = memoryStore();
  const result = await acceptInsights({ store }, { self, peer: unrelated }, [{}, {}], 0);
  expect(result).toMatchObject({ unrelated: 2, refused: [] });
});
