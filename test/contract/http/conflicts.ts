/** Forbidden targets, and conflicts between open changes of one target. */
import { expect, test } from "vitest";
import { events, FOLLOWUP, PROPOSAL } from "../../support/client.ts";
import type { Open } from "../http_contract.ts";

const BLOCK = { intent: { policy: { on_conflict: "block" } } };
const FORBID = { intent: { policy: { forbidden_targets: ["billing.*", "auth"] } } };

export function conflictRules(open: Open): void {
  test.each(["billing.rate", "BILLING.Rate", "billing.", "auth", "AUTH"])(
    "the target %s is forbidden",
    async (target) => {
      const api = await open(FORBID);
      expect(await api.post("propose", { ...PROPOSAL, target })).toMatchObject({
        status: 403,
        body: { code: "forbidden_target" },
      });
      expect((await api.get("runtime")).body).toMatchObject({ changes: [], total: 0 });
      expect(events(await api.steps())).toEqual(["proposal_refused"]);
    },
  );

  test.each(["billing", "xbilling.rate", "auth.x", "billingXrate"])("the target %s is allowed", async (target) => {
    const api = await open(FORBID);
    expect((await api.post("propose", { ...PROPOSAL, target })).status).toBe(201);
  });

  test("a follow-up is rejected if crm.followup is forbidden", async () => {
    const api = await open({ intent: { policy: { forbidden_targets: ["crm.*"] } } });
    expect((await api.post("propose-crm-followup", FOLLOWUP)).body.code).toBe("forbidden_target");
  });

  test("by default, a proposal returns the other open changes of its target", async () => {
    const api = await open();
    const first = await api.propose({ target: "ui.Banner" });
    const second = await api.propose({ target: "UI.banner" });
    expect([first.conflicts, second.conflicts]).toEqual([[], [first.change_id]]);
    const { gates } = await api.change(first.change_id);
    expect(gates).toContainEqual({
      gate: "target_conflict",
      state: "warn",
      message: expect.stringContaining(second.change_id),
    });
  });

  test("only open changes of the same tenant and target conflict", async () => {
    const api = await open();
    await api.propose({ tenant_id: "t2" });
    await api.propose({ target: "ui.banner2" });
    await api.bring("denied");
    await api.bring("applied");
    await api.bring("rolled_back");
    const approved = await api.bring("approved");
    expect((await api.propose()).conflicts).toEqual([approved]);
  });

  test("a proposal lists ten of many conflicting open changes; later proposals list the others", async () => {
    const api = await open();
    const changeIds: string[] = [];
    for (let count = 0; count < 12; count++) changeIds.push((await api.propose()).change_id);
    const { conflicts } = await api.propose({ target: "UI.BANNER" });
    expect(conflicts).toHaveLength(10);
    expect(changeIds).toEqual(expect.arrayContaining(conflicts));
    for (const change_id of changeIds.slice(0, 10)) await api.must("deny", change_id);
    // Three are open: the last two of the list, and the proposal for "UI.BANNER".
    const remaining = (await api.propose()).conflicts;
    expect(remaining).toEqual(expect.arrayContaining(changeIds.slice(10)));
    expect(remaining).toHaveLength(3);
  });

  test("with on_conflict: block, a second open change of a target is rejected", async () => {
    const api = await open(BLOCK);
    const { change_id } = await api.propose();
    expect(await api.post("propose", { ...PROPOSAL, target: "UI.BANNER" })).toMatchObject({
      status: 409,
      body: { code: "target_conflict", conflicts: [change_id] },
    });
    expect((await api.post("propose", { ...PROPOSAL, tenant_id: "t2" })).status).toBe(201);
    await api.must("approve", change_id);
    expect((await api.post("propose", PROPOSAL)).status).toBe(409);
    await api.must("apply", change_id);
    expect((await api.post("propose", PROPOSAL)).status).toBe(201);
  });

  test("with on_conflict: block, one of 20 concurrent proposals of a target is accepted", async () => {
    const api = await open(BLOCK);
    const replies = await Promise.all(Array.from({ length: 20 }, () => api.post("propose", PROPOSAL)));
    expect(replies.filter(({ status }) => status === 201)).toHaveLength(1);
    expect(replies.filter(({ body }) => body.code === "target_conflict")).toHaveLength(19);
  });

  test("tenant and target pairs with the same concatenation do not conflict", async () => {
    const api = await open(BLOCK);
    await api.propose({ target: "a.b", tenant_id: "c" });
    expect((await api.post("propose", { ...PROPOSAL, target: "a.b", tenant_id: "cc" })).status).toBe(201);
    expect((await api.post("propose", { ...PROPOSAL, target: "a", tenant_id: "c" })).status).toBe(201);
  });
}
