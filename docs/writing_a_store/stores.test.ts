// stores.test.ts
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { runStoreCase, storeCases } from "countersign/testing";
import { type Bucket, bucketStore } from "./bucket_store.js";
import { oneFileStore } from "./one_file_store.js";

/** Stands for a bucket. */
function bucketInMemory(): Bucket {
  let object: { text: string; version: string } | undefined;
  let writes = 0;
  return {
    read: async () => object,
    async write(text, version) {
      if (object?.version !== version) return undefined;
      object = { text, version: `${++writes}` };
      return object.version;
    },
  };
}

for (const storeCase of storeCases) {
  const { name, needs } = storeCase;
  if (!needs || needs === "reopen")
    test(`a file: ${name}`, () =>
      runStoreCase(storeCase, async () => {
        const folder = await mkdtemp(join(tmpdir(), "store-"));
        const path = join(folder, "records.json");
        const store = await oneFileStore(path);
        return {
          store,
          reopen: async () => (await store.close(), oneFileStore(path)),
          dispose: () => rm(folder, { recursive: true }),
        };
      }));
  if (!needs || needs === "another")
    test(`a bucket: ${name}`, () => {
      const bucket = bucketInMemory();
      return runStoreCase(storeCase, async () => ({
        store: bucketStore(bucket),
        another: async () => bucketStore(bucket),
      }));
    });
}
