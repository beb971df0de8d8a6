/** A rollback restores the value that the log says was replaced, whatever the adapter stores. */
import { expect, test } from "vitest";
import { memoryStore } from "../../../../lib/store/memory.ts";
import { type Core, core } from "../../../support/core.ts";
import { bench } from "./fixture.ts";

/** A service with the adapter on one store, and a target that two changes set. */
async function twice() {
  const store = memoryStore();
  const on = await bench({ store });
  const api = await core({ store, adapter: on.adapter });
  const set = (value: number) => api.bring("applied", { target: "price.limit", value: JSON.stringify(value) });
  return { api, on, store, first: await set(100), second: await set(200) };
}

/** Edits what the adapter keeps of a change. */
const edited = (api: Core, id: string, value: unknown): Promise<void> =>
  api.deps.store.transact(async (tx) => {
    const record = (await tx.get("effects", id))!.value;
    tx.put("effects", id, { ...record, previous: { ...record.previous!, value } });
  });

const limitIn = async ({ content }: Awaited<ReturnType<typeof bench>>) => (await content()).values.t1["price.limit"];

test("a rollback does not restore an edited record of the previous value", async () => {
  const { api, on, second } = await twice();
  await edited(api, second, 999_999);
  expect(await api.act("rollback", second)).toMatchObject({ status: 502, body: { code: "adapter_failed" } });
  expect(await limitIn(on)).toBe(200);
  const entry = (await api.audit()).at(-1);
  expect(entry).toMatchObject({ event_type: "change_rollback_failed", change_id: second });
  expect(entry.detail).toContain("was edited");
});

test("an edited record of an earlier change is not restored after that change was rolled back", async () => {
  const { api, on, first, second } = await twice();
  await edited(api, first, 999_999);
  await api.must("rollback", first);
  expect((await api.act("rollback", second)).status).toBe(502);
  expect(await limitIn(on)).toBe(200);
});

test("a rollback restores the newest value that is unedited and not rolled back", async () => {
  const { api, on, first, second } = await twice();
  await api.must("rollback", first);
  expect((await api.must("rollback", second)).status).toBe("rolled_back");
  expect((await on.content()).values?.t1?.["price.limit"]).toBeUndefined();
});
