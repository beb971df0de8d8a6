/** Outcomes are made once for users with the same arms and share; users with others must not get theirs. */
import { expect, test } from "vitest";
import { portableSha256 } from "../../../lib/kit/platform.ts";
import { createFlagChoice, createFlagsChoice } from "../../../lib/http/flag_choice.ts";
import { readContext } from "../../../lib/http/ofrep_schemas.ts";
import type { GovernedValue } from "../../../lib/operations/values.ts";

const governed = (tenant_id: string, value: unknown, more: object = {}): GovernedValue => ({
  ...{ state: "governed", tenant_id, target: "ui.banner", value, change_id: `chg_of_${tenant_id}` },
  ...{ entry: 1, applied_at: "2026-11-28T06:00:00.000Z", kind: "config", digest: "d" },
  ...more,
});
const exposed = (tenant: string, value: unknown, before: GovernedValue | null, unit = "userId"): GovernedValue =>
  governed(tenant, value, { before, exposure: { unit, salt: `chg_${tenant}`, share: 4000, step: 0, since: "" } });
const split = (unit: string) => ({
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
  ["one value", [governed("t1", true)]],
  ["a split value", [governed("t1", split("userId"))]],
  ["a rollout", [exposed("t1", "new", governed("t1", "old"))]],
  ["a rollout of a split value over another", [exposed("t1", split("userId"), governed("t1", split("company")))]],
  ["rollouts over nothing, of a tenant and for all", [exposed("t1", "new", null), exposed("*", "for all", null)]],
  ["the same, by different attributes", [exposed("t1", null, null), exposed("*", split("userId"), null, "company")]],
  ["a rollout over nothing, and a value for all", [exposed("t1", "new", null), governed("*", split("company"))]],
  ["no value", []],
];

const CONTEXTS = Array.from({ length: 60 }, (_, user) => ({
  ...(user % 4 > 0 && { userId: `user-${user}` }),
  ...(user % 3 > 0 && { company: `company-${user}` }),
}));

test.each(CASES)("%s: a cached response equals the one that is computed for the user", (_, values) => {
  const { choose, results } = createFlagChoice(values, "ui.banner");
  const seen = new Set<unknown>();
  for (const context of CONTEXTS) {
    const fresh = createFlagChoice(values, "ui.banner");
    const number = choose(readContext(context));
    expect(results[number]).toEqual(fresh.results[fresh.choose(readContext(context))]);
    seen.add(number);
  }
  expect(seen.size).toBe(results.length);
});

const named = (target: string, values: GovernedValue[]): GovernedValue[] =>
  values.map((value) => ({ ...value, target }));
const [SPLIT, ROLLOUT, BY_BOTH] = [1, 2, 5].map((at) => CASES[at]![1]) as [
  GovernedValue[],
  GovernedValue[],
  GovernedValue[],
];

test.each([
  ["one attribute", [named("a", SPLIT), named("b", ROLLOUT)]],
  ["two attributes", [named("a", ROLLOUT), named("b", BY_BOTH)]],
  ["no attribute", [named("a", [governed("t1", 1)])]],
])("responses by %s: a repeated user and a user with the same unit each get their own", (_, flags) => {
  const make = () =>
    createFlagsChoice(
      flags.map((values) => createFlagChoice(values)),
      { sha256: portableSha256, mayCache: () => true },
    );
  const choose = make();
  for (const context of [...CONTEXTS, ...CONTEXTS]) {
    const asked = readContext(context);
    expect(choose(asked)).toEqual(make()(asked));
  }
});
