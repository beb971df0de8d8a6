/** Temporary read failures of the log: they are not a breach, and the next verification succeeds. */
import { join } from "node:path";
import { expect, test } from "vitest";
import { memoryStore } from "../../../lib/store/memory.ts";
import { RecordDamaged, type Store } from "../../../lib/store/store.ts";
import { PROPOSAL } from "../../support/client.ts";
import { nodeFiles } from "../../../local/store/files.ts";
import { withFaults, systemError } from "../../local/store/faulty_files.ts";
import { openTestStore, temporaryFolder } from "../../local/store/open_test_store.ts";
import { service } from "../../support/service.ts";

/** Creates a store whose reads of the log fail while an error is set. */
function createStoreWithFailingReads() {
  const memory = memoryStore();
  let failure: Error | undefined;
  const unlessFailing = <T>(collection: string, read: () => Promise<T>): Promise<T> =>
    failure && collection === "audit" ? Promise.reject(failure) : read();
  const store: Store = {
    ...memory,
    get: (collection, id) => unlessFailing(collection, () => memory.get(collection, id)),
    list: (collection, options) => unlessFailing(collection, () => memory.list(collection, options)),
  };
  return { store, fail: (error?: Error) => void (failure = error) };
}

test.each(["EIO", "ENOMEM", "ETIMEDOUT"])("reads that fail with %s are not reported as a breach", async (code) => {
  const { store, fail } = createStoreWithFailingReads();
  const api = await service({ store });
  await api.propose();
  fail(systemError(code));
  expect((await api.get("audit/verify")).status).toBeGreaterThanOrEqual(500);
  fail();
  expect(api.deps.integrity.breach).toBeUndefined();
  expect(await store.get("meta", "breach")).toBeUndefined();
  expect((await api.get("audit/verify")).body).toMatchObject({ valid: true });
  expect((await api.post("propose", PROPOSAL)).status).toBe(201);
});

test.each(["EIO", "ENOMEM"])(
  "a journal whose reads fail with %s is 503 store_unavailable, not a breach",
  async (code) => {
    let isFailing = false;
    const files = withFaults(nodeFiles, (call) => (isFailing && call === "read" ? systemError(code) : undefined));
    const store = (await openTestStore(join(await temporaryFolder(), "state.json"), { files })) as unknown as Store;
    const api = await service({ store });
    await api.propose();
    isFailing = true;
    const reply = await api.get("audit/verify");
    expect(reply).toMatchObject({ status: 503, body: { code: "store_unavailable" } });
    expect(reply.body.error).toBe(
      `the store cannot be read now: ${code}; nothing was changed; try again, and see the service's log where it lasts`,
    );
    isFailing = false;
    expect(await store.get("meta", "breach")).toBeUndefined();
    expect((await api.get("audit/verify")).body).toMatchObject({ valid: true });
    expect((await api.post("propose", PROPOSAL)).status).toBe(201);
  },
);

test("a read that fails because a record is damaged is a breach", async () => {
  const { store, fail } = createStoreWithFailingReads();
  const api = await service({ store });
  await api.propose();
  fail(new RecordDamaged("a record is not where the journal had it"));
  expect((await api.get("audit/verify")).body).toMatchObject({ valid: false, first_invalid: 1 });
  expect(api.deps.integrity.breach).toBeDefined();
});
