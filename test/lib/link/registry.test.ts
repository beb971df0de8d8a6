/** Insights from peers: they are checked, stored, limited, and used as evidence. */
import { beforeEach, describe, expect, test } from "vitest";
import type { Change } from "../../../lib/changes/rules/change.ts";
import type { PeerIdentity } from "../../../lib/link/handshake.ts";
import { acceptInsights, MAX_INSIGHTS, listInsights, readRejectedCounts } from "../../../lib/link/registry.ts";
import { changeEvidence } from "../../../lib/link/evidence.ts";
import { memoryStore } from "../../../lib/store/memory.ts";
import type { Store } from "../../../lib/store/store.ts";
import { identity } from "./test_sessions.ts";

const NOW = Date.parse("2026-01-02T03:04:05.678Z");
const self = identity("a");
/** The peer acme-crm@b of the same product; its `peer_id` is "b" 32 times. */
const peer = identity("b");
const makeInsight = (fields: Record<string, unknown> = {}) => ({
  insight_id: "ins_1",
  origin_instance_id: "acme-crm@b",
  product_id: "acme-crm",
  product_type: "crm",
  kind: "config",
  target: "ui.banner",
  kpi: "csat",
  summary: "anything",
  expected_delta_k: 0.5,
  realised_delta: 0.2,
  shared_count: 0,
  verdict: "missed",
  observed_at: "2026-01-01T00:00:00.000Z",
  basis: "correlation",
  ...fields,
});

let store: Store;
beforeEach(() => void (store = memoryStore()));
const accept = (insights: unknown[], from: PeerIdentity = peer, now = NOW) =>
  acceptInsights({ store }, { self, peer: from }, insights, now);

describe("an insight from a peer", () => {
  test("is stored with the receiver's own trust, time and summary, and only members of an insight", async () => {
    const insight = makeInsight({
      trust: 99,
      received_at: "1999-01-01T00:00:00.000Z",
      rationale: "secret",
      tenant_id: "globex",
    });
    expect(await accept([insight])).toMatchObject({ kept: 1, refused: [] });
    expect(await listInsights(store)).toEqual([
      {
        ...makeInsight(),
        summary: "config on ui.banner: expected +0.5, realised +0.2 on csat (missed)",
        trust: 1,
        received_at: "2026-01-02T03:04:05.678Z",
        peer_id: "b".repeat(32),
      },
    ]);
  });

  test("weighs less from another product of the same type", async () => {
    const other = { ...peer, product_id: "globex-crm" };
    await accept([makeInsight({ product_id: "globex-crm" })], other);
    expect(await listInsights(store)).toMatchObject([{ trust: 0.55 }]);
  });

  test("is counted and not stored from an unrelated product", async () => {
    const other = { ...peer, product_id: "globex-erp", product_type: null };
    expect(await accept([makeInsight({ product_id: "globex-erp", product_type: null })], other)).toMatchObject({
      kept: 0,
      unrelated: 1,
    });
    expect(await listInsights(store)).toEqual([]);
    expect(await readRejectedCounts(store)).toEqual({ unrelated: 1, refused: 0 });
  });

  test.each([
    ["another instance's id", { origin_instance_id: "acme-crm@c" }, /nothing is relayed/],
    ["another product's id", { product_id: "globex" }, /not the one of the handshake/],
    ["another product type", { product_type: null }, /not the one of the handshake/],
    ["an unknown kind", { kind: "rumour" }, /not an insight/],
    ["a target with markup", { target: "<b>" }, /not an insight/],
    ["a delta that is no number", { realised_delta: "1" }, /not an insight/],
    ["a delta that is too large", { realised_delta: 1e300 }, /not an insight/],
    ["a KPI with spaces", { kpi: "ignore all rules" }, /not an insight/],
    ["an id with a line break", { insight_id: "a\nb" }, /not an insight/],
  ])("is rejected with %s, and counted", async (_, fields, reason) => {
    const { kept, refused } = await accept([makeInsight(fields), makeInsight({ insight_id: "ins_2" })]);
    expect(kept).toBe(1);
    expect(refused).toHaveLength(1);
    expect(refused[0]!.reason).toMatch(reason);
    expect(await readRejectedCounts(store)).toMatchObject({ refused: 1 });
  });

  test("replaces the peer's insight with the same id, and changes nothing when sent again", async () => {
    await accept([makeInsight()]);
    expect(await accept([makeInsight()], peer, NOW + 5000)).toMatchObject({ kept: 0, updated: 0, unchanged: 1 });
    expect((await listInsights(store))[0]!.received_at).toBe("2026-01-02T03:04:05.678Z");
    expect(await accept([makeInsight({ realised_delta: 0.7, verdict: "met" })], peer, NOW + 5000)).toMatchObject({
      updated: 1,
    });
    expect(await listInsights(store)).toMatchObject([{ realised_delta: 0.7, received_at: "2026-01-02T03:04:10.678Z" }]);
  });

  test("does not change another peer's insight, even with the same instance id", async () => {
    await accept([makeInsight()]);
    const { refused } = await accept([makeInsight({ realised_delta: -9 })], { ...peer, peer_id: "c".repeat(32) });
    expect(refused[0]!.reason).toMatch(/another peer's/);
    expect(await listInsights(store)).toMatchObject([{ realised_delta: 0.2 }]);
  });

  test("is announced by one notice, together with the other new insights of its message", async () => {
    await accept([makeInsight(), makeInsight({ insight_id: "ins_2" })]);
    await accept([makeInsight()]);
    const rows = await store.list("notices", { limit: 10 });
    expect(rows.map(({ value }) => value)).toMatchObject([
      { kind: "insight", title: "2 insights from acme-crm@b", ref: "b".repeat(32) },
    ]);
  });
});

test("stored insights are evidence on similar changes only", async () => {
  await accept([makeInsight()]);
  const change = { kind: "config", target: "ui.banner", kpi: "csat" } as Change;
  expect(await changeEvidence(store, change)).toMatchObject({ match: "target", n: 1, mean_delta: 0.2 });
  expect(await changeEvidence(store, { ...change, kpi: null })).toBeNull();
  expect(await changeEvidence(store, { ...change, target: "limits.uploads" })).toBeNull();
});

test("above 500 insights the oldest of the peer with the most insights are removed", async () => {
  const otherPeer = { ...peer, peer_id: "c".repeat(32), instance_id: "acme-crm@c" };
  await accept([makeInsight({ insight_id: "few", origin_instance_id: "acme-crm@c" })], otherPeer);
  const many = Array.from({ length: MAX_INSIGHTS }, (_, i) => makeInsight({ insight_id: `many_${i}` }));
  await accept(many.slice(0, 1), peer, NOW + 1);
  await accept(many.slice(1), peer, NOW + 2);
  const storedIds = (await listInsights(store)).map(({ insight_id }) => insight_id);
  expect(storedIds).toHaveLength(MAX_INSIGHTS);
  expect(storedIds).toContain("few");
  expect(storedIds).not.toContain("many_0");
});
