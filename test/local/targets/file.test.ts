/** Tests the adapter for a config file: applies, rollbacks and the list of changes in the file. */
import { mkdir, readdir, rm, stat } from "node:fs/promises";
import { dirname } from "node:path";
import { describe, expect, test } from "vitest";
import type { AdapterResult } from "../../../lib/changes/operations/adapter_port.ts";
import type { Change } from "../../../lib/changes/rules/change.ts";
import { inLong, rounds } from "../../support/run_length.ts";
import { sha256 } from "../../../local/node_ports.ts";
import { NOW_ISO, openFileAdapter, neverAborted, change, unsyncedFiles } from "./file/open_file_adapter.ts";

const [a, b, c] = [change("chg_a"), change("chg_b"), change("chg_c")];

test("apply writes the documented file", async () => {
  const { apply, text } = await openFileAdapter({ path: "made/on/demand/product.json" });
  expect(await apply(change("chg_a", { value: { on: true, list: [1, null] } }))).toBe("applied");
  expect(await text()).toBe(`{
  "format": "countersign-product-config/1",
  "product_id": "acme-crm",
  "instance_id": "acme-crm@local",
  "revision": 1,
  "change_id": "chg_a",
  "state": "applied",
  "updated_at": "${NOW_ISO}",
  "values": {
    "t1": {
      "ui.banner": {
        "on": true,
        "list": [
          1,
          null
        ]
      }
    }
  },
  "changes": {
    "chg_a": {
      "kind": "config",
      "target": "ui.banner",
      "tenant_id": "t1",
      "state": "applied",
      "at": "${NOW_ISO}"
    }
  }
}
`);
});

test("rollback writes the rolled_back state", async () => {
  const { apply, rollback, content } = await openFileAdapter();
  await apply(a);
  expect(await rollback(a)).toBe("rolled_back");
  expect(await content()).toMatchObject({
    revision: 2,
    change_id: "chg_a",
    state: "rolled_back",
    changes: { chg_a: { state: "rolled_back", target: "ui.banner", tenant_id: "t1" } },
  });
});

test("changes are in the order of their latest operation", async () => {
  const { apply, rollback, content } = await openFileAdapter();
  for (const each of [a, b, c]) await apply(each);
  await rollback(a);
  expect(Object.keys((await content()).changes)).toEqual(["chg_b", "chg_c", "chg_a"]);
});

test("opening, validating and verifying create neither file nor folder", async () => {
  const { adapter, path, verify, folder } = await openFileAdapter({ path: "later/product.json" });
  expect((await adapter.validate(a, neverAborted)).ok).toBe(true);
  expect(await verify(a)).toBe("absent");
  expect(await readdir(folder)).toEqual([]);
  await expect(stat(dirname(path))).rejects.toThrow("ENOENT");
});

test.each(["", " \n\t", "{}", "\uFEFF{}"])("the file %j counts as empty", async (text) => {
  const { apply, verify, content, write } = await openFileAdapter();
  await write(text);
  expect(await verify(a)).toBe("absent");
  await apply(a);
  expect(await content()).toMatchObject({ revision: 1, values: { t1: { "ui.banner": "value of chg_a" } } });
});

test("verify distinguishes applied, rolled_back and absent", async () => {
  const { apply, rollback, verify } = await openFileAdapter();
  await apply(a);
  expect(await verify(a)).toBe("applied");
  expect(await verify(b)).toBe("absent");
  await rollback(a);
  expect(await verify(a)).toBe("rolled_back");
});

test("a repeated apply or rollback returns the same and does not change the file", async () => {
  const { apply, rollback, text } = await openFileAdapter();
  await apply(a);
  await apply(b);
  const applied = await text();
  expect([await apply(a), await apply(b)]).toEqual(["applied", "applied"]);
  expect(await text()).toBe(applied);

  expect([await rollback(a), await rollback(b)]).toEqual(["superseded", "rolled_back"]);
  const rolledBack = await text();
  expect([await rollback(a), await rollback(b)]).toEqual(["superseded", "rolled_back"]);
  expect(await text()).toBe(rolledBack);
});

test("rolling back the owner restores the previous value and owner", async () => {
  const { apply, rollback, verify, content, write } = await openFileAdapter();
  await write({ values: { t1: { "ui.banner": "by hand" } } });
  await apply(a);
  await apply(b);
  expect((await content()).changes.chg_a.superseded_by).toBe("chg_b");
  expect(await rollback(b)).toBe("rolled_back");
  const { values, changes } = await content();
  expect(values).toEqual({ t1: { "ui.banner": "value of chg_a" } });
  expect(changes.chg_a).not.toHaveProperty("superseded_by");
  expect([await verify(a), await verify(b)]).toEqual(["applied", "rolled_back"]);
  expect(await rollback(a)).toBe("rolled_back");
  expect((await content()).values).toEqual({ t1: { "ui.banner": "by hand" } });
});

test("rolling back a superseded change leaves the value; the later rollback restores the first", async () => {
  const { apply, rollback, verify, content } = await openFileAdapter();
  for (const each of [a, b, c]) await apply(each);
  expect(await rollback(b)).toBe("superseded");
  expect((await content()).changes.chg_a.superseded_by).toBe("chg_c");
  expect(await rollback(a)).toBe("superseded");
  expect((await content()).values).toEqual({ t1: { "ui.banner": "value of chg_c" } });
  expect([await verify(a), await verify(b), await verify(c)]).toEqual(["rolled_back", "rolled_back", "applied"]);
  expect(await rollback(c)).toBe("rolled_back");
  expect((await content()).values).toEqual({});
});

test("a change applied again after its rollback becomes the latest one", async () => {
  const { apply, rollback, content } = await openFileAdapter();
  await apply(a);
  await apply(b);
  expect(await rollback(a)).toBe("superseded");
  await apply(a);
  expect((await content()).values.t1["ui.banner"]).toBe("value of chg_a");
  expect(await rollback(a)).toBe("rolled_back");
  expect((await content()).values.t1["ui.banner"]).toBe("value of chg_b");
  expect(await rollback(b)).toBe("rolled_back");
  expect((await content()).values).toEqual({});
});

test("rolling back a change that the file never had records that, and keeps the values", async () => {
  const { rollback, verify, content, write } = await openFileAdapter();
  await write({ values: { t1: { "ui.banner": "by hand" } } });
  expect(await rollback(a)).toBe("rolled_back");
  expect(await verify(a)).toBe("rolled_back");
  expect((await content()).values).toEqual({ t1: { "ui.banner": "by hand" } });
});

test("a tenant's object is removed with its last value only if the adapter created it", async () => {
  const { apply, rollback, content, write } = await openFileAdapter();
  const otherTarget = change("chg_e", { target: "limits.seats" });
  await apply(a);
  await apply(otherTarget);
  await rollback(a);
  expect((await content()).values).toEqual({ t1: { "limits.seats": "value of chg_e" } });
  await rollback(otherTarget);
  expect((await content()).values).toEqual({});

  await write({ values: { t1: {} } });
  const laterChange = change("chg_l");
  await apply(laterChange);
  await rollback(laterChange);
  expect((await content()).values).toEqual({ t1: {} });
});

test("a change without a value is only listed, and supersedes only such changes", async () => {
  const { apply, rollback, verify, content } = await openFileAdapter();
  const [withoutValue, laterWithoutValue] = [
    change("chg_s", { value: undefined }),
    change("chg_q", { value: undefined }),
  ];
  await apply(a);
  await apply(withoutValue);
  expect((await content()).values).toEqual({ t1: { "ui.banner": "value of chg_a" } });
  await apply(laterWithoutValue);
  expect(await rollback(withoutValue)).toBe("superseded");
  expect([await verify(a), await verify(withoutValue), await verify(laterWithoutValue)]).toEqual([
    "applied",
    "rolled_back",
    "applied",
  ]);
  expect(await rollback(a)).toBe("rolled_back");
  expect((await content()).values).toEqual({});
  expect(await rollback(laterWithoutValue)).toBe("rolled_back");
});

test("null is stored as a value", async () => {
  const { apply, verify, content } = await openFileAdapter();
  const off = change("chg_n", { value: null });
  await apply(off);
  expect((await content()).values).toEqual({ t1: { "ui.banner": null } });
  expect(await verify(off)).toBe("applied");
});

test("targets are compared without case, tenants with it; the file keeps its first spelling", async () => {
  const { apply, rollback, verify, content } = await openFileAdapter();
  const otherSpelling = change("chg_l", { target: "UI.Banner" });
  await apply(a);
  await apply(otherSpelling);
  await apply(change("chg_t", { tenant_id: "T1" }));
  expect((await content()).values).toEqual({
    t1: { "ui.banner": "value of chg_l" },
    T1: { "ui.banner": "value of chg_t" },
  });
  expect(await verify(otherSpelling)).toBe("applied");
  expect(await rollback(a)).toBe("superseded");
  await rollback(otherSpelling);
  expect((await content()).values).toEqual({ T1: { "ui.banner": "value of chg_t" } });
  await apply(change("chg_u", { target: "UI.BANNER" }));
  expect((await content()).values.t1).toEqual({ "ui.banner": "value of chg_u" });
});

test("a change whose value or file another program changed is not reported as applied", async () => {
  const { apply, verify, content, write, path } = await openFileAdapter();
  await apply(change("chg_v", { value: { deep: [1, { x: 2 }], more: "é" } }));
  const proposed = change("chg_v", { value: { more: "é", deep: [1, { x: 2 }] } });
  expect(await verify(proposed)).toBe("applied");

  const edited = await content();
  edited.values.t1["ui.banner"].deep[1].x = 3;
  await write(edited);
  expect(await verify(proposed)).toBe("unknown");
  delete edited.values.t1;
  await write(edited);
  expect(await verify(proposed)).toBe("absent");
  await rm(path);
  expect(await verify(proposed)).toBe("absent");
});

test("a repeated apply sets an owner's value again, and its rollback restores the previous one", async () => {
  const { apply, rollback, verify, content, write } = await openFileAdapter();
  await write({ values: { t1: { "ui.banner": "before" } } });
  await apply(a);
  const edited = await content();
  edited.values.t1["ui.banner"] = "drifted";
  await write(edited);
  expect(await apply(a)).toBe("applied");
  expect(await verify(a)).toBe("applied");
  await rollback(a);
  expect((await content()).values.t1["ui.banner"]).toBe("before");
});

test("`changes` lists the owners and the latest 100; older ones are still known", async () => {
  const { apply, rollback, verify, content, write } = await openFileAdapter();
  const first = Array.from({ length: 3 }, (_, i) => change(`chg_first_${i}`));
  for (const each of first) await apply(each);
  const owner = change("chg_owner", { target: "limits.seats" });
  await apply(owner);
  await rollback(first[0]!);
  const otherTenantChanges = Array.from({ length: 120 }, (_, i) => change(`chg_${i}`, { tenant_id: "t2" }));
  for (const each of otherTenantChanges) await apply(each);

  const listed = Object.keys((await content()).changes);
  expect(listed).toEqual(["chg_first_2", "chg_owner", ...otherTenantChanges.slice(20).map((each) => each.change_id)]);
  const before = await content();
  // The list has only the last of `first`; the adapter's own records have all.
  expect(await Promise.all(first.map(verify))).toEqual(["rolled_back", "applied", "applied"]);
  expect([await apply(first[1]!), await rollback(first[0]!)]).toEqual(["applied", "superseded"]);
  expect(await content()).toEqual(before);

  expect(await rollback(first[2]!)).toBe("rolled_back");
  expect(await verify(first[1]!)).toBe("applied");
  const { values, changes } = await content();
  expect(values.t1["ui.banner"]).toBe("value of chg_first_1");
  expect(changes.chg_first_1).toEqual({
    kind: "config",
    target: "ui.banner",
    tenant_id: "t1",
    state: "applied",
    at: NOW_ISO,
  });
  expect(await rollback(otherTenantChanges[5]!)).toBe("superseded");
  expect(await verify(otherTenantChanges[5]!)).toBe("rolled_back");

  const other = { values: { t2: { "ui.banner": "by hand" } } };
  await write(other);
  expect(await rollback({ ...otherTenantChanges[6]!, status: "applied" })).toBe("superseded");
  await expect(rollback({ ...otherTenantChanges[119]!, status: "applied" })).rejects.toThrow(
    "holds neither what it set nor what was there before",
  );
  expect((await content()).values).toEqual(other.values);
});

describe("a file that lost an applied change", () => {
  /**
   * Applies chg_before and chg_lost to one target, and replaces the file's values. Of its `changes`, only those of `listed` remain.
   */
  const makeLostChange = async (values: object, listed: Change[] = []) => {
    const file = await openFileAdapter();
    const before = change("chg_before", { value: { limit: 100 } });
    const applied = change("chg_lost", { value: { limit: 200 }, status: "applied" });
    await file.apply(before);
    await file.apply(applied);
    const { changes, ...rest } = await file.content();
    const remaining = Object.fromEntries(listed.map(({ change_id }) => [change_id, changes[change_id]]));
    await file.write({ ...rest, values, changes: remaining });
    return { ...file, before, applied };
  };

  test("and has the change before it: a rollback restores the recorded value", async () => {
    const values = { t1: { "ui.banner": { limit: 200 } } };
    const { rollback, verify, content, applied } = await makeLostChange(values, [change("chg_before")]);
    expect(await rollback(applied)).toBe("rolled_back");
    expect((await content()).values).toEqual({ t1: { "ui.banner": { limit: 100 } } });
    expect(await verify(applied)).toBe("rolled_back");
  });

  test("and is from before it: a rollback only records itself", async () => {
    const { apply, rollback, verify, content, write } = await openFileAdapter();
    const [before, applied] = [change("chg_before"), change("chg_lost", { status: "applied" })];
    await apply(before);
    const backup = await content();
    await apply(applied);
    await write(backup);
    expect(await rollback(applied)).toBe("rolled_back");
    expect((await content()).values).toEqual(backup.values);
    expect([await verify(applied), await verify(before)]).toEqual(["rolled_back", "applied"]);
  });

  test("and its target had no owner before: a rollback restores the recorded value", async () => {
    const { apply, rollback, content, write } = await openFileAdapter();
    const applied = change("chg_lost", { status: "applied" });
    await write({ values: { t1: { "ui.banner": "by hand" } } });
    await apply(applied);
    await write({ ...(await content()), changes: {} });
    expect(await rollback(applied)).toBe("rolled_back");
    expect((await content()).values).toEqual({ t1: { "ui.banner": "by hand" } });
  });

  test.each([
    ["has no value", {}, [change("chg_before")]],
    ["has another value", { t1: { "ui.banner": { limit: 300 } } }, [change("chg_before")]],
  ])("and %s: the rollback fails, and the file stays as it is", async (_, values, listed) => {
    const { rollback, content, applied } = await makeLostChange(values, listed);
    const before = await content();
    await expect(rollback(applied)).rejects.toThrow("set by hand what was there before, and roll back again");
    expect(await content()).toEqual(before);
  });

  test("and a later change owns its target: a rollback keeps the later change", async () => {
    const { apply, rollback, content, applied } = await makeLostChange({ t1: { "ui.banner": { limit: 200 } } }, [
      change("chg_before"),
    ]);
    await apply(change("chg_later", { value: { limit: 300 } }));
    expect(await rollback(applied)).toBe("superseded");
    expect((await content()).values).toEqual({ t1: { "ui.banner": { limit: 300 } } });
  });

  test("and the adapter has no record: a rollback succeeds once the target is set by hand", async () => {
    const { adapter, write } = await openFileAdapter();
    const applied = change("chg_elsewhere", { status: "applied" });
    await write({ values: { t1: { "ui.banner": "x" } } });
    // Facts of the log, among them the digest of the value before the apply.
    const fromLog = async () => ({ superseded: false, digest: sha256('"y"'), isApplied: async () => false });
    await expect(adapter.rollback(applied, neverAborted)).rejects.toThrow(
      "what chg_elsewhere replaced is not on record",
    );
    await expect(adapter.rollback(applied, neverAborted, fromLog)).rejects.toThrow("set by hand what was there before");
    await write({ values: { t1: { "ui.banner": "y" } } });
    expect(await adapter.rollback(applied, neverAborted, fromLog)).toEqual({ result: "rolled_back" });
  });
});

/** Number of changes, above the hundred that the file lists. */
const CHAIN = rounds(150, 300, 1000);

test(`a chain of ${CHAIN} changes on one target, rolled back from the oldest`, { timeout: 60_000 }, async () => {
  const { apply, rollback, content } = await openFileAdapter({ files: unsyncedFiles });
  const chain = Array.from({ length: CHAIN }, (_, i) => change(`chg_${i}`, { value: i }));
  for (const each of chain) await apply(each);
  for (const each of chain.slice(0, -1)) expect(await rollback(each)).toBe("superseded");
  expect((await content()).values).toEqual({ t1: { "ui.banner": CHAIN - 1 } });
  expect(await rollback(chain.at(-1)!)).toBe("rolled_back");
  const { values, changes } = await content();
  expect(values).toEqual({});
  expect(Object.keys(changes)).toHaveLength(100);
});

inLong(test)("a chain longer than the file's list, rolled back from the newest", { timeout: 60_000 }, async () => {
  const { apply, rollback, content } = await openFileAdapter({ files: unsyncedFiles });
  const chain = Array.from({ length: 250 }, (_, i) => change(`chg_${i}`, { value: i }));
  for (const each of chain) await apply(each);
  for (const each of chain.slice(1).reverse()) {
    expect(await rollback(each)).toBe("rolled_back");
    expect((await content()).values).toEqual({ t1: { "ui.banner": (each.value as number) - 1 } });
  }
  await rollback(chain[0]!);
  expect((await content()).values).toEqual({});
});

test("validate previews what apply would set, and touches nothing", async () => {
  const { adapter, path, write, text } = await openFileAdapter();
  const common = { guard: "checked" };
  await write({ values: { t1: { "UI.Banner": "old" } } });
  const before = await text();
  expect(await adapter.validate(a, neverAborted)).toEqual({
    ok: true,
    preview: {
      ...common,
      place: `file ${path} ["t1","ui.banner"]`,
      before: "old",
      after: "value of chg_a",
      present_before: true,
    },
  });
  expect(await adapter.validate(change("chg_z", { tenant_id: "t2", value: undefined }), neverAborted)).toEqual({
    ok: true,
    preview: {
      ...common,
      place: `file ${path} ["t2","ui.banner"]`,
      before: null,
      after: null,
      present_before: false,
    },
  });
  expect(await text()).toBe(before);
});

test.each([
  ["an empty tenant", { tenant_id: "" }, /^tenant_id/],
  ["an empty target", { target: "" }, /^target/],
  ["a lone surrogate", { target: "\ud800" }, /^target/],
  ["a lone surrogate in the value", { value: { x: ["\udc00"] } }, /^value/],
  ["the number NaN", { value: Number.NaN }, /^value/],
  ["a value nested too deep", { value: JSON.parse(`${"[".repeat(65)}${"]".repeat(65)}`) }, /^value nests more than 64/],
])("%s is rejected, by apply too", async (_, overrides, reason) => {
  const { adapter, folder } = await openFileAdapter();
  const proposed = change("chg_x", overrides);
  expect(await adapter.validate(proposed, neverAborted)).toEqual({ ok: false, reason: expect.stringMatching(reason) });
  await expect(adapter.apply(proposed, neverAborted)).rejects.toThrow(/cannot hold the change/);
  expect(await readdir(folder)).toEqual([]);
});

test("another product's file is never written", async () => {
  const { adapter, write, text } = await openFileAdapter();
  await write({ product_id: "other-crm", values: {} });
  const before = await text();
  for (const operation of ["validate", "apply", "rollback"] as const)
    await expect(adapter[operation](a, neverAborted)).rejects.toThrow(
      /"product.json" belongs to another product than acme-crm/,
    );
  expect(await text()).toBe(before);
});

test("operations are serialized: fifty concurrent ones all succeed", async () => {
  const { apply, content } = await openFileAdapter();
  const many = Array.from({ length: 50 }, (_, i) => change(`chg_${i}`, { tenant_id: `t${i % 5}`, target: `x.${i}` }));
  await Promise.all(many.map(apply));
  const { revision, values, changes } = await content();
  expect(revision).toBe(50);
  expect(Object.keys(changes)).toHaveLength(50);
  expect(Object.values(values).flatMap((tenant) => Object.keys(tenant as object))).toHaveLength(50);
});

test("a failed operation does not stop the next", async () => {
  const { adapter, path, apply } = await openFileAdapter();
  await mkdir(path);
  const failed = adapter.apply(a, neverAborted);
  await expect(failed).rejects.toThrow(/it is a folder \(EISDIR\)/);
  await rm(path, { recursive: true });
  expect(await apply(a)).toBe("applied");
});

const readPrevious = async (apply: Promise<AdapterResult>) => (await apply).previous;

test("an apply returns the previous value of the target, also when it is repeated", async () => {
  const { adapter, write } = await openFileAdapter();
  await write({ values: { t1: { "UI.Banner": { by: "hand" } } } });
  const first = { value: { by: "hand" } };
  expect(await readPrevious(adapter.apply(a, neverAborted))).toEqual(first);
  expect(await readPrevious(adapter.apply(b, neverAborted))).toEqual({ value: "value of chg_a" });
  expect(await readPrevious(adapter.apply(a, neverAborted)), "superseded meanwhile").toEqual(first);
  expect(await readPrevious(adapter.apply(b, neverAborted))).toEqual({ value: "value of chg_a" });
});

test("nothing, null and a change that sets nothing are distinguished", async () => {
  const { adapter } = await openFileAdapter();
  expect(await readPrevious(adapter.apply(change("chg_a", { value: null }), neverAborted))).toBeNull();
  expect(await readPrevious(adapter.apply(b, neverAborted))).toEqual({ value: null });
  const without = change("chg_c", { value: undefined });
  expect(await readPrevious(adapter.apply(without, neverAborted))).toEqual({ value: "value of chg_b" });
  expect(
    await readPrevious(adapter.apply(without, neverAborted)),
    "a repetition has no previous value",
  ).toBeUndefined();
});

test("an apply after a rollback returns the previous value at that time", async () => {
  const { adapter } = await openFileAdapter();
  for (const each of [a, b]) await adapter.apply(each, neverAborted);
  await adapter.rollback(a, neverAborted);
  expect(await readPrevious(adapter.apply(a, neverAborted))).toEqual({ value: "value of chg_b" });
});
