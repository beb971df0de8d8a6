/** Compares random applies and rollbacks, some of them interrupted at the rename, with a simple model. */
import * as fs from "node:fs/promises";
import { expect, test } from "vitest";
import type { Change } from "../../../../lib/changes/rules/change.ts";
import type { Files } from "../../../../local/targets/atomic_file.ts";
import { dice } from "../../../support/dice.ts";
import { openFileAdapter, neverAborted, change, unsyncedFiles } from "./open_file_adapter.ts";

/** Keeps the applied changes of each target in order, and the end state of each change. */
function createModel(base: Record<string, Record<string, unknown>>) {
  const stacks = new Map<string, Change[]>();
  const endStates = new Map<Change, "rolled_back" | "superseded">();
  const stackOf = (target: Change) => {
    // Changes without a value set nothing, so they do not cover changes with one.
    const slot = JSON.stringify([target.tenant_id, target.target.toLowerCase(), target.value !== undefined]);
    return stacks.get(slot) ?? stacks.set(slot, []).get(slot)!;
  };
  const isApplied = (target: Change) => stackOf(target).includes(target);
  return {
    isRepeated: (target: Change, operation: "apply" | "rollback") =>
      operation === "apply" ? isApplied(target) : endStates.has(target),
    apply(target: Change) {
      if (!isApplied(target)) stackOf(target).push(target);
      endStates.delete(target);
      return "applied";
    },
    rollback(target: Change) {
      const stack = stackOf(target);
      const result =
        endStates.get(target) ?? (isApplied(target) && stack.at(-1) !== target ? "superseded" : "rolled_back");
      if (isApplied(target)) stack.splice(stack.indexOf(target), 1);
      endStates.set(target, result);
      return result;
    },
    state: (target: Change) => (isApplied(target) ? "applied" : endStates.has(target) ? "rolled_back" : "absent"),
    values() {
      const values = structuredClone(base);
      for (const owner of [...stacks.values()].map((changes) => changes.at(-1)))
        if (owner?.value !== undefined) (values[owner.tenant_id] ??= {})[owner.target.toLowerCase()] = owner.value;
      return values;
    },
  };
}

test.each([1, 2, 3, 4, 5, 6])(
  "the file matches the model after random operations (seed %i)",
  { timeout: 60_000 },
  async (seed) => {
    let cutAt: "before" | "after" | undefined;
    const cuttingFiles: Files = {
      ...unsyncedFiles,
      async rename(from, to) {
        if (cutAt === "before") throw new Error("interrupted");
        await fs.rename(from, to);
        if (cutAt === "after") throw new Error("interrupted");
      },
    };
    const { open, write, content } = await openFileAdapter();
    const base = { t1: { "ui.banner": "by hand" }, t3: {} };
    await write({ values: base });
    const randomBelow = dice(seed);
    const pool = Array.from({ length: 200 }, (_, i) =>
      change(`chg_${i}`, {
        tenant_id: ["t1", "t2", "t3"][randomBelow(3)]!,
        target: ["ui.banner", "UI.Banner", "limits.seats", "limits.SEATS"][randomBelow(4)]!,
        value: randomBelow(6) === 0 ? undefined : randomBelow(1000),
      }),
    );
    const expected = createModel(base);
    let adapter = open({ files: cuttingFiles });
    for (let i = 0; i < 600; i++) {
      // Odd seeds use few changes, so that operations on them repeat.
      const selected = pool[randomBelow(seed % 2 === 0 ? 200 : 12)]!;
      const operation = randomBelow(2) === 0 ? "apply" : "rollback";
      cutAt = ([undefined, undefined, undefined, "before", "after"] as const)[randomBelow(5)];
      // A repeated operation writes nothing, so it cannot be cut.
      const isRepeated = expected.isRepeated(selected, operation);
      const outcome = await adapter[operation](selected, neverAborted).then(
        ({ result }) => result,
        () => "cut",
      );
      expect(outcome).toBe(cutAt === undefined || isRepeated ? expected[operation](selected) : "cut");
      if (cutAt === "after" && !isRepeated) expected[operation](selected);
      if (cutAt !== undefined) adapter = open({ files: cuttingFiles });

      expect(await adapter.verify(selected, neverAborted)).toBe(expected.state(selected));
      const { values } = await content();
      const lowerCased = Object.entries(values).map(([tenant, tenantValues]) => [
        tenant,
        Object.fromEntries(Object.entries(tenantValues as object).map(([key, value]) => [key.toLowerCase(), value])),
      ]);
      expect(Object.fromEntries(lowerCased)).toEqual(expected.values());
    }
    expect(await Promise.all(pool.map((each) => adapter.verify(each, neverAborted)))).toEqual(pool.map(expected.state));
    cutAt = undefined;
    for (const each of pool) if (expected.state(each) === "applied") await adapter.rollback(each, neverAborted);
    expect((await content()).values).toEqual(base);
  },
);
