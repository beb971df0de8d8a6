/** Narrowing a mandate: bounds become smaller and nothing else. */
import { expect, test } from "vitest";
import { narrowBounds } from "../../../../lib/changes/rules/mandate_narrow.ts";
import type { MandateBounds } from "../../../../lib/changes/rules/mandate.ts";
import { overlaps } from "../../../../lib/changes/rules/pattern_overlap.ts";
import { findWiderKeyword } from "../../../../lib/changes/rules/schema_narrow.ts";
import { BOUNDS, NARROWER, OVERLAPS, SCHEMAS, WIDER } from "../../../support/narrowings.ts";

const good = (kpi: string): 1 | -1 => (kpi === "csat" ? 1 : -1);
const narrowed =
  (narrow: object, before: object = {}) =>
  () =>
    narrowBounds({ ...BOUNDS, ...before } as MandateBounds, narrow as never, good);

test.each(NARROWER)("%s narrows", (_, narrow, before?: object) => expect(narrowed(narrow, before)).not.toThrow());

test.each([...WIDER, ["nothing", { max_per_day: 10 }] as const])("%s is 400", (_, narrow) =>
  expect(narrowed(narrow)).toThrow(/narrow/),
);

test.each(SCHEMAS)("of schemas %j and %j the second is as strict: %s", (before, after, isNarrow) => {
  expect(findWiderKeyword(before as never, after as never) === undefined).toBe(isNarrow);
});

test.each(OVERLAPS)("%s and %s have a target in common: %s", (a, b, shared) => {
  expect(overlaps(a, b)).toBe(shared);
  expect(overlaps(b, a)).toBe(shared);
});
