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
/** A proposal that asks for `minor` at all limits of MINOR. */
const MINOR_PROPOSAL: Fields = {
  tier: "minor",
  target: "ui.banner",
  affected_users: 50,
  risk: "low",
  reversible: true,
};

const omitField = (field: string): Fields =>
  Object.fromEntries(Object.entries(MINOR_PROPOSAL).filter(([key]) => key !== field));

const GRANTED: [string, Fields][] = [
  ["at the limits", MINOR_PROPOSAL],
  ["of another covered kind", { ...MINOR_PROPOSAL, kind: "feature_flag" }],
  ["on a target in capitals", { ...MINOR_PROPOSAL, target: "UI.Banner" }],
  ["on the pattern's shortest target", { ...MINOR_PROPOSAL, target: "limits." }],
  ["for no user", { ...MINOR_PROPOSAL, affected_users: 0 }],
];

const NOT_GRANTED: [string, Fields, tier: string][] = [
  ["tier not stated", omitField("tier"), "standard"],
  ["standard requested", { ...MINOR_PROPOSAL, tier: "standard" }, "standard"],
  ["users not stated", omitField("affected_users"), "standard"],
  ["one user too many", { ...MINOR_PROPOSAL, affected_users: 51 }, "standard"],
  ["risk not stated", omitField("risk"), "standard"],
  ["risk above the limit", { ...MINOR_PROPOSAL, risk: "medium" }, "standard"],
  ["high risk", { ...MINOR_PROPOSAL, risk: "high" }, "major"],
  ["reversibility not stated", omitField("reversible"), "standard"],
  ["not reversible", { ...MINOR_PROPOSAL, reversible: false }, "major"],
  ["a kind that is not covered", { ...MINOR_PROPOSAL, kind: "code_patch" }, "standard"],
  ["a target that is not covered", { ...MINOR_PROPOSAL, target: "billing.rate" }, "standard"],
  ["a target before the pattern's dot", { ...MINOR_PROPOSAL, target: "uix" }, "standard"],
  ["a target that only contains the pattern", { ...MINOR_PROPOSAL, target: "xui.banner" }, "standard"],
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

  test.each(NOT_GRANTED)("minor is not granted (%s)", async (_, fields, tier) => {
    const api = await open({ intent: { policy: { minor: MINOR } } });
    expect(await api.propose(fields)).toMatchObject({ tier, status: "pending_consent", approver: null });
  });

  test("without policy.minor nothing is minor", async () => {
    expect(await (await open()).propose(MINOR_PROPOSAL)).toMatchObject({ tier: "standard", status: "pending_consent" });
  });

  test.each([
    ["kinds", { ...MINOR, kinds: undefined }],
    ["targets", { ...MINOR, targets: undefined }],
  ])("a policy.minor without %s covers nothing", async (_, minor) => {
    expect((await (await open({ intent: { policy: { minor } } })).propose(MINOR_PROPOSAL)).tier).toBe("standard");
  });

  test("max_risk covers that risk and lower ones", async () => {
    const api = await open({ intent: { policy: { minor: { ...MINOR, max_risk: "medium" } } } });
    expect((await api.propose({ ...MINOR_PROPOSAL, risk: "medium" })).tier).toBe("minor");
    expect((await api.propose({ ...MINOR_PROPOSAL, risk: "high" })).tier).toBe("major");
  });

  test("the daily limit is per UTC day and counts granted minor changes only", async () => {
    const api = await open({ intent: { policy: { minor: MINOR } } });
    const proposeTimes = async (fields: Fields, times: number) => {
      const tiers: string[] = [];
      for (let count = 0; count < times; count++) tiers.push((await api.propose(fields)).tier);
      return tiers;
    };
    await proposeTimes({ ...MINOR_PROPOSAL, affected_users: 51 }, 3);
    expect(await proposeTimes(MINOR_PROPOSAL, 4)).toEqual(["minor", "minor", "minor", "standard"]);
    // The clock begins at 03:04 UTC, so 20 hours later it is still the same day, and 21 hours later it is the next one.
    api.advance(20 * HOUR);
    expect(await proposeTimes(MINOR_PROPOSAL, 1)).toEqual(["standard"]);
    api.advance(HOUR);
    expect(await proposeTimes(MINOR_PROPOSAL, 4)).toEqual(["minor", "minor", "minor", "standard"]);
  });

  test("concurrent proposals do not exceed the daily limit", async () => {
    const api = await open({ intent: { policy: { minor: MINOR } } });
    const changes = await Promise.all(Array.from({ length: 10 }, () => api.propose(MINOR_PROPOSAL)));
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
  ] as [Fields, string, number][])(
    "a proposal with %o is %s and needs %i approvals",
    async (fields, tier, required_approvers) => {
      const api = await open({ intent: { policy: { required_approvers: { standard: 1, major: 2 } } } });
      expect(await api.propose(fields)).toMatchObject({ tier, required_approvers, status: "pending_consent" });
    },
  );

  test("without a policy every tier needs one approval", async () => {
    const api = await open();
    for (const fields of [{}, { tier: "major" }] as Fields[])
      expect((await api.propose(fields)).required_approvers).toBe(1);
  });
}
