/** Random applies and rollbacks, some of them cut off at the rename, against a model of a few lines. */
import * as fs from "node:fs/promises";
import { expect, test } from "vitest";
import type { Change } from "../../../../lib/changes/rules/change.ts";
import type { Files } from "../../../../local/targets/atomic_file.ts";
import { dice } from "../../../support/dice.ts";
import { bench, calm, change, unsynced } from "./fixture.ts";

/** Invariants: the applied changes of each target in order, and how each change ended. */
function model(base: Record<string, Record<string, unknown>>) {
  const stacks = new Map<string, Change[]>();
  const ended = new Map<Change, "rolled_back" | "superseded">();
  const stack = (one: Change) => {
    const slot = JSON.stringify([one.tenant_id, one.target.toLowerCase(), one.value !== undefined]);
    return stacks.get(slot) ?? stacks.set(slot, []).get(slot)!;
  };
  const applied = (one: Change) => stack(one).includes(one);
  return {
    settled: (one: Change, operation: "apply" | "rollback") => (operation === "apply" ? applied(one) : ended.has(one)),
    apply(one: Change) {
      if (!applied(one)) stack(one).push(one);
      ended.delete(one);
      return "applied";
    },
    rollback(one: Change) {
      const rest = stack(one);
      const result = ended.get(one) ?? (applied(one) && rest.at(-1) !== one ? "superseded" : "rolled_back");
      if (applied(one)) rest.splice(rest.indexOf(one), 1);
      ended.set(one, result);
      return result;
    },
    state: (one: Change) => (applied(one) ? "applied" : ended.has(one) ? "rolled_back" : "absent"),
    values() {
      const values = structuredClone(base);
      for (const owner of [...stacks.values()].map((changes) => changes.at(-1)))
        if (owner?.value !== undefined) (values[owner.tenant_id] ??= {})[owner.target.toLowerCase()] = owner.value;
      return values;
    },
  };
}

test.each([1, 2, 3, 4, 5, 6])("seed %i", { timeout: 60_000 }, async (seed) => {
  let cut: "before" | "after" | undefined;
  const cutting: Files = {
    ...unsynced,
    async rename(from, to) {
      if (cut === "before") throw new Error("cut off");
      await fs.rename(from, to);
      if (cut === "after") throw new Error("cut off");
    },
  };
  const { open, write, content } = await bench();
  const base = { t1: { "ui.banner": "by hand" }, t3: {} };
  await write({ values: base });
  const roll = dice(seed);
  const pool = Array.from({ length: 200 }, (_, i) =>
    change(`chg_${i}`, {
      tenant_id: ["t1", "t2", "t3"][roll(3)]!,
      target: ["ui.banner", "UI.Banner", "limits.seats", "limits.SEATS"][roll(4)]!,
      value: roll(6) === 0 ? undefined : roll(1000),
    }),
  );
  const expected = model(base);
  let adapter = open({ files: cutting });
  for (let i = 0; i < 600; i++) {
    const one = pool[roll(seed % 2 === 0 ? 200 : 12)]!;
    const operation = roll(2) === 0 ? "apply" : "rollback";
    cut = ([undefined, undefined, undefined, "before", "after"] as const)[roll(5)];
    const settled = expected.settled(one, operation);
    const outcome = await adapter[operation](one, calm).then(
      ({ result }) => result,
      () => "cut",
    );
    expect(outcome).toBe(cut === undefined || settled ? expected[operation](one) : "cut");
    if (cut === "after" && !settled) expected[operation](one);
    if (cut !== undefined) adapter = open({ files: cutting });

    expect(await adapter.verify(one, calm)).toBe(expected.state(one));
    const { values } = await content();
    const spelled = Object.entries(values).map(([tenant, held]) => [
      tenant,
      Object.fromEntries(Object.entries(held as object).map(([key, value]) => [key.toLowerCase(), value])),
    ]);
    expect(Object.fromEntries(spelled)).toEqual(expected.values());
  }
  expect(await Promise.all(pool.map((one) => adapter.verify(one, calm)))).toEqual(pool.map(expected.state));
  cut = undefined;
  for (const one of pool) if (expected.state(one) === "applied") await adapter.rollback(one, calm);
  expect((await content()).values).toEqual(base);
});
