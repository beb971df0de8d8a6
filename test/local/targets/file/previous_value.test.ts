/** A rollback restores only a previous value that matches its digest in the log. */
import { expect, test } from "vitest";
import { memoryStore } from "../../../../lib/store/memory.ts";
import { type Core, core } from "../../../support/core.ts";
import { openFileAdapter } from "./open_file_adapter.ts";

/** Opens a service with the file adapter, and applies two changes to one target. */
async function applyTwice() {
  const store = memoryStore();
  const target = await openFileAdapter({ store });
  const api = await core({ store, adapter: target.adapter });
  const set = (value: number) => api.bring("applied", { target: "price.limit", value: JSON.stringify(value) });
  return { api, target, store, first: await set(100), second: await set(200) };
}

/** Edits the adapter's record of a change's previous value. */
const editRecord = (api: Core, id: string, value: unknown): Promise<void> =>
  api.deps.store.transact(async (tx) => {
    const record = (await tx.get("effects", id))!.value;
    tx.put("effects", id, { ...record, previous: { ...record.previous!, value } });
  });

const readLimit = async ({ content }: Awaited<ReturnType<typeof openFileAdapter>>) =>
  (await content()).values.t1["price.limit"];

test("a rollback does not restore an edited record of the previous value", async () => {
  const { api, target, second } = await applyTwice();
  await editRecord(api, second, 999_999);
  expect(await api.act("rollback", second)).toMatchObject({ status: 502, body: { code: "adapter_failed" } });
  expect(await readLimit(target)).toBe(200);
  const entry = (await api.audit()).at(-1);
  expect(entry).toMatchObject({ event_type: "change_rollback_failed", change_id: second });
  expect(entry.detail).toContain("was edited");
});

test("an edited record of an earlier change is not restored after that change was rolled back", async () => {
  const { api, target, first, second } = await applyTwice();
  await editRecord(api, first, 999_999);
  // From now on a rollback of `second` restores what `first` replaced.
  await api.must("rollback", first);
  expect((await api.act("rollback", second)).status).toBe(502);
  expect(await readLimit(target)).toBe(200);
});

test("after the rollback of both changes, the earlier one first, the target has no value", async () => {
  const { api, target, first, second } = await applyTwice();
  await api.must("rollback", first);
  expect((await api.must("rollback", second)).status).toBe("rolled_back");
  expect((await target.content()).values?.t1?.["price.limit"]).toBeUndefined();
});
