/** Insights for peers: their content, trust in peers, evidence from insights, and duplicate connections. */
import { describe, expect, test } from "vitest";
import { reconnectDelay } from "../../../lib/link/backoff.ts";
import { peerEvidence } from "../../../lib/link/evidence.ts";
import { checkIdentity } from "../../../lib/link/handshake.ts";
import { type Insight, makeInsight, insightSummary } from "../../../lib/link/insight.ts";
import { findRelation, replacesConnection, trustWeight } from "../../../lib/link/trust.ts";
import { identity } from "./test_sessions.ts";

const makeStored = (fields: Partial<Insight> = {}): Insight => ({
  insight_id: "ins_1",
  origin_instance_id: "acme-crm@b",
  product_id: "acme-crm",
  product_type: "crm",
  kind: "config",
  target: "limits.uploads",
  kpi: "csat",
  summary: "",
  expected_delta_k: 1,
  realised_delta: 2,
  shared_count: 0,
  verdict: "met",
  observed_at: "2026-01-02T03:04:05.678Z",
  received_at: "2026-01-02T03:04:05.678Z",
  trust: 1,
  basis: "correlation",
  peer_id: "b".repeat(32),
  ...fields,
});

describe("relation and trust", () => {
  const product = (product_id: string | null, product_type: string | null = null) => ({ product_id, product_type });
  test.each([
    [product("a"), product("a"), "same_product", 1],
    [product("a", "crm"), product("a", "erp"), "same_product", 1],
    [product("a", "crm"), product("b", "crm"), "same_product_type", 0.55],
    [product("a", "crm"), product("b", "erp"), "other", 0],
    [product("a"), product("b"), "other", 0],
    [product(null), product(null), "other", 0],
    [product("a", ""), product("b", ""), "other", 0],
  ] as const)("of %j to %j", (own, peer, relation, trust) => {
    expect([findRelation(own, peer), trustWeight(relation)]).toEqual([relation, trust]);
  });
});

test("both ends keep the same of two connections, in either order", () => {
  /** The role of each end in the connection that `a` opened and in the one that `b` opened. */
  const rolesInConnection = { a: { a: "client", b: "server" }, b: { a: "server", b: "client" } } as const;
  for (const [idOfA, idOfB] of [
    ["1", "2"],
    ["2", "1"],
  ] as const) {
    const chosen = (["a", "b"] as const).map((end) => {
      const own = end === "a" ? idOfA : idOfB;
      const peer = end === "a" ? idOfB : idOfA;
      return replacesConnection(own, peer, { role: rolesInConnection.a[end] }, { role: rolesInConnection.b[end] })
        ? "a's"
        : "b's";
    });
    // The connection that was opened by the end with the smaller peer_id stays.
    expect(chosen).toEqual(idOfA === "1" ? ["a's", "a's"] : ["b's", "b's"]);
  }
  // The newer of two connections that the same end opened stays.
  expect(replacesConnection("a", "b", { role: "client" }, { role: "client" })).toBe(true);
});

test("the delay before a reconnect has full jitter and is at most 30 s", () => {
  expect([0, 1, 2, 5, 60].map((failures) => reconnectDelay(failures, () => 0.999))).toEqual([
    999, 1998, 3996, 29970, 29970,
  ]);
  expect(reconnectDelay(5, () => 0)).toBe(0);
});

test("names that are too long for peers are rejected with the field", () => {
  expect(() => checkIdentity({ ...identity("a"), product_id: "x".repeat(201) })).toThrow(
    /^product_id must have at most/,
  );
  const longName = "漢".repeat(200);
  const names = { instance_id: longName, product_id: longName, product_type: longName };
  expect(() => checkIdentity({ ...identity("a"), ...names })).toThrow(/bytes too long together/);
});

describe("an insight", () => {
  const outcome = {
    change_id: "chg_1",
    kpi: "csat",
    applied_at: "2026-01-01T00:00:00.000Z",
    expected_delta_k: 0.5,
    baseline: 4,
    current: 4.2,
    realised_delta: 0.2,
    scope: "product" as const,
    baseline_age_hours: 2,
    trend_before: null,
    trend_days: null,
    shared_with: ["chg_2"],
    shared_count: 1,
    judged_from: "2026-01-08T00:00:00.000Z",
    verdict: "missed" as const,
    state: "final" as const,
    good: "up" as const,
    ended_by: "horizon" as const,
    replaced_by: null,
    later: null,
    side_effects: [],
    words: "",
    as_of: "2026-01-02T00:00:00.000Z",
    basis: "correlation" as const,
  };
  const origin = { self: identity("a"), insightId: "ins_9", observedAt: "2026-01-02T00:00:00.000Z" };
  const change = { kind: "config" as const, target: "ui.banner", rationale: "because", tenant_id: "globex" };

  test("describes the change without its tenant and rationale", () => {
    expect(makeInsight(outcome, change, origin)).toEqual({
      insight_id: "ins_9",
      origin_instance_id: "acme-crm@a",
      product_id: "acme-crm",
      product_type: "crm",
      kind: "config",
      target: "ui.banner",
      kpi: "csat",
      summary: "config on ui.banner: expected +0.5, realised +0.2 on csat (missed, shared with 1 other)",
      expected_delta_k: 0.5,
      realised_delta: 0.2,
      shared_count: 1,
      verdict: "missed",
      observed_at: "2026-01-02T00:00:00.000Z",
      basis: "correlation",
    });
  });

  test("is created only for a final verdict on a measured KPI of a product", () => {
    expect(makeInsight({ ...outcome, realised_delta: null }, change, origin)).toBeUndefined();
    expect(makeInsight({ ...outcome, verdict: "too_early" }, change, origin)).toBeUndefined();
    expect(makeInsight({ ...outcome, kpi: null }, change, origin)).toBeUndefined();
    expect(makeInsight(outcome, change, { ...origin, self: { ...identity("a"), product_id: null } })).toBeUndefined();
    expect(makeInsight({ ...outcome, expected_delta_k: null }, change, origin)?.summary).toMatch(
      /expected nothing stated/,
    );
  });

  test("states losses with their sign", () => {
    expect(insightSummary({ ...makeStored(), expected_delta_k: 0, realised_delta: -0.25, verdict: "regressed" })).toBe(
      "config on limits.uploads: expected 0, realised -0.25 on csat (regressed)",
    );
  });
});

describe("evidence", () => {
  const change = { kind: "config" as const, target: "limits.uploads", kpi: "csat" };

  test("is the mean weighted by trust, with the effective number of insights", () => {
    const evidence = peerEvidence(change, [
      makeStored({ realised_delta: 2 }),
      makeStored({ insight_id: "ins_2", realised_delta: -1, trust: 0.55, verdict: "regressed" }),
    ]);
    // With trusts t the mean is Σ(t·delta) / Σt, and the effective number (Σt)² / Σt².
    expect(evidence).toEqual({
      kpi: "csat",
      match: "target",
      n: 2,
      shared: 0,
      effective_n: Number((1.55 ** 2 / (1 + 0.55 ** 2)).toPrecision(12)),
      mean_delta: Number(((2 - 0.55) / 1.55).toPrecision(12)),
      verdicts: { met: 1, missed: 0, regressed: 1, inconclusive: 0 },
      insight_ids: ["ins_1", "ins_2"],
      basis: "correlation",
    });
  });

  test("has an effective number equal to the number of insights with equal trust", () => {
    expect(
      peerEvidence(
        change,
        Array.from({ length: 3 }, () => makeStored({ trust: 0.55 })),
      )?.effective_n,
    ).toBe(3);
    expect(peerEvidence(change, [makeStored({ trust: 0.55 })])?.effective_n).toBe(1);
  });

  test.each([
    ["another kind", { kind: "workflow" as const }],
    ["another KPI", { kpi: "nrr_quarterly" }],
    ["another target", { target: "ui.banner" }],
    ["nothing measured", { realised_delta: null }],
    ["no trust", { trust: 0 }],
    ["a target that only begins alike", { target: "limitsx.uploads" }],
    ["a target below", { target: "limits.uploads.size" }],
  ])("ignores an insight with %s", (_, fields) => {
    expect(peerEvidence(change, [makeStored(fields)])).toBeNull();
  });

  // Similar targets have the same parent: the part before the last dot.
  test("uses insights on similar targets only if there is none on the target itself", () => {
    const similar = makeStored({ insight_id: "ins_2", target: "Limits.Downloads", realised_delta: 9 });
    expect(peerEvidence(change, [similar])).toMatchObject({ match: "prefix", n: 1, mean_delta: 9 });
    expect(peerEvidence(change, [similar, makeStored({ target: "LIMITS.uploads" })])).toMatchObject({
      match: "target",
      n: 1,
    });
    expect(peerEvidence({ ...change, target: "limits" }, [makeStored({ target: "other" })])).toBeNull();
  });

  test("is absent for a change without a KPI, since deltas of different KPIs do not add up", () => {
    expect(peerEvidence({ ...change, kpi: null }, [makeStored()])).toBeNull();
  });
});
