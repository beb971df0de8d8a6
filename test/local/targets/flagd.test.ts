/** The flagd file as a target system, read by the stock reader of flagd files. */
import * as fs from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import type { Change } from "../../../lib/changes/rules/change.ts";
import { systemClock } from "../../../lib/kit/platform.ts";
import { readSplit, shareFinder } from "../../../lib/rollout/split_value.ts";
import { memoryStore } from "../../../lib/store/memory.ts";
import { targetAdapter } from "../../../lib/targets/adapter.ts";
import type { Entry } from "../../../lib/targets/port.ts";
import { flagdTarget, type FlagdTargetOptions } from "../../../local/targets/flagd.ts";
import { type AdapterCase, adapterCases } from "../../contract/adapter_cases.ts";
import { targetCases } from "../../contract/target_system_cases.ts";
import { loadFlagdReader } from "../../support/flagd_core.ts";
import { service } from "../../support/service.ts";

const neverAborted = new AbortController().signal;
const reader = await loadFlagdReader().catch((error: Error) => error.message);
if (typeof reader === "string") process.stdout.write(`flagd reader: skipped, ${reader}\n`);

/** A flagd file that would lose much if it were parsed and written again: numbers, order of keys, escapes, spaces. */
const TEXT = `{
  "$schema": "https://flagd.dev/schema/v0/flags.json",
  "flags": {
    "10": { "state": "ENABLED", "variants": { "b": 1.0, "a": 1e2, "10": 9007199254740993 }, "defaultVariant": "b" },
    "new-checkout": {
        "variants" : {"on":true,  "off":false}, "state": "ENABLED",
        "defaultVariant": "off", "x": [ 1.50, "\\u00e9{\\"" ]
    },
    "banner":{"state":"DISABLED","variants":{"on":true},"defaultVariant":"on"}
  },
  "$evaluators": { "staff": { "ends_with": [ { "var": "email" }, "@acme.example" ] } }
}
`;

const definition = (limit: unknown) => ({
  state: "ENABLED",
  variants: { set: { limit }, none: {} },
  defaultVariant: "set",
});

async function openFlagdFile(overrides: Partial<FlagdTargetOptions> & { text?: string | Buffer } = {}) {
  const folder = await fs.mkdtemp(join(tmpdir(), "flagd-"));
  onTestFinished(() => fs.rm(folder, { recursive: true, force: true }));
  const { text = TEXT, ...options } = overrides;
  const path = join(folder, "flags.flagd.json");
  await fs.writeFile(path, text);
  const system = flagdTarget({ path, clock: systemClock, ...options });
  const adapter = targetAdapter(system, { store: memoryStore(), clock: systemClock });
  return {
    folder,
    path,
    system,
    adapter,
    apply: (one: Change) => adapter.apply(one, neverAborted),
    rollback: (one: Change) => adapter.rollback({ ...one, status: "applied" }, neverAborted),
    read: () => fs.readFile(path, "utf8"),
    edit: async (from: string, to: string) => fs.writeFile(path, (await fs.readFile(path, "utf8")).replace(from, to)),
  };
}

const PROPOSAL = { summary: "Set it", affected_users: "1", risk: "low", proposer: "bo" };

const change = (value: unknown, overrides: Partial<Change> = {}): Change =>
  ({ change_id: "chg_a", tenant_id: "t1", kind: "config", target: "new-checkout", value, ...overrides }) as Change;

describe("target system contract", () => {
  test.each(targetCases)("$name", ({ run }) =>
    run(async () => {
      const flagKey = ({ tenant_id, target }: Entry) => `${tenant_id}/${target}`;
      let hasEnded = false;
      const rename: typeof fs.rename = async (...names) => {
        if (hasEnded) throw new Error("the process ended before the rename");
        await fs.rename(...names);
      };
      const { system, read, path } = await openFlagdFile({
        text: '{ "flags": { } }',
        flagKey,
        files: { ...fs, rename },
      });
      return {
        system,
        values: [1, 2, 3].map(definition),
        interrupt: () => void (hasEnded = true),
        async overwrite() {
          const text = await read();
          await fs.writeFile(path, text.replace(/"limit":\d/, '"limit" : 7.0'));
        },
      };
    }),
  );
});

describe("adapter contract", () => {
  // The cases set plain values; a new flag needs a definition.
  const asFlag = (one: Change): Change =>
    one.value === undefined ? one : { ...one, value: definition((one.value as { limit: unknown }).limit) };
  const unwrap = (value: unknown): unknown => (value as ReturnType<typeof definition>).variants.set;
  const unwrapValue = <V extends { value: unknown } | null | undefined>(held: V) =>
    held ? { value: unwrap(held.value) } : held;
  test.each<AdapterCase>(adapterCases)("$name", ({ run }) =>
    run(async () => {
      const flagKey = ({ tenant_id, target }: Entry) => `${tenant_id}/${target}`;
      const { adapter, system, read, path } = await openFlagdFile({ text: '{"flags":{}}', flagKey });
      return {
        adapter: {
          name: adapter.name,
          validate: (one, signal) => adapter.validate(asFlag(one), signal),
          verify: (one, signal) => adapter.verify(asFlag(one), signal),
          rollback: (one, signal) => adapter.rollback(asFlag(one), signal),
          held: async (one, signal) => unwrapValue(await adapter.held!(asFlag(one), signal)),
          apply: async (one, signal) => {
            const result = await adapter.apply(asFlag(one), signal);
            return { ...result, previous: unwrapValue(result.previous) };
          },
        },
        async overwrite(one, value) {
          const { raw } = await system.read(asFlag(one), neverAborted);
          await fs.writeFile(
            path,
            (await read()).replace(raw!, JSON.stringify(definition((value as { limit: unknown }).limit))),
          );
        },
      };
    }),
  );
});

test("an apply makes a value's variant the default, and changes only that and the metadata", async () => {
  const { apply, rollback, read } = await openFlagdFile();
  expect((await apply(change(true))).previous).toEqual({ value: false });
  expect(await read()).toBe(
    TEXT.replace('"defaultVariant": "off"', '"defaultVariant": "on"').replace(
      /(\{\\"") \]\n/,
      '$1 ], "metadata": {"change_id":"chg_a"}\n',
    ),
  );
  await rollback(change(true));
  expect(await read()).toBe(TEXT);
});

test("a definition replaces only its flag's text, and its rollback restores every byte", async () => {
  const { apply, rollback, read } = await openFlagdFile();
  const [one, other] = [change(definition(1)), change(definition(2), { change_id: "chg_b", target: "brand-new" })];
  await apply(one);
  await apply(other);
  const { flags } = JSON.parse(await read());
  expect(flags["new-checkout"]).toEqual({ ...definition(1), metadata: { change_id: "chg_a" } });
  expect(Object.keys(flags)).toEqual(["10", "new-checkout", "banner", "brand-new"]);
  await rollback(one);
  await rollback(other);
  expect(await read()).toBe(TEXT);
});

test("the official reader splits a split value, and a rollback restores every byte", async () => {
  const { apply, rollback, read, edit, adapter } = await openFlagdFile();
  const value = {
    $split: {
      shares: [
        ["on", true, 5000],
        ["off", false, 5000],
      ],
    },
  };
  const split = change(value);
  expect(adapter.check!(split)).toBeUndefined();
  await apply(split);
  expect(await adapter.verify(split, neverAborted)).toBe("applied");
  if (typeof reader !== "string") {
    const core = new reader();
    core.setConfigurations(await read());
    const evaluateFor = (user: string) => core.resolveBooleanEvaluation("new-checkout", false, { userId: user }).value;
    const share = readSplit(value)!;
    for (const user of ["ana", "bo", "cy", "di", "ed", "flo", "gus"])
      expect(evaluateFor(user)).toBe(share.shares[shareFinder(share, "new-checkout")(user)]!.value);
  }
  const after = await read();
  await edit('["on",5000]', '["on",5001]');
  expect(await adapter.verify(split, neverAborted)).not.toBe("applied");
  await edit('["on",5001]', '["on",5000]');
  expect(await read()).toBe(after);
  await rollback(split);
  expect(await read()).toBe(TEXT);
});

test("a rollback keeps an edit of another flag, and is rejected after one of its own flag", async () => {
  const { apply, rollback, read, edit, adapter } = await openFlagdFile();
  await apply(change(true));
  await edit('"banner":{"state":"DISABLED"', '"banner":{"state":"ENABLED"');
  expect(await adapter.verify(change(true), neverAborted)).toBe("applied");
  await rollback(change(true));
  expect(await read()).toBe(TEXT.replace('"banner":{"state":"DISABLED"', '"banner":{"state":"ENABLED"'));
  await apply(change(true, { change_id: "chg_b" }));
  await edit('"on":true,  "off":false}, "state": "ENABLED"', '"on":true,  "off":false}, "state": "DISABLED"');
  await expect(rollback(change(true, { change_id: "chg_b" }))).rejects.toMatchObject({ name: "TargetDrifted" });
});

test.each([
  ["a value of no variant", change("blue"), "no variant of the flag has this value"],
  ["a value of a new flag", change(true, { target: "brand-new" }), "propose its complete definition"],
  ["a value of a disabled flag", change(true, { target: "banner" }), "disabled or has targeting"],
  ["a state of its own", change({ state: "on", variants: {} }), "state is neither"],
  ["an unknown default", change({ ...definition(1), defaultVariant: "no" }), "defaultVariant names no variant"],
  ["an unknown operation", change({ ...definition(1), targeting: { if: [{ zork: [] }, "set"] } }), '"zork"'],
  ["shares of no variant", change({ ...definition(1), targeting: { fractional: [["no", 5]] } }), 'no variant "no"'],
  ["a fraction of a weight", change({ ...definition(1), targeting: { fractional: [["set", 0.5]] } }), "whole number"],
  ["weights beyond 31 bits", change({ ...definition(1), targeting: { fractional: [["set", 2 ** 31]] } }), "2147483647"],
])("%s is rejected, in a dry run and by an apply", async (_, one, reason) => {
  const { adapter, apply, read } = await openFlagdFile();
  expect(await adapter.validate(one, neverAborted)).toEqual({ ok: false, reason: expect.stringContaining(reason) });
  await expect(apply(one)).rejects.toThrow(reason);
  expect(await read()).toBe(TEXT);
});

test("a proposal of a value that no variant has is 400 value_not_allowed", async () => {
  const { adapter } = await openFlagdFile();
  const api = await service({ adapter });
  const proposal = { ...PROPOSAL, tenant_id: "t1", kind: "config", target: "new-checkout" };
  const blue = await api.post("propose", { ...proposal, value: '"blue"' });
  expect(blue).toMatchObject({
    status: 400,
    body: { code: "value_not_allowed", error: expect.stringContaining("no variant of the flag") },
  });
  expect((await api.post("propose", { ...proposal, value: "true" })).status).toBe(201);
});

test.each([
  ["torn", '{"flags": {"a": {"state"', "is not valid JSON"],
  ["with a byte order mark", `\uFEFF${TEXT}`, "is not valid JSON"],
  ["with a comment", `// flags\n${TEXT}`, "is not valid JSON"],
  ["YAML", "flags:\n  a: {}\n", "is not valid JSON"],
  ["with a flag twice", '{"flags":{"a":{"state":"ENABLED","variants":{}},"a":{}}}', 'repeats the member "a"'],
  ["without flags", "{}", "has no object flags"],
  ["with a flag without a valid state", '{"flags":{"a":{"state":"on","variants":{}}}}', 'an invalid flag "a"'],
  ["with an unknown default", '{"flags":{"a":{"state":"ENABLED","variants":{},"defaultVariant":"x"}}}', 'flag "a"'],
])("a file %s is rejected, and its bytes stay", async (_, text, message) => {
  const { adapter, path } = await openFlagdFile({ text });
  for (const operation of [adapter.validate, adapter.apply])
    await expect(operation(change(definition(1)), neverAborted)).rejects.toThrow(message);
  expect(await fs.readFile(path)).toEqual(Buffer.from(text));
});

test("a missing file and a symbolic link are rejected", async () => {
  const { adapter, path, folder } = await openFlagdFile();
  await fs.rename(path, join(folder, "real.json"));
  await expect(adapter.apply(change(true), neverAborted)).rejects.toThrow('create it with {"flags": {}}');
  await fs.symlink("real.json", path);
  expect(await adapter.validate(change(true), neverAborted)).toEqual({
    ok: false,
    reason: expect.stringContaining("symbolic link"),
  });
  await expect(adapter.apply(change(true), neverAborted)).rejects.toThrow("symbolic link");
  expect(await fs.readFile(path, "utf8")).toBe(TEXT);
});

test.skipIf(typeof reader === "string")("the official reader sees an apply, its rollback, and shares", async () => {
  const { apply, rollback, read } = await openFlagdFile();
  const loadReader = async () => {
    const core = new (reader as Exclude<typeof reader, string>)();
    core.setConfigurations(await read());
    return core;
  };
  const value = async () => (await loadReader()).resolveBooleanEvaluation("new-checkout", false, { targetingKey: "u" });
  expect(await value()).toMatchObject({ value: false, reason: "STATIC" });
  await apply(change(true));
  expect(await value()).toMatchObject({ value: true, flagMetadata: { change_id: "chg_a" } });
  await rollback(change(true));
  expect(await value()).toMatchObject({ value: false });

  const targeting = {
    fractional: [
      ["on", 10],
      ["off", 90],
    ],
  };
  const staged = { state: "ENABLED", variants: { on: true, off: false }, defaultVariant: "off", targeting };
  await apply(change(staged, { change_id: "chg_b" }));
  const core = await loadReader();
  const users = Array.from({ length: 2000 }, (_, i) => ({ targetingKey: `user-${i}` }));
  const on = users.filter((user) => core.resolveBooleanEvaluation("new-checkout", false, user).value).length;
  // About 10 % of the 2,000 users.
  expect(on).toBeGreaterThan(140);
  expect(on).toBeLessThan(260);
});
