/** The preview of a proposal gives the tier and missing consents that the proposal itself gets. */
import { expect, test } from "vitest";
import { PROPOSAL } from "../../support/client.ts";
import { service } from "../../support/service.ts";

const POLICY = {
  approvers: ["ana", "bo"],
  self_approval: false,
  required_approvers: { standard: 1, major: 2 },
  owners: [{ targets: ["billing.*"], approvers: ["fin"], required: 1 }],
  forbidden_targets: ["secrets.*"],
  apply_when: ["approved"],
  minor: { kinds: ["config"], targets: ["ui.*"], max_affected_users: 50, max_risk: "low" },
};
const MINOR = { tier: "minor", risk: "low", affected_users: 5, reversible: "true" };

test.each([
  {},
  { risk: "high" },
  { reversible: "false", target: "billing.rate" },
  { proposer: "ana", target: "billing.rate" },
  MINOR,
  { ...MINOR, affected_users: 51 },
  { ...MINOR, target: "billing.rate" },
  { ...MINOR, apply_when: "approved" },
])("the preview of %j equals the result of its proposal", async (fields) => {
  const api = await service({ intent: { policy: POLICY } });
  const proposal = { tenant_id: PROPOSAL.tenant_id, kind: "config", target: "ui.x", proposer: "pat", ...fields };
  const query = new URLSearchParams(Object.entries(proposal).map(([name, value]) => [name, String(value)]));
  const { body } = await api.get(`policy?${query.toString()}`);
  const proposed = await api.propose({ ...proposal, summary: "One" });
  expect(body.preview).toMatchObject({ refused: null, tier: proposed.tier, missing: proposed.missing ?? [] });
  expect(body.preview.tier_reason).toBe(proposed.tier_reason ?? null);
});

test("the preview names a forbidden target, and is null without a kind", async () => {
  const api = await service({ intent: { policy: POLICY } });
  expect((await api.get("policy?target=secrets.key&kind=config")).body.preview.refused).toMatch(/forbidden_targets/);
  expect((await api.get("policy?target=secrets.key")).body.preview).toBeNull();
});

test("the preview takes a KPI, and names a missing one that a rule requires", async () => {
  const api = await service({ intent: { policy: { targets: [{ match: ["price.*"], kpi_required: true }] } } });
  const previewWith = async (fields: string) =>
    (await api.get(`policy?target=price.pro&kind=config&tenant_id=t1${fields}`)).body.preview.refused;
  expect(await previewWith("")).toBe("a change of price.pro must name the kpi that it is to move");
  expect(await previewWith("&kpi=csat")).toBeNull();
});
