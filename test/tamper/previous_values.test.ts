/** Random attacks on what the file adapter keeps of what was there before: a rollback puts back what the log tells of, or nothing. */
import { expect, test } from "vitest";
import { memoryStore } from "../../lib/store/memory.ts";
import { bench } from "../local/file_adapter/fixture.ts";
import { core } from "../support/core.ts";
import { LONG } from "../support/length.ts";
import { numbers } from "../support/numbers.ts";

interface Kept {
  sets: boolean;
  previous: { present: boolean; value?: unknown; owner?: object | undefined };
}

const STACK = 4;
const adapter = "adapter" as never;
const keyOf = (id: string): string => `application/${id}`;

/** What may be done to a record; `other` is that of another change. */
const FORGERIES: ((kept: Kept, other: Kept) => Kept)[] = [
  (kept) => ({ ...kept, previous: { ...kept.previous, present: true, value: 999_999 } }),
  (kept) => ({ ...kept, previous: { present: false } }),
  (kept) => ({ ...kept, previous: { present: true, value: null } }),
  (kept, other) => ({ ...kept, previous: other.previous }),
  (_, other) => other,
  (kept) => ({ ...kept, sets: false }),
  (kept, { previous: { owner } }) => ({ ...kept, previous: { ...kept.previous, owner } }),
  ({ previous: { owner: _, ...previous }, ...kept }) => ({ ...kept, previous }),
];

test.each(Array.from({ length: LONG ? 100 : 5 }, (_, seed) => (LONG ? 1000 : 0) + seed))("attack %i", async (seed) => {
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
    const [kept, another] = (await tx.getMany(adapter, [keyOf(stack[at]!.id), keyOf(stack[other]!.id)])) as unknown as {
      value: Kept;
    }[];
    tx.put(adapter, keyOf(stack[at]!.id), FORGERIES[pick(FORGERIES.length)]!(kept!.value, another!.value) as never);
  });
  // Newest first, each puts back what was there before it; of one that was forged, that or nothing.
  for (let top = STACK - 1; top >= 0; top--) {
    const held = await shown();
    const { status, text } = await api.act("rollback", stack[top]!.id);
    if (top !== at) expect([status, text]).toEqual([200, expect.any(String)]);
    expect(await shown(), `rollback of change ${top + 1}: ${text}`).toEqual(status === 200 ? stack[top]!.before : held);
    if (status !== 200) return;
  }
});
