/**
 * The bounds of a mandate: changes inside of them, and the first bound that a change outside breaks. In titles and messages `it` is
 * the mandate.
 */
import { expect, test } from "vitest";
import { findBoundViolation } from "../../../../lib/changes/rules/mandate_bounds.ts";

const BOUNDS = {
  ...{ agent: "agent:pricing", targets: ["price.*"], kinds: ["config"], tenants: ["t1", "t2"] },
  ...{ max_per_day: 10, max_open: 5, from: "2026-11-01T00:00:00.000Z", until: "2026-12-01T00:00:00.000Z" },
};
const CHANGE = {
  ...{ proposer: "Agent:Pricing", kind: "config", tenant_id: "t1", target: "price.basic", value: 5 },
  ...{ reversible: true, risk: "low", affected_users: 100 },
};
const FLAGS = { name: "flags", address: "file:flags.json" };
const AT = "2026-11-20T00:00:00.000Z";
const RULE = { targets: ["price.*", "plan.*"], apply_when: false };
const LOCATION = { tenant_id: "t1", target: "price.basic", system: "flags", place: "file:flags.json#t1/price.basic" };
const plan = (...targets: string[]) => ({
  ...{ target: "price.plan", tenant_id: "t1", value: undefined },
  sets: targets.map((target) => ({ tenant_id: "t2", target, value: 1 })),
});

/** Members that replace those of CHANGE, BOUNDS and the facts; `signedSystems` are those that the mandate's signers saw. */
interface Overrides {
  change?: object;
  bounds?: object;
  facts?: object;
  signedSystems?: object[];
}

const findViolation = ({ change = {}, bounds = {}, facts = {}, signedSystems = [FLAGS] }: Overrides) =>
  findBoundViolation(
    { ...CHANGE, ...change } as never,
    { systems: signedSystems } as never,
    { ...BOUNDS, ...bounds } as never,
    { at: AT, rule: RULE, stages: undefined, places: undefined, systems: [FLAGS], ...facts } as never,
  );

const ROLLOUT = { steps: [], watch: [], fed_by: "agent:analytics" };
const BOUND_STAGES = { targets: ["*"], watch: ["errors"], fed_by: ["agent:analytics"], max_allowed: { errors: 0.1 } };

test.each<[string, Overrides]>([
  ["as proposed", {}],
  ["at its first moment", { facts: { at: BOUNDS.from } }],
  ["of any tenant, where it covers all", { change: { tenant_id: "t9" }, bounds: { tenants: "all" } }],
  ["of medium risk", { change: { risk: "medium" } }],
  ["with as many users as it bounds", { bounds: { max_affected_users: 100 } }],
  ["without its users, which it does not bound", { change: { affected_users: undefined } }],
  ["without a value, which it does not limit", { change: { value: undefined } }],
  ["with a value that it limits", { bounds: { limits: { schema: { type: "number" } } } }],
  [
    "that applies by itself, where the policy allows that",
    { change: { apply_when: "approved" }, facts: { rule: { ...RULE, apply_when: true } } },
  ],
  ["with stages that the policy bounds", { change: { stages: ROLLOUT }, facts: { stages: BOUND_STAGES } }],
  ["at a location of a signed system", { facts: { places: [LOCATION] } }],
  [
    "of a plan, each of whose entries it covers",
    { change: plan("price.basic"), bounds: { limits: { schema: { type: "number" } } } },
  ],
])("a change %s is inside", (_, overrides) => {
  expect(findViolation(overrides)).toBeUndefined();
});

test.each<[string, Overrides, string, string]>([
  ["without a proposer", { change: { proposer: undefined } }, "agent", "It is for agent:pricing alone."],
  ["of another agent", { change: { proposer: "agent:other" } }, "agent", "It is for agent:pricing alone."],
  ["before it begins", { facts: { at: "2026-10-31T23:59:59.999Z" } }, "from", `It begins at ${BOUNDS.from}.`],
  ["at its end", { facts: { at: BOUNDS.until } }, "until", `It ended at ${BOUNDS.until}.`],
  ["of another kind", { change: { kind: "workflow" } }, "kinds", "It covers no workflow."],
  ["of another target", { change: { target: "plan.a" } }, "targets", "It does not cover plan.a."],
  [
    "of a target that the policy no longer covers",
    { change: { target: "price.basic" }, facts: { rule: { ...RULE, targets: ["plan.*"] } } },
    "targets",
    "policy.mandates does not cover price.basic.",
  ],
  ["of another tenant", { change: { tenant_id: "t9" } }, "tenants", "It does not cover tenant t9."],
  ["of a plan with another target", { change: plan("price.a", "ui.b") }, "targets", "It does not cover ui.b."],
  [
    "that cannot be undone",
    { change: { reversible: false } },
    "reversible",
    "It covers no change that cannot be undone.",
  ],
  [
    "that does not say whether it can be undone",
    { change: { reversible: undefined } },
    "reversible",
    "State reversible: true.",
  ],
  ["of high risk", { change: { risk: "high" } }, "risk", "It covers no change of high risk."],
  ["of no stated risk", { change: { risk: undefined } }, "risk", "State risk, below high."],
  [
    "that states no users",
    { change: { affected_users: undefined }, bounds: { max_affected_users: 100 } },
    "max_affected_users",
    "State affected_users, which it bounds.",
  ],
  ["of too many users", { bounds: { max_affected_users: 99 } }, "max_affected_users", "It covers 99 users at most."],
  [
    "that applies by itself",
    { change: { apply_when: "approved" } },
    "apply_when",
    "policy.mandates allows no such change to apply by itself.",
  ],
  [
    "that applies at a time",
    { change: { apply_when: "2026-11-21T00:00:00.000Z" }, facts: { rule: { ...RULE, apply_when: true } } },
    "apply_when",
    "policy.mandates allows no such change to apply by itself.",
  ],
  [
    "with stages that nothing bounds",
    { change: { stages: ROLLOUT } },
    "stages",
    "policy.stages does not set watch, fed_by and a max_allowed of each KPI in watch.",
  ],
  [
    "without a value that it limits",
    { change: { value: undefined }, bounds: { limits: { schema: { type: "number" } } } },
    "limits",
    "State the value of price.basic, which it limits.",
  ],
  ...(
    [
      ["at a location of a system that was not signed", { signedSystems: [], facts: { places: [LOCATION] } }],
      ["at a location of a system that no longer exists", { facts: { places: [LOCATION], systems: [] } }],
      [
        "at a location of a system that has another address now",
        { facts: { places: [LOCATION], systems: [{ ...FLAGS, address: "file:other.json" }] } },
      ],
      [
        "at a location of a signed system that is gone, while another one has its address",
        {
          signedSystems: [{ name: "other", address: "file:flags.json" }, FLAGS],
          facts: { places: [LOCATION], systems: [{ name: "other", address: "file:flags.json" }] },
        },
      ],
    ] satisfies [string, Overrides][]
  ).map(([title, overrides]): [string, Overrides, string, string] => [
    title,
    overrides,
    "systems",
    "price.basic is set in flags, which its signers did not see as it is now.",
  ]),
])("a change %s is outside", (_, overrides, bound, message) => {
  expect(findViolation(overrides)).toEqual({ bound, message });
});
