/** Rollouts in a flagd file, read by the stock reader: a share gets the new value, all other users the flag's old value. */
import * as fs from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type { ChangeWithStages } from "../../../lib/changes/operations/adapter_port.ts";
import type { Change } from "../../../lib/changes/rules/change.ts";
import { findBucket } from "../../../lib/rollout/bucket.ts";
import { stagesSchema } from "../../../lib/rollout/stages.ts";
import { memoryStore } from "../../../lib/store/memory.ts";
import { targetAdapter } from "../../../lib/targets/adapter.ts";
import { flagdTarget } from "../../../local/targets/flagd.ts";
import { loadFlagdReader } from "../../support/flagd_core.ts";

const neverAborted = new AbortController().signal;
const reader = await loadFlagdReader().catch((error: Error) => error.message);
if (typeof reader === "string") process.stdout.write(`flagd reader: skipped, ${reader}\n`);

const SALT = "chg_01a1fc07-5b3e-7b44-9d52-3e8a17c0b6f1";
const KEY = "new-checkout";
const SHARES = [100, 5000];
const stages = stagesSchema().parse({
  unit: "account",
  fed_by: "agent:analytics",
  steps: SHARES.map((share) => ({ share, advance: "manual", min_hours: 0 })),
  watch: [{ kpi: "conversion", kind: "binary", good: "up", allowed: 0.01 }],
});

/** Returns a file with the flag, whose numbers and spaces change if the text is parsed and rendered again. */
const fileWithFlag = (flag: string) => `{ "flags": {\n  "other": { "state": "ENABLED", "variants": { "a": 1.0 } },
  "${KEY}": ${flag}
}, "$evaluators": { "staff": { "ends_with": [ { "var": "email" }, "@acme.example" ] } } }\n`;

const PLAIN = fileWithFlag(
  '{ "state":"ENABLED", "variants" : {"on":true,  "off":false}, "x": 1.50, "defaultVariant": "off" }',
);
const PLAIN_OBJECT = fileWithFlag(
  '{ "state":"ENABLED", "variants":{"off":{ "limit": 1.0 }}, "defaultVariant": "off" }',
);
const BY_RULE = fileWithFlag(`{ "state": "ENABLED", "defaultVariant": "small",
    "variants": { "small": { "limit": 1.0 }, "large": { "limit": 1e2 } },
    "targeting": { "if": [ { "$ref": "staff" }, "large" ] }, "metadata": { "team": "checkout" } }`);
const BY_FRACTION = fileWithFlag(`{ "state": "ENABLED", "variants": {"on": { "limit": 5 }, "off": { "limit": 0 }},
    "defaultVariant": "off", "targeting": { "fractional": [ ["on", 30], ["off", 70] ] } }`);

const flag = (overrides: object = {}) => ({
  state: "ENABLED",
  variants: { new: { limit: 7 } },
  defaultVariant: "new",
  ...overrides,
});
const NEW_RULE = flag({
  variants: { new: { limit: 7 }, newest: { limit: 8 } },
  targeting: { if: [{ ends_with: [{ var: "email" }, "@acme.example"] }, "newest"] },
});

const USERS = Array.from({ length: 2000 }, (_, index) => ({
  account: `user-${index}`,
  targetingKey: `t${index % 7}`,
  email: `user-${index}@${index % 3 === 0 ? "acme.example" : "other.example"}`,
}));
/** Users without the attribute `account`, by which the rollout splits: they keep the old value. */
const USERS_WITHOUT_UNIT = [{ targetingKey: "t1", email: "a@acme.example" }, { account: "", targetingKey: "t2" }, {}];

async function openFlagdFile(text: string, value: unknown) {
  const folder = await fs.mkdtemp(join(tmpdir(), "flagd-"));
  onTestFinished(() => fs.rm(folder, { recursive: true, force: true }));
  const path = join(folder, "flags.flagd.json");
  await fs.writeFile(path, text);
  const adapter = targetAdapter(flagdTarget({ path }), { store: memoryStore() });
  const change = {
    change_id: SALT,
    tenant_id: "t1",
    kind: "config",
    target: KEY,
    value,
    status: "applied",
    stages,
  } as Change & ChangeWithStages;
  return {
    adapter,
    change,
    read: () => fs.readFile(path, "utf8"),
    write: (edited: string) => fs.writeFile(path, edited),
    setStep: (step: number) =>
      step === 0 ? adapter.apply(change, neverAborted) : adapter.setStage!(change, step, neverAborted),
    async evaluate(contexts: readonly object[]) {
      const core = new (reader as Exclude<typeof reader, string>)();
      core.setConfigurations(await fs.readFile(path, "utf8"));
      return contexts.map((context) => {
        const found =
          typeof value === "boolean"
            ? core.resolveBooleanEvaluation(KEY, false, context)
            : core.resolveObjectEvaluation(KEY, {}, context);
        return { value: found.value as unknown, variant: (found as { variant?: string }).variant };
      });
    },
  };
}

test.skipIf(typeof reader === "string").each([
  ["no rule, a value", PLAIN, true],
  ["no rule, a definition", PLAIN_OBJECT, flag()],
  ["an if-rule, a definition", BY_RULE, flag()],
  ["an if-rule, a definition with a rule", BY_RULE, NEW_RULE],
  [
    "an if-rule, a definition whose variant has a name of the flag's",
    BY_RULE,
    flag({ variants: { large: { limit: 7 } }, defaultVariant: "large" }),
  ],
  ["a fractional split, a definition", BY_FRACTION, flag()],
])("over %s: the stock reader gives the new value to each share, and to no other user", async (_, text, value) => {
  const { adapter, change, setStep, evaluate, read } = await openFlagdFile(text, value);
  const [before, withoutUnitBefore] = [await evaluate(USERS), await evaluate(USERS_WITHOUT_UNIT)];
  // In another copy of the file all users get the new value. A definition is applied there without steps, a plain value takes all
  // its steps.
  const complete = await openFlagdFile(text, value);
  await complete.adapter.apply(
    { ...complete.change, ...(typeof value === "object" && { stages: undefined }) },
    neverAborted,
  );
  if (typeof value === "boolean") for (let step = 1; step <= SHARES.length; step += 1) await complete.setStep(step);
  const after = await complete.evaluate(USERS);
  for (const [step, share] of SHARES.entries()) {
    await setStep(step);
    expect(await adapter.verify(change, neverAborted)).toBe("applied");
    const current = await evaluate(USERS);
    for (const [index, { account }] of USERS.entries())
      if (findBucket(SALT, account) < share) expect(current[index]!.value).toEqual(after[index]!.value);
      else expect(current[index]).toEqual(before[index]);
    expect(await evaluate(USERS_WITHOUT_UNIT)).toEqual(withoutUnitBefore);
  }
  await setStep(SHARES.length);
  expect([await evaluate(USERS), await adapter.verify(change, neverAborted)]).toEqual([after, "applied"]);
  await adapter.rollback(change, neverAborted);
  expect(await read()).toBe(text);
});

test("a step changes only the rule, the variants and the metadata of the flag", async () => {
  const { setStep, read } = await openFlagdFile(BY_RULE, flag());
  await setStep(0);
  const rule = '{ "if": [ { "$ref": "staff" }, "large" ] }';
  const isTreated = `{"and":[{"var":"account"},{"==":[{"fractional":[{"cat":["${SALT}",{"var":"account"}]},["treated",100],["control",9900]]},"treated"]}]}`;
  expect(await read()).toBe(
    BY_RULE.replace('"large": { "limit": 1e2 }', '"large": { "limit": 1e2 }, "new": {"limit":7}')
      .replace(rule, `{"if":[${isTreated},"new",${rule}]}`)
      .replace('"team": "checkout"', `"team": "checkout", "change_id": "${SALT}"`),
  );
});

test.each([0, 1, 2])("a rollback from step %i restores the file to the byte", async (last) => {
  for (const [text, value] of [
    [PLAIN, true],
    [BY_RULE, NEW_RULE],
  ] as const) {
    const { adapter, change, setStep, read } = await openFlagdFile(text, value);
    for (let step = 0; step <= last; step += 1) await setStep(step);
    await adapter.rollback(change, neverAborted);
    expect(await read()).toBe(text);
  }
});

test("an edit of the wrapped rule is drift, and a restore sets the split again", async () => {
  const { adapter, change, setStep, read, write } = await openFlagdFile(PLAIN, true);
  await setStep(0);
  await setStep(1);
  const wrapped = await read();
  await write(wrapped.replace('["treated",5000]', '["treated",5001]'));
  expect(await adapter.verify(change, neverAborted)).toBe("unknown");
  await expect(setStep(2)).rejects.toMatchObject({ name: "TargetDrifted" });
  await adapter.restore!(change, "r1", neverAborted);
  expect(await read()).toBe(wrapped);
});

test.each([
  ["a flag that does not exist", '{ "flags": {} }', flag(), "does not exist"],
  ["a disabled flag", PLAIN.replace('ENABLED", "variants" :', 'DISABLED", "variants" :'), flag(), "enable it before"],
  ["a present rule that no reader accepts", BY_RULE.replace('"if"', '"zork"'), flag(), "is not valid"],
  ["a value over a rule", BY_RULE, { limit: 1 }, "propose a complete definition"],
  ["a disabled definition", PLAIN, flag({ state: "DISABLED" }), "the definition is disabled"],
  ["a definition of another type", PLAIN, flag(), 'the variant "new" is object, and the flag gives boolean'],
  [
    "a definition with a variant of another type",
    BY_RULE,
    { ...NEW_RULE, variants: { ...NEW_RULE.variants, none: 0 } },
    'the variant "none" is number, and the flag gives object',
  ],
  ["a definition without a default", PLAIN, flag({ defaultVariant: null }), "no defaultVariant"],
  [
    "variants of one name under a rule",
    BY_RULE,
    { ...NEW_RULE, variants: { ...NEW_RULE.variants, large: 1 } },
    "another value for the variant",
  ],
  [
    "a split value",
    PLAIN,
    {
      $split: {
        shares: [
          ["on", true, 1000],
          ["off", false, 9000],
        ],
      },
    },
    "not a split of their own",
  ],
])(
  "%s is rejected in a dry run and by the checks before an apply, and nothing is written",
  async (_, text, value, reason) => {
    const { adapter, change, read } = await openFlagdFile(text, value);
    expect(await adapter.validate(change, neverAborted)).toEqual({
      ok: false,
      reason: expect.stringContaining(reason),
    });
    // Some reasons need only the change, others the file.
    const found = adapter.check!(change) ?? (await adapter.reader!(change)!(neverAborted)).problem;
    expect(found).toContain(reason);
    expect(await read()).toBe(text);
  },
);

test("a unit that is not the name of an attribute is rejected", async () => {
  const { adapter, change } = await openFlagdFile(PLAIN, true);
  expect(adapter.check!({ ...change, stages: { ...stages, unit: "a.b" } })).toContain("not the name of an attribute");
});
