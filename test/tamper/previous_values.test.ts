/** Random edits of the stored previous values: a rollback restores the value recorded in the log, or nothing. */
import { expect, test } from "vitest";
import type { EffectRecord } from "../../lib/targets/effects.ts";
import { memoryStore } from "../../lib/store/memory.ts";
import { openFileAdapter } from "../local/targets/file/open_file_adapter.ts";
import { core } from "../support/core.ts";
import { LONG, rounds } from "../support/run_length.ts";
import { seededIntegers } from "../support/seeded_integers.ts";

/** Number of changes that are applied to the target one after another. */
const STACK_SIZE = 4;

/** Forged records, from the true record and that of another change. */
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

// The long run has other seeds than the short one.
test.each(Array.from({ length: rounds(5, 15, 100) }, (_, seed) => (LONG ? 1000 : 0) + seed))(
  "rollbacks never restore a forged previous value: seed %i",
  async (seed) => {
    // The factor makes generators of adjacent seeds start far apart.
    const pick = seededIntegers(seed * 2_654_435_761);
    const store = memoryStore();
    const target = await openFileAdapter({ store });
    const api = await core({ store, adapter: target.adapter });
    const readValue = async () => (await target.content()).values?.t1?.["price.limit"];
    const stack: { id: string; before: unknown }[] = [];
    for (let value = 1; value <= STACK_SIZE; value++) {
      const before = value === 1 ? undefined : (value - 1) * 100;
      stack.push({
        id: await api.bring("applied", { target: "price.limit", value: JSON.stringify(value * 100) }),
        before,
      });
    }
    const [forged, other] = [pick(STACK_SIZE), pick(STACK_SIZE)];
    await store.transact(async (tx) => {
      const [record, another] = await tx.getMany("effects", [stack[forged]!.id, stack[other]!.id]);
      tx.put("effects", stack[forged]!.id, FORGERIES[pick(FORGERIES.length)]!(record!.value, another!.value));
    });
    // Newest first, each rollback restores the value before its change; a rollback of the forged change may be rejected.
    for (let top = STACK_SIZE - 1; top >= 0; top--) {
      const current = await readValue();
      const { status, text } = await api.act("rollback", stack[top]!.id);
      if (top !== forged) expect([status, text]).toEqual([200, expect.any(String)]);
      expect(await readValue(), `rollback of change ${top + 1}: ${text}`).toEqual(
        status === 200 ? stack[top]!.before : current,
      );
      if (status !== 200) return;
    }
  },
);
