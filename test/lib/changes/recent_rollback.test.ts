/** For a day after a rollback of a target, no change of it is minor. */
import { expect, test } from "vitest";
import { DAY_MS } from "../../../lib/kit/days.ts";
import { testClock } from "../../support/clock.ts";
import { core } from "../../support/core.ts";

const INTENT = {
  policy: {
    minor: { kinds: ["config"], targets: ["ui.*"], max_affected_users: 50, max_risk: "low" },
    self_approval: true,
    required_approvers: { standard: 1, major: 2 },
  },
};
const MINOR_PROPOSAL = {
  tier: "minor",
  target: "ui.banner",
  value: 1,
  affected_users: 5,
  risk: "low",
  reversible: true,
};

/** Opens a service with one rolled back change, and two changes of its target that are pending consent. */
async function coreWithRollback() {
  const clock = testClock();
  const api = await core({ intent: INTENT, clock });
  const standardChange = await api.propose({ ...MINOR_PROPOSAL, tier: "standard" });
  const majorChange = await api.propose({ ...MINOR_PROPOSAL, tier: "major" });
  const { change_id } = await api.propose(MINOR_PROPOSAL);
  await api.post("apply", { change_id });
  expect((await api.post("rollback", { change_id, note: "broken" })).status).toBe(200);
  return { api, clock, standardChange, majorChange };
}

test("a change of a target rolled back within 24 hours is not minor, and tier_reason says why", async () => {
  const { api, clock } = await coreWithRollback();
  clock.advance(DAY_MS);
  // Targets that differ only in upper and lower case are the same.
  const { tier, tier_reason } = await api.propose({ ...MINOR_PROPOSAL, target: "UI.Banner" });
  expect([tier, tier_reason]).toEqual(["standard", expect.stringContaining("was rolled back at")]);
});

test("other targets and tenants stay minor after a rollback, and so does the target a day later", async () => {
  const { api, clock } = await coreWithRollback();
  expect(await api.propose({ ...MINOR_PROPOSAL, target: "ui.other" })).toMatchObject({ tier: "minor" });
  expect(await api.propose({ ...MINOR_PROPOSAL, tenant_id: "t2" })).toMatchObject({ tier: "minor" });
  clock.advance(DAY_MS + 1);
  expect(await api.propose(MINOR_PROPOSAL)).toMatchObject({ tier: "minor" });
});

test("after a rollback, a person's approval makes the target minor again; half a quorum does not", async () => {
  const { api, standardChange, majorChange } = await coreWithRollback();
  expect((await api.post("approve", { change_id: majorChange.change_id, approver: "ana" })).body.status).toBe(
    "pending_consent",
  );
  expect(await api.propose(MINOR_PROPOSAL)).toMatchObject({ tier: "standard" });
  await api.post("approve", { change_id: standardChange.change_id, approver: "ana" });
  expect(await api.propose(MINOR_PROPOSAL)).toMatchObject({ tier: "minor" });
});
