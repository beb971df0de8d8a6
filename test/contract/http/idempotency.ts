/** Idempotency-Key: requests with the same key write once. */
import { expect, test } from "vitest";
import { FOLLOWUP, PROPOSAL } from "../../support/client.ts";
import { HOUR, SECOND } from "../../support/clock.ts";
import type { Open } from "../http_contract.ts";

const KEY = { "idempotency-key": "k-1" };

export function idempotencyRules(open: Open): void {
  test("the first response is replayed exactly", async () => {
    const api = await open();
    const first = await api.post("propose-crm-followup", FOLLOWUP, KEY);
    await api.act("approve", first.body.change_id);
    api.advance(HOUR);
    const replayed = await api.post("propose-crm-followup", FOLLOWUP, KEY);
    expect([replayed.status, replayed.text, replayed.headers.get("etag")]).toEqual([
      first.status,
      first.text,
      first.headers.get("etag"),
    ]);
    expect(replayed.headers.get("content-type")).toBe(first.headers.get("content-type"));
    expect((await api.get("runtime")).body.total).toBe(1);
    expect(await api.steps()).toHaveLength(2);
  });

  test("a replay has its own request id", async () => {
    const api = await open();
    await api.post("propose", PROPOSAL, { ...KEY, "x-request-id": "one" });
    const replayed = await api.post("propose", PROPOSAL, { ...KEY, "x-request-id": "two" });
    expect(replayed.headers.get("x-request-id")).toBe("two");
  });

  test("20 concurrent requests with one key write once and get the same response", async () => {
    const api = await open();
    const replies = await Promise.all(Array.from({ length: 20 }, () => api.post("propose", PROPOSAL, KEY)));
    expect(new Set(replies.map(({ status, text }) => `${status} ${text}`)).size).toBe(1);
    expect(replies[0]!.status).toBe(201);
    expect(await api.steps()).toHaveLength(1);
  });

  test.each(["approve", "apply", "rollback", "kpi"] as const)("%s twice with one key writes once", async (action) => {
    const api = await open();
    const from = { approve: "pending_consent", apply: "approved", rollback: "applied", kpi: "applied" } as const;
    const change_id = await api.bring(from[action]);
    const send = () => (action === "kpi" ? api.post("kpi", { csat: 4 }, KEY) : api.act(action, change_id, KEY));
    const first = await send();
    expect(first.status).toBe(200);
    const entries = await api.audit();
    expect((await send()).text).toBe(first.text);
    expect(await api.audit()).toEqual(entries);
  });

  test("another body with the same key is rejected", async () => {
    const api = await open();
    await api.post("propose", PROPOSAL, KEY);
    const other = await api.post("propose", { ...PROPOSAL, summary: "Something else" }, KEY);
    expect(other).toMatchObject({ status: 422, body: { code: "idempotency_key_reused" } });
    expect(await api.steps()).toHaveLength(1);
  });

  test("failed requests are not stored under their key", async () => {
    const api = await open();
    const change_id = await api.bring("pending_consent");
    expect((await api.act("apply", change_id, KEY)).status).toBe(400);
    expect((await api.act("apply", "chg_none", KEY)).status).toBe(404);
    await api.must("approve", change_id);
    expect((await api.act("apply", change_id, KEY)).status).toBe(200);
  });

  test("the same key is independent for different paths", async () => {
    const api = await open();
    const change_id = await api.bring("approved");
    for (const action of ["apply", "rollback"] as const)
      expect((await api.act(action, change_id, KEY)).status, action).toBe(200);
    expect((await api.change(change_id)).status).toBe("rolled_back");
  });

  test("with a trusted proxy, the same key is independent for different people", async () => {
    const api = await open({ identityHeader: "x-person" });
    const propose = (person: string) => api.post("propose", PROPOSAL, { ...KEY, "x-person": person });
    const [pat, quinn] = [await propose("pat"), await propose("quinn")];
    expect([pat.body.proposer, quinn.body.proposer]).toEqual(["pat", "quinn"]);
  });

  test("a response is replayed for 24 hours, also past midnight", async () => {
    const api = await open();
    const send = () => api.post("propose", PROPOSAL, KEY);
    const first = await send();
    api.advance(24 * HOUR - SECOND);
    expect((await send()).text).toBe(first.text);
    api.advance(2 * SECOND);
    const later = await send();
    expect(later.status).toBe(201);
    expect(later.body.change_id).not.toBe(first.body.change_id);
    expect((await send()).text).toBe(later.text);
  });

  test.each(["", " ", "a b", "ä", "x".repeat(256), "a\tb"])("the key %j is rejected as malformed", async (key) => {
    const api = await open();
    const rejected = await api.post("propose", PROPOSAL, { "idempotency-key": key });
    expect(rejected).toMatchObject({ status: 400, body: { fields: [{ field: "Idempotency-Key" }] } });
    expect(await api.audit()).toEqual([]);
  });

  test("a key may have 255 visible characters", async () => {
    const headers = { "idempotency-key": `~!"${"x".repeat(252)}` };
    expect((await (await open()).post("propose", PROPOSAL, headers)).status).toBe(201);
  });

  test("the key of a dry run cannot be used for the apply", async () => {
    const api = await open();
    const change_id = await api.bring("approved");
    const dryRun = await api.post("apply", { change_id, dry_run: true }, KEY);
    expect((await api.post("apply", { change_id, dry_run: true }, KEY)).text).toBe(dryRun.text);
    expect(await api.post("apply", { change_id }, KEY)).toMatchObject({
      status: 422,
      body: { code: "idempotency_key_reused" },
    });
    expect((await api.change(change_id)).status).toBe("approved");
  });
}
