/** Fields that a proposal leaves out are listed as unstated, and tier_reason explains the rejection of the tier minor. */
import { expect, test } from "vitest";
import { core } from "../../support/core.ts";

const INTENT = {
  policy: { minor: { kinds: ["config"], targets: ["ui.*"], max_affected_users: 50, max_risk: "low", max_per_day: 20 } },
};
const MINOR_PROPOSAL = {
  tier: "minor",
  target: "ui.banner",
  value: 1,
  affected_users: 5,
  risk: "low",
  reversible: true,
};

test.each([
  [{}, ["risk", "reversible", "affected_users"]],
  [{ risk: "low", affected_users: 0 }, ["reversible"]],
  [{ risk: "low", affected_users: 0, reversible: true }, []],
])("a proposal with %j has the unstated fields %j", async (fields, unstated) => {
  const api = await core();
  const { change_id } = await api.propose(fields);
  expect(await api.change(change_id)).toMatchObject({ unstated });
});

test("a change without a value has sets_nothing, one with the value null does not", async () => {
  const api = await core();
  expect((await api.propose()).sets_nothing).toBe(true);
  expect(
    (await api.json("propose", { ...MINOR_PROPOSAL, tenant_id: "t1", kind: "config", summary: "x", value: null })).body,
  ).not.toHaveProperty("sets_nothing");
});

test.each([
  [{ reversible: undefined }, "state `reversible: true`"],
  [{ risk: "high" }, "a high risk is major"],
  [{ target: "db.size" }, "no change of db.size"],
  [{ affected_users: 51 }, "more than 50 users"],
  [{ risk: "medium" }, "above low"],
])("a change with %j is not granted the tier minor, with a reason", async (fields, reason) => {
  const api = await core({ intent: INTENT });
  const proposal: Record<string, string | number | boolean> = Object.fromEntries(
    Object.entries({ ...MINOR_PROPOSAL, ...fields }).flatMap(([key, value]) =>
      value === undefined ? [] : [[key, value]],
    ),
  );
  const { tier, tier_reason } = await api.propose(proposal);
  expect(tier).not.toBe("minor");
  expect(tier_reason).toContain(reason);
});

test("a granted minor change has no tier_reason", async () => {
  const api = await core({ intent: INTENT });
  expect(await api.propose(MINOR_PROPOSAL)).toMatchObject({ tier: "minor" });
  expect(await api.propose({ ...MINOR_PROPOSAL, target: "ui.other" })).not.toHaveProperty("tier_reason");
});
