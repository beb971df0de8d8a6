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

  test("a proposal names ten of many open changes of its target, and later ones name the rest", async () => {
    const api = await open();
    const made: string[] = [];
    for (let one = 0; one < 12; one++) made.push((await api.propose()).change_id);
    const { conflicts } = await api.propose({ target: "UI.BANNER" });
    expect(conflicts).toHaveLength(10);
    expect(made).toEqual(expect.arrayContaining(conflicts));
    for (const change_id of made.slice(0, 10)) await api.must("deny", change_id);
    const left = (await api.propose()).conflicts;
    expect(left).toEqual(expect.arrayContaining(made.slice(10)));
    expect(left).toHaveLength(3);
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
