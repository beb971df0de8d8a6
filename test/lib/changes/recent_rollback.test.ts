/** For a day after a rollback of a target, no change of it is minor. */
import { expect, test } from "vitest";
import { DAY_MS } from "../../../lib/kit/days.ts";
import { testClock } from "../../support/clock.ts";
import { core } from "../../support/core.ts";

const MINOR = {
  policy: {
    minor: { kinds: ["config"], targets: ["ui.*"], max_affected_users: 50, max_risk: "low" },
    self_approval: true,
    required_approvers: { standard: 1, major: 2 },
  },
};
const STATED = { tier: "minor", target: "ui.banner", value: 1, affected_users: 5, risk: "low", reversible: true };

/** A service with one rolled back change, and two proposals that wait for approval. */
async function rollBackOne() {
  const clock = testClock();
  const api = await core({ intent: MINOR, clock });
  const waiting = await api.propose({ ...STATED, tier: "standard" });
  const half = await api.propose({ ...STATED, tier: "major" });
  const { change_id } = await api.propose(STATED);
  await api.post("apply", { change_id });
  expect((await api.post("rollback", { change_id, note: "broken" })).status).toBe(200);
  return { api, clock, waiting, half };
}

test("a change of a target rolled back within 24 hours is not minor, and says why", async () => {
  const { api, clock } = await rollBackOne();
  clock.advance(DAY_MS);
  const { tier, tier_reason } = await api.propose({ ...STATED, target: "UI.Banner" });
  expect([tier, tier_reason]).toEqual(["standard", expect.stringContaining("was rolled back at")]);
});

test("other targets and tenants stay minor after a rollback, and so does the target a day later", async () => {
  const { api, clock } = await rollBackOne();
  expect(await api.propose({ ...STATED, target: "ui.other" })).toMatchObject({ tier: "minor" });
  expect(await api.propose({ ...STATED, tenant_id: "t2" })).toMatchObject({ tier: "minor" });
  clock.advance(DAY_MS + 1);
  expect(await api.propose(STATED)).toMatchObject({ tier: "minor" });
});

test("after a rollback, a person's approval makes the target minor again; half a quorum does not", async () => {
  const { api, waiting, half } = await rollBackOne();
  expect((await api.post("approve", { change_id: half.change_id, approver: "ana" })).body.status).toBe(
    "pending_consent",
  );
  expect(await api.propose(STATED)).toMatchObject({ tier: "standard" });
  await api.post("approve", { change_id: waiting.change_id, approver: "ana" });
  expect(await api.propose(STATED)).toMatchObject({ tier: "minor" });
});
