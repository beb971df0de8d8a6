/** Narrowing a mandate: bounds may only become smaller. */
import { expect, test } from "vitest";
import { narrowBounds } from "../../../../lib/changes/rules/mandate_narrow.ts";
import type { MandateBounds } from "../../../../lib/changes/rules/mandate.ts";
import { hasOverlap } from "../../../../lib/changes/rules/pattern_overlap.ts";
import { findWiderKeyword } from "../../../../lib/changes/rules/schema_narrow.ts";
import { BOUNDS, NARROWER, OVERLAPS, SCHEMAS, WIDER } from "../../../support/narrowings.ts";

const kpiDirection = (kpi: string): 1 | -1 => (kpi === "csat" ? 1 : -1);
const narrowWith =
  (narrow: object, before: object = {}) =>
  () =>
    narrowBounds({ ...BOUNDS, ...before } as MandateBounds, narrow as never, kpiDirection);

test.each(NARROWER)("%s narrows", (_, narrow, before?: object) => expect(narrowWith(narrow, before)).not.toThrow());

test.each([...WIDER, ["an equal bound", { max_per_day: BOUNDS.max_per_day }] as const])(
  "%s does not narrow, and is rejected",
  (_, narrow) => expect(narrowWith(narrow)).toThrow(/narrow/),
);

test.each(SCHEMAS)("a schema may be narrowed from %j to %j: %s", (before, after, isNarrow) => {
  expect(findWiderKeyword(before as never, after as never) === undefined).toBe(isNarrow);
});

test.each(OVERLAPS)("%s and %s have a target in common: %s", (one, other, isShared) => {
  expect(hasOverlap(one, other)).toBe(isShared);
  expect(hasOverlap(other, one)).toBe(isShared);
});

const STEP = { relative: 0.1, hours: 24 };
const limits = (overrides: object, step: object = {}) => ({
  limits: { ...BOUNDS.limits, ...overrides, max_step: { ...STEP, ...step } },
});
const MEMBERS = { limits: { ...BOUNDS.limits, max_step: { ...STEP, members: ["a", "b"] } } };

test.each<[message: string, narrow: object, before?: object]>([
  ["max_per_day must be 10 or less", { max_per_day: 11 }],
  ["targets must be some of price.*, plan.a, and has plan.b", { targets: ["price.*", "plan.b"] }],
  ["tenants must be some of t1, t2", { tenants: "all" }],
  ["tenants must be some of t1, t2, and has t3", { tenants: ["t3"] }],
  ["kpi_floor must keep incident_rate", { kpi_floor: { csat: 4 } }],
  ["kpi_floor csat must be 4 or more", { kpi_floor: { csat: 3, incident_rate: 0.1 } }],
  ["kpi_floor incident_rate must be 0.1 or less", { kpi_floor: { csat: 4, incident_rate: 0.2 } }],
  ["until must be 2027-01-02T08:00:00.000Z or earlier", { until: "2027-01-02T08:00:00.001Z" }],
  ["limits must keep unit as it is", limits({ unit: "USD" })],
  ["limits must keep schema", limits({ schema: undefined })],
  ["limits allows more by schema.maximum", limits({ schema: { type: "number", minimum: 1 } })],
  ["limits must keep max_step", { limits: { ...BOUNDS.limits, max_step: undefined } }],
  ["limits must keep the kind of max_step", limits({}, { relative: undefined, absolute: 1 })],
  ["limits must keep the kind of max_step", limits({}, { absolute: 1 })],
  ["limits max_step.relative must be 0.1 or less", limits({}, { relative: 0.2 })],
  ["limits max_step.hours must be 24 or more", limits({}, { hours: 23 })],
  ["limits must keep max_step.members", limits({}, { members: ["a"] })],
  ["limits must keep max_step.members", limits({}), MEMBERS],
  ["limits max_step.members must keep b", limits({}, { members: ["c", "a"] }), MEMBERS],
  ["agent cannot be changed", { agent: "agent:other" }],
])("the error names a wider bound: %s", (message, narrow, before) => {
  expect(narrowWith(narrow, before)).toThrow(`narrow ${message}; make a new mandate for more`);
});

test.each<[string, object, object?]>([
  ["the same bounds", { max_per_day: 10, until: BOUNDS.until, targets: BOUNDS.targets }],
  ["no bound", {}],
  ["a bound that is not stated", { max_per_day: undefined, agent: undefined }],
])("%s changes nothing", (_, narrow) => {
  expect(narrowWith(narrow)).toThrow("narrow changes no bound");
});

test.each<[string, object, object, object?]>([
  [
    "a bound that is not stated is unchanged",
    { max_per_day: undefined, max_open: 4 },
    { max_per_day: 10, max_open: 4 },
  ],
  [
    "limits without a step keep none",
    { limits: { schema: { type: "number" } }, max_open: 4 },
    { max_open: 4 },
    { limits: {} },
  ],
  [
    "a schema is added",
    { limits: { schema: { type: "number" } } },
    { limits: { schema: { type: "number" } } },
    { limits: {} },
  ],
  [
    "members are added to members",
    limits({}, { members: ["b", "c", "a"] }),
    limits({}, { members: ["b", "c", "a"] }),
    MEMBERS,
  ],
  ["a step stays", { ...limits({}), max_open: 4 }, { ...limits({}), max_open: 4 }],
])("%s", (_, narrow, expected, before) => {
  expect(narrowWith(narrow, before)()).toMatchObject(expected);
});

test("a floor of a KPI without a direction may change, but not be removed", () => {
  const move = (kpi_floor: object) => () => narrowBounds(BOUNDS, { kpi_floor } as never);
  expect(move({ csat: 3, incident_rate: 0.2 })).not.toThrow();
  expect(move({ csat: 3 })).toThrow("must keep incident_rate");
});

test.each<[path: string, before: object, after: object]>([
  ["schema.properties.a.minimum", { properties: { a: { minimum: 1 } } }, { properties: { a: { minimum: 0 } } }],
  ["schema.properties.a", { properties: { a: {} } }, { properties: {} }],
  ["schema.additionalProperties", { additionalProperties: false }, { additionalProperties: true }],
  ["schema.additionalProperties.minimum", { additionalProperties: { minimum: 1 } }, { additionalProperties: {} }],
  ["schema.properties.b", { additionalProperties: false }, { additionalProperties: false, properties: { b: {} } }],
  [
    "schema.properties.b.minimum",
    { additionalProperties: { minimum: 1 } },
    { additionalProperties: { minimum: 1 }, properties: { b: {} } },
  ],
])("the error names the wider keyword %s", (path, before, after) => {
  expect(findWiderKeyword(before as never, after as never)).toBe(path);
});
