/** Random edits of the stored previous values: a rollback restores what the log says was replaced, or nothing. */
import { expect, test } from "vitest";
import type { EffectRecord } from "../../lib/targets/effects.ts";
import { memoryStore } from "../../lib/store/memory.ts";
import { bench } from "../local/targets/file/fixture.ts";
import { core } from "../support/core.ts";
import { LONG, rounds } from "../support/length.ts";
import { numbers } from "../support/numbers.ts";

const STACK = 4;

/** Edits of a record; `other` is the record of another change. */
const FORGERIES: ((record: EffectRecord, other: EffectRecord) => EffectRecord)[] = [
  (record) => ({ ...record, previous: { ...record.previous!, value: 999_999 } }),
  (record) => ({ ...record, previous: { version: "absent" } }),
  (record) => ({ ...record, previous: { ...record.previous!, value: null } }),
  (record) => ({ ...record, previous: { ...record.previous!, raw: "999999" } }),
  (record, other) => ({ ...record, previous: other.previous }),
  (_, other) => other,
  (record, { replaced }) => ({ ...record, replaced }),
  (record, { superseded_by }) => ({ ...record, superseded_by }),
  ({ previous: _, ...record }) => record,
  (record) => ({ ...record, state: "rolled_back" }),
  (record) => ({ ...record, state: "rolling_back" }),
];

test.each(Array.from({ length: rounds(5, 15, 100) }, (_, seed) => (LONG ? 1000 : 0) + seed))(
  "attack %i",
  async (seed) => {
    const pick = numbers(seed * 2_654_435_761);
    const store = memoryStore();
    const on = await bench({ store });
    const api = await core({ store, adapter: on.adapter });
    const shown = async () => (await on.content()).values?.t1?.["price.limit"];
    const stack: { id: string; before: unknown }[] = [];
    for (let value = 1; value <= STACK; value++) {
      const before = value === 1 ? undefined : (value - 1) * 100;
      stack.push({
        id: await api.bring("applied", { target: "price.limit", value: JSON.stringify(value * 100) }),
        before,
      });
    }
    const [at, other] = [pick(STACK), pick(STACK)];
    await store.transact(async (tx) => {
      const [record, another] = await tx.getMany("effects", [stack[at]!.id, stack[other]!.id]);
      tx.put("effects", stack[at]!.id, FORGERIES[pick(FORGERIES.length)]!(record!.value, another!.value));
    });
    // Newest first, each puts back what was there before it; of one that was forged, that or nothing.
    for (let top = STACK - 1; top >= 0; top--) {
      const held = await shown();
      const { status, text } = await api.act("rollback", stack[top]!.id);
      if (top !== at) expect([status, text]).toEqual([200, expect.any(String)]);
      expect(await shown(), `rollback of change ${top + 1}: ${text}`).toEqual(
        status === 200 ? stack[top]!.before : held,
      );
      if (status !== 200) return;
    }
  },
);
