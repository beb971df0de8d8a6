/** A cached evaluation of a flag is reused only for users who get the same value, variant and metadata. */
import { expect, test } from "vitest";
import { portableSha256 } from "../../../lib/kit/platform.ts";
import { createFlagChoice, createFlagsChoice } from "../../../lib/http/flag_choice.ts";
import { readContext } from "../../../lib/http/ofrep_schemas.ts";
import type { GovernedValue } from "../../../lib/operations/values.ts";

const governedValue = (tenant_id: string, value: unknown, more: object = {}): GovernedValue => ({
  state: "governed",
  tenant_id,
  target: "ui.banner",
  value,
  change_id: `chg_of_${tenant_id}`,
  entry: 1,
  applied_at: "2026-11-28T06:00:00.000Z",
  kind: "config",
  digest: "d",
  ...more,
});
/** Returns a value in a rollout to 40 percent of the users, who are identified by the attribute `unit`. */
const rolloutValue = (tenant: string, value: unknown, before: GovernedValue | null, unit = "userId"): GovernedValue =>
  governedValue(tenant, value, { before, exposure: { unit, salt: `chg_${tenant}`, share: 4000, step: 0, since: "" } });
const splitBy = (unit: string) => ({
  $split: {
    unit,
    shares: [
      ["a", "A", 3000],
      ["b", "B", 3000],
      ["c", "C", 4000],
    ],
  },
});

const CASES: [name: string, values: GovernedValue[]][] = [
  ["one value", [governedValue("t1", true)]],
  ["a split value", [governedValue("t1", splitBy("userId"))]],
  ["a rollout", [rolloutValue("t1", "new", governedValue("t1", "old"))]],
  [
    "a rollout of a split value over another",
    [rolloutValue("t1", splitBy("userId"), governedValue("t1", splitBy("company")))],
  ],
  [
    "rollouts without a previous value, for a tenant and for all",
    [rolloutValue("t1", "new", null), rolloutValue("*", "for all", null)],
  ],
  [
    "rollouts for a tenant and for all, by different attributes",
    [rolloutValue("t1", null, null), rolloutValue("*", splitBy("userId"), null, "company")],
  ],
  [
    "a rollout without a previous value, and a value for all",
    [rolloutValue("t1", "new", null), governedValue("*", splitBy("company"))],
  ],
  ["no value", []],
];

/** Users of whom some lack one attribute or both. */
const CONTEXTS = Array.from({ length: 60 }, (_, user) => ({
  ...(user % 4 > 0 && { userId: `user-${user}` }),
  ...(user % 3 > 0 && { company: `company-${user}` }),
}));

test.each(CASES)("%s: a cached response equals the one that is computed for the user", (_, values) => {
  // `choose` selects a result by its number in `results`, which are computed once.
  const { choose, results } = createFlagChoice(values, "ui.banner");
  const chosenNumbers = new Set<unknown>();
  for (const context of CONTEXTS) {
    const uncached = createFlagChoice(values, "ui.banner");
    const number = choose(readContext(context));
    expect(results[number]).toEqual(uncached.results[uncached.choose(readContext(context))]);
    chosenNumbers.add(number);
  }
  expect(chosenNumbers.size).toBe(results.length);
});

const onTarget = (target: string, values: GovernedValue[]): GovernedValue[] =>
  values.map((value) => ({ ...value, target }));
const [SPLIT, ROLLOUT, TWO_ATTRIBUTES] = [1, 2, 5].map((index) => CASES[index]![1]) as [
  GovernedValue[],
  GovernedValue[],
  GovernedValue[],
];

test.each([
  ["one attribute", [onTarget("a", SPLIT), onTarget("b", ROLLOUT)]],
  ["two attributes", [onTarget("a", ROLLOUT), onTarget("b", TWO_ATTRIBUTES)]],
  ["no attribute", [onTarget("a", [governedValue("t1", 1)])]],
])("a cached bulk response by %s equals the one that is computed for the user", (_, flags) => {
  const createChoice = () =>
    createFlagsChoice(
      flags.map((values) => createFlagChoice(values)),
      { sha256: portableSha256, mayCache: () => true },
    );
  const choose = createChoice();
  // The second response to a context comes from the cache.
  for (const context of [...CONTEXTS, ...CONTEXTS]) {
    const parsed = readContext(context);
    expect(choose(parsed)).toEqual(createChoice()(parsed));
  }
});
