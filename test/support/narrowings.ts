/** Cases of narrowed mandates, schemas and patterns for the tests of the rules and of the verifier. */
import type { MandateBounds } from "../../lib/changes/rules/mandate.ts";

/** Bounds of a mandate. Of its floors, a higher `csat` and a lower `incident_rate` are stricter. */
export const BOUNDS: MandateBounds = {
  agent: "agent:pricing",
  targets: ["price.*", "plan.a"],
  kinds: ["config", "workflow"],
  tenants: ["t1", "t2"],
  limits: { schema: { type: "number", minimum: 1, maximum: 10 }, max_step: { relative: 0.1, hours: 24 }, unit: "EUR" },
  max_affected_users: 100,
  max_per_day: 10,
  max_open: 5,
  kpi_floor: { csat: 4, incident_rate: 0.1 },
  until: "2027-01-02T08:00:00.000Z",
};
const limits = (fields: object, schema: object = {}, max_step: object = {}) => ({
  limits: {
    ...BOUNDS.limits,
    schema: { ...BOUNDS.limits!.schema, ...schema },
    max_step: { ...BOUNDS.limits!.max_step, ...max_step },
    ...fields,
  },
});

type Narrowing = [title: string, narrow: object, before?: object];

/** Changes that narrow BOUNDS; `before` replaces some of its fields first. */
export const NARROWER: readonly Narrowing[] = [
  ["a target left out", { targets: ["price.*"] }],
  ["a kind left out", { kinds: ["config"] }],
  ["a tenant left out", { tenants: ["t2"] }],
  ["one tenant instead of all", { tenants: ["t7"] }, { tenants: "all" }],
  ["fewer users", { max_affected_users: 99 }],
  ["a bound on users added", { max_affected_users: 1000 }, { max_affected_users: undefined }],
  ["fewer changes a day", { max_per_day: 9 }],
  ["fewer open changes", { max_open: 1 }],
  ["an earlier end", { until: "2027-01-01T08:00:00.000Z" }],
  ["a floor moved up", { kpi_floor: { csat: 4.1, incident_rate: 0.1 } }],
  ["a floor moved down", { kpi_floor: { csat: 4, incident_rate: 0.05 } }],
  ["a floor added", { kpi_floor: { csat: 4, incident_rate: 0.1, nrr: 1 } }],
  ["a smaller step", limits({}, {}, { relative: 0.05 })],
  ["a step over a longer time", limits({}, {}, { hours: 48 })],
  ["a smaller range", limits({}, { minimum: 2, maximum: 9 })],
  ["another keyword", limits({}, { multipleOf: 0.5 })],
  ["limits added", limits({}), { limits: undefined }],
];

/** Changes that do not narrow BOUNDS. */
export const WIDER: readonly Narrowing[] = [
  ["another target", { targets: ["price.*", "plan.b"] }],
  ["a wider pattern", { targets: ["*"] }],
  ["another kind", { kinds: ["config", "experiment"] }],
  ["another tenant", { tenants: ["t1", "t3"] }],
  ["all tenants", { tenants: "all" }],
  ["more users", { max_affected_users: 101 }],
  ["more changes a day", { max_per_day: 11 }],
  ["more open changes", { max_open: 6 }],
  ["a later end", { until: "2027-01-03T08:00:00.000Z" }],
  ["a floor moved down", { kpi_floor: { csat: 3.9, incident_rate: 0.1 } }],
  ["a floor moved up", { kpi_floor: { csat: 4, incident_rate: 0.2 } }],
  ["a floor left out", { kpi_floor: { csat: 4 } }],
  ["a larger step", limits({}, {}, { relative: 0.11 })],
  ["a step over a shorter time", limits({}, {}, { hours: 12 })],
  ["a step of another kind", limits({ max_step: { absolute: 0.01, hours: 24 } })],
  ["a step of members instead of the value", limits({}, {}, { members: ["a"] })],
  ["no step", limits({ max_step: undefined })],
  ["no schema", limits({ schema: undefined })],
  ["another unit", limits({ unit: "USD" })],
  ["a larger range", limits({}, { maximum: 11 })],
  ["a keyword left out", limits({ schema: { type: "number", minimum: 1 } })],
  ["another type", limits({}, { type: ["number", "string"] })],
  ["another agent", { agent: "agent:other" }],
  ["a beginning, which no narrowing sets", { from: "2027-01-01T08:00:00.000Z" }],
];

/** Pairs of schemas; true where the rule recognizes the second as at least as strict as the first. */
export const SCHEMAS: readonly [before: object, after: object, isNarrow: boolean][] = [
  [{ type: "integer" }, { type: "number" }, false],
  [{ type: "number" }, { type: "integer" }, true],
  [{ enum: [1, 2] }, { enum: [2] }, true],
  [{ enum: [1, 2] }, { enum: [2, 3] }, false],
  [{ const: { a: 1 } }, { const: { a: 1 } }, true],
  [{ const: 1 }, { const: 2 }, false],
  [{ multipleOf: 0.1 }, { multipleOf: 0.3 }, true],
  [{ multipleOf: 0.3 }, { multipleOf: 0.1 }, false],
  [{ pattern: "^a$" }, { pattern: "^b$" }, false],
  [{ minLength: 1, maxLength: 5 }, { minLength: 2, maxLength: 4 }, true],
  [{ minLength: 2 }, { minLength: 1 }, false],
  [{ maxItems: 2 }, { maxItems: 3 }, false],
  [{ uniqueItems: true }, { uniqueItems: false }, false],
  [{ items: { minimum: 1 } }, { items: { minimum: 0 } }, false],
  [{ required: ["a"] }, { required: ["a", "b"] }, true],
  [{ required: ["a"] }, { required: [] }, false],
  [{ properties: { a: { minimum: 1 } } }, { properties: { a: { minimum: 2 } } }, true],
  [{ properties: { a: { minimum: 1 } } }, { properties: {} }, false],
  [{ additionalProperties: false }, { additionalProperties: true }, false],
  [{ additionalProperties: false }, { additionalProperties: false, properties: { a: {} } }, false],
  [{ additionalProperties: { minimum: 1 } }, { additionalProperties: false, properties: { a: { minimum: 0 } } }, false],
  [{ additionalProperties: { minimum: 1 } }, { additionalProperties: false, properties: { a: { minimum: 1 } } }, true],
  [{ exclusiveMinimum: 1 }, { minimum: 2 }, false],
  [{ minimum: 1, maximum: 2 }, { minimum: 1, maximum: 2 }, true],
  [{ type: ["number", "null"] }, { type: "integer" }, true],
  [{ type: "number" }, { type: "string" }, false],
  [{ uniqueItems: false }, { uniqueItems: false }, true],
  [{ uniqueItems: true }, { uniqueItems: true }, true],
  [{ items: { minimum: 1 } }, { items: { minimum: 1 } }, true],
  [{ required: ["a", "b"] }, { required: ["a"] }, false],
  [{ properties: { a: {}, b: { minimum: 1 } } }, { properties: { a: {}, b: { minimum: 0 } } }, false],
  [{ properties: { toString: {} } }, { properties: {} }, false],
  [{ additionalProperties: true }, { additionalProperties: false }, true],
  [{ additionalProperties: true }, { additionalProperties: true, properties: { a: {} } }, true],
  [{ additionalProperties: false }, { additionalProperties: { minimum: 1 } }, false],
  [{ additionalProperties: { minimum: 1 } }, { additionalProperties: false }, true],
  [{ additionalProperties: { minimum: 1 } }, { additionalProperties: true }, false],
  [{ additionalProperties: { minimum: 1 } }, { additionalProperties: { minimum: 2 } }, true],
  [{ additionalProperties: { minimum: 1 } }, { additionalProperties: { minimum: 0 } }, false],
  [
    { additionalProperties: false, properties: { a: {} } },
    { additionalProperties: false, properties: { a: {} } },
    true,
  ],
  [
    { additionalProperties: false, properties: { a: {} } },
    { additionalProperties: false, properties: { a: {}, b: {} } },
    false,
  ],
  [
    { additionalProperties: { minimum: 1 }, properties: { a: {} } },
    { additionalProperties: { minimum: 1 }, properties: { a: {}, b: { minimum: 1 }, c: {} } },
    false,
  ],
];

/** Pairs of patterns; true where a target matches both. */
export const OVERLAPS: readonly [one: string, other: string, shared: boolean][] = [
  ["price.*", "price.basic", true],
  ["price.*", "*.basic", true],
  ["price.*", "plan.*", false],
  ["a*b", "*c", false],
  ["a*b*", "a*c", true],
  ["Price.a", "price.A", true],
  ["*", "x", true],
  ["ab", "a*b*c", false],
];
