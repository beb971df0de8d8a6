/** Tests GET /api/inbox: its totals, its lists in order of urgency, and the items that wait for a person. */
import { describe, expect, test } from "vitest";
import { checkDrift } from "../../lib/changes/check_drift.ts";
import { DAY_MS, HOUR_MS } from "../../lib/kit/days.ts";
import { portableSha256 } from "../../lib/kit/platform.ts";
import { openDeps } from "../support/deps.ts";
import { scriptedAdapter } from "../support/scripted_adapter.ts";
import { service, makeService } from "../support/service.ts";

const POLICY = {
  policy: { approvers: ["ana", "bo"], self_approval: false, required_approvers: { standard: 1, major: 2 } },
};
const titles = (list: { items: { title: string }[] }): string[] => list.items.map(({ title }) => title);

describe("lists", () => {
  test("pending changes are listed whatever the number of approved ones", async () => {
    const { bring, propose, get } = await service();
    for (let i = 0; i < 60; i++) await bring("approved", { target: `limits.${i}` });
    for (let i = 0; i < 3; i++) await propose({ summary: `pending ${i}`, risk: "high", reversible: "false" });
    const { body } = await get("/api/inbox?limit=5");
    expect(body.totals).toMatchObject({ pending: 3, approved: 60 });
    expect(titles(body.pending)).toEqual(["pending 0", "pending 1", "pending 2"]);
    expect(body.approved).toMatchObject({ total: 60 });
    expect(body.approved.items).toHaveLength(5);
    expect(body.complete).toBe(true);
  });

  test("a list ends at its size limit, and the totals count all changes", async () => {
    const { propose, get } = await service();
    for (let i = 0; i < 120; i++) await propose({ summary: "說".repeat(500), rationale: "r", target: `limits.${i}` });
    const { body } = await get("/api/inbox?limit=1000&person=ana");
    expect(body.totals).toMatchObject({ pending: 120, waiting_for_you: 120 });
    expect(body.pending.items.length).toBeGreaterThan(10);
    const countBytes = (list: object): number => new TextEncoder().encode(JSON.stringify(list)).length;
    // The five lists share one mebibyte.
    for (const list of [body.pending, body.waiting_for_you])
      expect(countBytes(list)).toBeLessThan((1024 * 1024) / 5 + 10_000);
  });

  test("without a time limit changes are ordered by risk, then by reach, an unknown reach first", async () => {
    const { propose, get } = await service();
    await propose({ summary: "low", risk: "low", affected_users: 9 });
    await propose({ summary: "high, few", risk: "high", affected_users: 3 });
    await propose({ summary: "high, many", risk: "high", affected_users: 90_000 });
    await propose({ summary: "high, unknown", risk: "high" });
    await propose({ summary: "medium", risk: "medium", affected_users: 9 });
    expect(titles((await get("/api/inbox")).body.pending)).toEqual([
      "high, unknown",
      "high, many",
      "high, few",
      "medium",
      "low",
    ]);
  });

  test("with a time limit the first to expire comes first; the last quarter is `expiring`", async () => {
    const { propose, get, must, deps } = await service({
      intent: { policy: { consent_ttl_hours: 40, approval_ttl_hours: 4 } },
    });
    const { change_id } = await propose({ summary: "first", risk: "low" });
    deps.clock.advance(10 * HOUR_MS);
    await propose({ summary: "second", risk: "high" });
    const inTime = (await get("/api/inbox")).body;
    expect(titles(inTime.pending)).toEqual(["first", "second"]);
    expect(inTime.totals.expiring).toBe(0);
    const [{ expires_at, since }] = inTime.pending.items;
    expect(Date.parse(expires_at) - Date.parse(since)).toBe(40 * HOUR_MS);
    // The first change has waited for 31 of its 40 hours, the second for 21.
    deps.clock.advance(21 * HOUR_MS);
    expect((await get("/api/inbox")).body.totals.expiring).toBe(1);
    await must("approve", change_id);
    const approved = (await get("/api/inbox")).body;
    expect(approved.totals.expiring, "its four hours have just begun").toBe(0);
    const [item] = approved.approved.items;
    expect(Date.parse(item.expires_at) - Date.parse(item.since)).toBe(4 * HOUR_MS);
  });

  test("an emergency is listed under review_due, with its due time, until it is reviewed", async () => {
    const { propose, post, get, deps } = await service({
      intent: { policy: { ...POLICY.policy, break_glass: { approvers: ["ana"], required: 1, review_hours: 72 } } },
    });
    const { change_id } = await propose({ summary: "urgent", proposer: "pat" });
    await post("approve", { change_id, approver: "ana", emergency: "true", note: "down" });
    const unlimited = (await get("/api/inbox")).body.approved.items;
    expect(unlimited, "its approval has no end").toMatchObject([{ change_id, expires_at: null }]);
    await post("apply", { change_id });
    const { totals, review_due } = (await get("/api/inbox")).body;
    expect(totals).toMatchObject({ review_due: 1, approved: 0, pending: 0 });
    expect(review_due.items).toMatchObject([{ title: "urgent", status: "applied" }]);
    const [{ expires_at }] = review_due.items;
    expect(expires_at).toBe(new Date(deps.clock.now() + 72 * HOUR_MS).toISOString());
    await post("review", { change_id, approver: "bo", verdict: "accepted", note: "fine" });
    expect((await get("/api/inbox")).body.totals.review_due).toBe(0);
  });

  test("a change whose value the target system lost is listed as drifted, with the time", async () => {
    const adapter = scriptedAdapter();
    const deps = await openDeps({ adapter });
    const { bring, get } = makeService(deps);
    const change_id = await bring("applied");
    adapter.host.set(change_id, "absent");
    deps.clock.advance(HOUR_MS);
    await checkDrift(deps);
    const { totals, drifted } = (await get("/api/inbox")).body;
    expect(totals.drifted).toBe(1);
    expect(drifted.items).toMatchObject([{ change_id, status: "applied", drift: "missing", since: deps.clock.iso() }]);
  });

  test("a change with a damaged record is not listed", async () => {
    const { propose, get, deps } = await service({ intent: { policy: { consent_ttl_hours: 1 } } });
    const { change_id } = await propose({ summary: "spoilt" });
    await propose({ summary: "whole" });
    await deps.store.transact((tx) => tx.put("changes", change_id, null as never));
    expect(titles((await get("/api/inbox")).body.pending)).toEqual(["whole"]);
  });
});

describe("waiting for a person", () => {
  const titlesWaiting = (body: { pending: { items: { title: string; waits_for_you: boolean }[] } }): string[] =>
    body.pending.items.filter(({ waits_for_you }) => waits_for_you).map(({ title }) => title);

  test("a change waits for the people whose consent it still needs", async () => {
    const { propose, post, get } = await service({ intent: POLICY });
    await propose({ summary: "by ana", proposer: "Ana" });
    const two = await propose({ summary: "two needed", proposer: "pat", tier: "major" });
    await post("approve", { change_id: two.change_id, approver: "ana" });
    await propose({ summary: "anybody's", proposer: "pat" });
    const readInbox = async (person: string) => (await get(`/api/inbox?person=${person}`)).body;
    const [ana, bo, chen] = [await readInbox("ana"), await readInbox("BO"), await readInbox("chen")];
    expect([titlesWaiting(ana).sort(), ana.totals.waiting_for_you]).toEqual([["anybody's"], 1]);
    expect([titlesWaiting(bo).sort(), bo.totals.waiting_for_you]).toEqual([["anybody's", "by ana", "two needed"], 3]);
    expect(titles(bo.waiting_for_you).sort()).toEqual(titlesWaiting(bo).sort());
    expect([titlesWaiting(chen), chen.totals.waiting_for_you]).toEqual([[], 0]);
    const [twoNeeded] = ana.pending.items.filter(({ title }: { title: string }) => title === "two needed");
    expect(twoNeeded.missing).toEqual([{ rule: "required_approvers", count: 1, of: ["bo"] }]);
    expect(twoNeeded.approvals).toMatchObject([{ approver: "ana" }]);
  });

  test("changes that wait for a person are listed beyond the limit of the pending list", async () => {
    const { propose, get } = await service({ intent: POLICY });
    for (let nth = 0; nth < 5; nth++) await propose({ summary: `own ${nth}`, proposer: "ana", risk: "high" });
    await propose({ summary: "the last", proposer: "pat", risk: "low" });
    const { body } = await get("/api/inbox?person=ana&limit=2");
    expect(titles(body.pending)).toEqual(["own 0", "own 1"]);
    expect([body.waiting_for_you.total, titles(body.waiting_for_you)]).toEqual([1, ["the last"]]);
  });

  test("without a person the inbox says of no change that it waits for you", async () => {
    const { propose, get } = await service();
    await propose();
    const { body } = await get("/api/inbox");
    expect([body.person, body.totals.waiting_for_you]).toEqual([null, null]);
    expect(titlesWaiting(body)).toEqual([]);
  });

  test("behind a proxy a person can read only their own inbox", async () => {
    const { get } = await service({ intent: POLICY, identityHeader: "x-person" });
    const { body } = await get("/api/inbox", { "x-person": "ana" });
    expect(body.person).toBe("ana");
    const other = await get("/api/inbox?person=bo", { "x-person": "ana" });
    expect([other.status, other.body.code]).toEqual([403, "identity_mismatch"]);
  });

  test("an agent's secret selects the agent's inbox, in which no change waits for it", async () => {
    const secret = "an agent's own secret, long enough";
    const { get, propose } = await service({
      intent: { principals: { "agent:pricing": { kind: "agent", token_sha256: portableSha256(secret) } } },
    });
    await propose();
    const { body } = await get("/api/inbox", { authorization: `Bearer ${secret}` });
    expect([body.person, body.totals.waiting_for_you, titlesWaiting(body)]).toEqual(["agent:pricing", 0, []]);
  });
});

test("a KPI that got worse after an apply is listed for a week after the verdict", async () => {
  const api = await service();
  const readWorseKpis = async () => (await api.get("/api/inbox")).body.worse_kpis;
  await api.post("kpi", { csat: "4" });
  await api.bring("applied", { kpi: "csat", expected_delta_k: "0.1" });
  await api.post("kpi", { csat: "3" });
  expect(await readWorseKpis()).toEqual([]);
  // The verdict comes at the horizon, 7 days after the apply.
  api.deps.clock.advance(8 * DAY_MS);
  expect(await readWorseKpis()).toEqual(["csat"]);
  api.deps.clock.advance(7 * DAY_MS);
  expect(await readWorseKpis()).toEqual([]);
});

test("without an intent the inbox is 503", async () => {
  const { get } = await service({ intent: null });
  expect((await get("/api/inbox")).status).toBe(503);
});
