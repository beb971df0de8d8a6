/** The tier of a proposal, and the number of approvals it needs. */
import { expect, test } from "vitest";
import { FOLLOWUP } from "../../support/client.ts";
import { HOUR } from "../../support/clock.ts";
import type { Fields } from "../../support/requests.ts";
import type { Open } from "../http_contract.ts";

const MINOR = {
  kinds: ["config", "feature_flag"],
  targets: ["ui.*", "limits.*"],
  max_affected_users: 50,
  max_risk: "low",
  max_per_day: 3,
};
const CLAIM: Fields = { tier: "minor", target: "ui.banner", affected_users: 50, risk: "low", reversible: true };

const without = (field: string): Fields => Object.fromEntries(Object.entries(CLAIM).filter(([key]) => key !== field));

const GRANTED: [string, Fields][] = [
  ["at the limits", CLAIM],
  ["of another covered kind", { ...CLAIM, kind: "feature_flag" }],
  ["on a target in capitals", { ...CLAIM, target: "UI.Banner" }],
  ["on the pattern's shortest target", { ...CLAIM, target: "limits." }],
  ["for nobody", { ...CLAIM, affected_users: 0 }],
];

const LOST: [string, Fields, tier: string][] = [
  ["not asked for", without("tier"), "standard"],
  ["asked as standard", { ...CLAIM, tier: "standard" }, "standard"],
  ["users not stated", without("affected_users"), "standard"],
  ["one user too many", { ...CLAIM, affected_users: 51 }, "standard"],
  ["risk not stated", without("risk"), "standard"],
  ["risk above the limit", { ...CLAIM, risk: "medium" }, "standard"],
  ["high risk", { ...CLAIM, risk: "high" }, "major"],
  ["reversibility not stated", without("reversible"), "standard"],
  ["not reversible", { ...CLAIM, reversible: false }, "major"],
  ["a kind that is not covered", { ...CLAIM, kind: "code_patch" }, "standard"],
  ["a target that is not covered", { ...CLAIM, target: "billing.rate" }, "standard"],
  ["a target before the pattern's dot", { ...CLAIM, target: "uix" }, "standard"],
  ["a target that only contains the pattern", { ...CLAIM, target: "xui.banner" }, "standard"],
];

export function tierRules(open: Open): void {
  test.each(GRANTED)("minor is granted %s", async (_, fields) => {
    const api = await open({ intent: { policy: { minor: MINOR } } });
    const change = await api.propose(fields);
    expect(change).toMatchObject({ tier: "minor", status: "approved", approver: "policy:minor", approvals: [] });
    const { manifest_hash } = (await api.get("intent")).body;
    expect(JSON.parse(change.audit_entry.detail)).toMatchObject({ approver: "policy:minor", manifest_hash });
    expect((await api.must("apply", change.change_id)).status).toBe("applied");
  });

  test.each(LOST)("minor is not granted: %s", async (_, fields, tier) => {
    const api = await open({ intent: { policy: { minor: MINOR } } });
    expect(await api.propose(fields)).toMatchObject({ tier, status: "pending_consent", approver: null });
  });

  test("without policy.minor nothing is minor", async () => {
    expect(await (await open()).propose(CLAIM)).toMatchObject({ tier: "standard", status: "pending_consent" });
  });

  test.each([
    ["kinds", { ...MINOR, kinds: undefined }],
    ["targets", { ...MINOR, targets: undefined }],
  ])("a policy.minor without %s covers nothing", async (_, minor) => {
    expect((await (await open({ intent: { policy: { minor } } })).propose(CLAIM)).tier).toBe("standard");
  });

  test("max_risk covers that risk and lower ones", async () => {
    const api = await open({ intent: { policy: { minor: { ...MINOR, max_risk: "medium" } } } });
    expect((await api.propose({ ...CLAIM, risk: "medium" })).tier).toBe("minor");
    expect((await api.propose({ ...CLAIM, risk: "high" })).tier).toBe("major");
  });

  test("the daily limit is per UTC day and counts granted minor changes only", async () => {
    const api = await open({ intent: { policy: { minor: MINOR } } });
    const tiers = async (fields: Fields, times: number) => {
      const granted: string[] = [];
      for (let time = 0; time < times; time++) granted.push((await api.propose(fields)).tier);
      return granted;
    };
    await tiers({ ...CLAIM, affected_users: 51 }, 3);
    expect(await tiers(CLAIM, 4)).toEqual(["minor", "minor", "minor", "standard"]);
    api.advance(20 * HOUR);
    expect(await tiers(CLAIM, 1)).toEqual(["standard"]);
    api.advance(HOUR);
    expect(await tiers(CLAIM, 4)).toEqual(["minor", "minor", "minor", "standard"]);
  });

  test("concurrent proposals do not exceed the daily limit", async () => {
    const api = await open({ intent: { policy: { minor: MINOR } } });
    const changes = await Promise.all(Array.from({ length: 10 }, () => api.propose(CLAIM)));
    expect(changes.filter(({ tier }) => tier === "minor")).toHaveLength(3);
  });

  test("the crm follow-up is never minor", async () => {
    const minor = { kinds: ["workflow"], targets: ["*"] };
    const api = await open({ intent: { policy: { minor } } });
    const { body } = await api.post("propose-crm-followup", FOLLOWUP);
    expect(body).toMatchObject({ tier: "standard", status: "pending_consent" });
    expect((await api.post("propose-crm-followup", { ...FOLLOWUP, tier: "minor" })).status).toBe(400);
  });

  test.each([
    [{ tier: "major" }, "major", 2],
    [{ reversible: false }, "major", 2],
    [{ risk: "high" }, "major", 2],
    [{ tier: "standard" }, "standard", 1],
    [{}, "standard", 1],
    [{ tier: "standard", risk: "high" }, "major", 2],
  ] as [Fields, string, number][])("%o is %s and needs %i", async (fields, tier, required_approvers) => {
    const api = await open({ intent: { policy: { required_approvers: { standard: 1, major: 2 } } } });
    expect(await api.propose(fields)).toMatchObject({ tier, required_approvers, status: "pending_consent" });
  });

  test("without a policy every tier needs one approval", async () => {
    const api = await open();
    for (const fields of [{}, { tier: "major" }] as Fields[])
      expect((await api.propose(fields)).required_approvers).toBe(1);
  });
}
