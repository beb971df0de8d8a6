import { expect, test } from "vitest";
import { STATUSES } from "../../../../lib/governance/rules/change.ts";
import { allowedActions, transition } from "../../../../lib/governance/rules/transitions.ts";

const ALLOWED = {
  proposed: ["approve"],
  pending_consent: ["approve", "deny", "withdraw"],
  approved: ["apply"],
  applied: ["rollback"],
  rolled_back: [],
  denied: [],
};

test("the states are the specification's", () => {
  expect([...STATUSES].sort()).toEqual(Object.keys(ALLOWED).sort());
});

test.each(STATUSES)("what a %s change may be asked", (status) => {
  expect(allowedActions(status)).toEqual(ALLOWED[status]);
});

test("a change that is still proposed may be approved", () => {
  expect(transition({ change_id: "chg_1", status: "proposed" }, "approve")).toBe("approved");
});

test("only a pending change expires", () => {
  for (const status of STATUSES) {
    const expire = () => transition({ change_id: "chg_1", status }, "expire");
    if (status === "pending_consent") expect(expire()).toBe("denied");
    else expect(expire).toThrow(/cannot expire chg_1/);
  }
});
