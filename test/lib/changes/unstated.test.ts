/** Fields left out are not shown as statements, and a change that is not minor says why. */
import { expect, test } from "vitest";
import { core } from "../../support/core.ts";

const MINOR = {
  policy: { minor: { kinds: ["config"], targets: ["ui.*"], max_affected_users: 50, max_risk: "low", max_per_day: 20 } },
};
const STATED = { tier: "minor", target: "ui.banner", value: 1, affected_users: 5, risk: "low", reversible: true };

test.each([
  [{}, ["risk", "reversible", "affected_users"]],
  [{ risk: "low", affected_users: 0 }, ["reversible"]],
  [{ risk: "low", affected_users: 0, reversible: true }, []],
])("of %j the unstated fields are %j, also in the record made from the log", async (fields, unstated) => {
  const api = await core();
  const { change_id } = await api.propose(fields);
  expect(await api.change(change_id)).toMatchObject({ unstated });
});

test("a change without a value says that it sets nothing, one with null does not", async () => {
  const api = await core();
  expect((await api.propose()).sets_nothing).toBe(true);
  expect(
    (await api.json("propose", { ...STATED, tenant_id: "t1", kind: "config", summary: "x", value: null })).body,
  ).not.toHaveProperty("sets_nothing");
});

test.each([
  [{ reversible: undefined }, "state `reversible: true`"],
  [{ risk: "high" }, "a high risk is major"],
  [{ target: "db.size" }, "no change of db.size"],
  [{ affected_users: 51 }, "more than 50 users"],
  [{ risk: "medium" }, "above low"],
])("a minor change with %j is not granted, and says why", async (fields, reason) => {
  const api = await core({ intent: MINOR });
  const stated: Record<string, string | number | boolean> = Object.fromEntries(
    Object.entries({ ...STATED, ...fields }).flatMap(([key, value]) => (value === undefined ? [] : [[key, value]])),
  );
  const { tier, tier_reason } = await api.propose(stated);
  expect(tier).not.toBe("minor");
  expect(tier_reason).toContain(reason);
});

test("a minor change that is granted has no reason", async () => {
  const api = await core({ intent: MINOR });
  expect(await api.propose(STATED)).toMatchObject({ tier: "minor" });
  expect(await api.propose({ ...STATED, target: "ui.other" })).not.toHaveProperty("tier_reason");
});
