/** The store in a Durable Object, in workerd: the contract of all stores, its own cases, and data after resets and restarts. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Miniflare } from "miniflare";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { RevisionConflict } from "../../../lib/store/store.ts";
import type { AnyStore, AnyTx } from "../../contract/any_store.ts";
import { runCase, type StoreCase, storeCases } from "../../contract/store_cases.ts";
import { bundleWorker } from "../../support/worker/build.ts";
import { brokenStorages } from "../../support/worker/broken_storages.ts";
import { objectCases } from "../../support/worker/object_cases.ts";
import type { StoreRequest, Write } from "../../support/worker/store_worker.ts";

let folder: string;
let script: string;
let workerd: Miniflare;

const startWorkerd = (): Miniflare =>
  new Miniflare({
    modules: true,
    script,
    compatibilityDate: "2026-04-01",
    durableObjects: { OBJECTS: { className: "StoreObject", useSQLite: true } },
    durableObjectsPersist: folder,
  });

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "countersign-objects-"));
  script = await bundleWorker("test/support/worker/store_worker.ts");
  workerd = startWorkerd();
});
afterAll(async () => {
  await workerd.dispose();
  await rm(folder, { recursive: true, force: true });
});

let objectCount = 0;
const nextObject = (): string => `object-${++objectCount}`;

/** Sends a request to an object, and returns its answer. */
async function ask<T>(object: string, request: StoreRequest): Promise<T> {
  const response = await workerd.dispatchFetch(`http://worker/${object}`, {
    method: "POST",
    body: JSON.stringify(request),
  });
  const text = await response.text();
  if (!response.ok) throw new Error(text);
  const reply = JSON.parse(text) as { answer: T; conflict?: string };
  if (reply.conflict !== undefined) throw new RevisionConflict(reply.conflict, "", 0, 0);
  return reply.answer;
}

/** Resets the object, as the runtime does when it moves or fails: the next request creates a new object on the stored data. */
async function reset(object: string): Promise<void> {
  const before = await ask<string>(object, { ask: "instance" });
  const response = await workerd.dispatchFetch(`http://worker/${object}`, { method: "DELETE" }).catch(() => undefined);
  expect(response?.ok ?? false).toBe(false);
  expect(await ask<string>(object, { ask: "instance" })).not.toBe(before);
}

/** Starts another process on the same disk. */
async function restart(): Promise<void> {
  await workerd.dispose();
  workerd = startWorkerd();
}

// Cases that need `stall` read during a commit, and reads of this store wait for the commit. Cases that need `another` use a
// second process, and the storage of an object belongs to one process.
const canRunInObject = ({ needs }: StoreCase): boolean => needs !== "stall" && needs !== "another";

describe("the Durable Object store follows the store contract", () => {
  test.each(storeCases.filter(canRunInObject).map(({ name }) => name))("%s", async (name) => {
    // A failed case answers with its error.
    expect(await ask(nextObject(), { ask: "run", name })).toBeNull();
  });
});

describe("the Durable Object store", () => {
  test.each(Object.keys(objectCases))("%s", async (name) => {
    await ask(nextObject(), { ask: "own", name });
  });
});

describe("the cases that run in the object detect the fault:", () => {
  const failedNames = new Set<string>();

  // Each rule is broken by one of these stores; test/lib/store/contract.long.test.ts has all broken stores.
  test.each([
    "put does nothing",
    "absent records are null",
    "returned values are not frozen",
    "the result of a decision is lost",
    "errors of a decision are wrapped",
    "each transaction has a sync of its own",
    "transactions resolve before they are durable",
    "everything is forgotten when reopened",
    "another process has records of its own",
  ])("%s", async (store) => {
    const failed = await ask<string[]>(nextObject(), { ask: "failures", store });
    expect(failed).not.toEqual([]);
    for (const name of failed) failedNames.add(name);
  });

  test("each case fails for a broken store", () => {
    expect(storeCases.map(({ name }) => name).filter((name) => !failedNames.has(name))).toEqual([]);
  });

  test.each([
    ["puts do nothing", "a record is found under its own id and collection only"],
    ["deletes are not remembered", "revisions do not restart after a delete"],
    ["pages are in the order they came", "a list is in order of ids, whatever order they were put in"],
    ["pages have no end", "limit bounds a list, and must be a whole number of 0 or more"],
  ])("in the storage %s", async (storage, name) => {
    expect(Object.keys(brokenStorages)).toContain(storage);
    expect(await ask(nextObject(), { ask: "run", name, storage })).toMatch(/Disagreement|Error/);
  });
});

const rejectRead = (): never => {
  throw new Error("this store is for decisions that read nothing");
};

/** Returns a store over HTTP for decisions that read nothing: the object executes their writes in a transaction. */
function remoteStore(object: string): AnyStore {
  return {
    get: async (collection, id) => (await ask(object, { ask: "get", collection, id })) ?? undefined,
    getMany: rejectRead,
    list: (collection, { limit }) => ask(object, { ask: "list", collection, limit }),
    texts: rejectRead,
    async transact(decide) {
      const writes: Write[] = [];
      const tx: AnyTx = {
        get: rejectRead,
        getMany: rejectRead,
        list: rejectRead,
        texts: rejectRead,
        put: (collection, id, value, expected) =>
          void writes.push({ collection, id, value, ...withExpected(expected as number) }),
        delete: (collection, id, expected) => void writes.push({ collection, id, ...withExpected(expected) }),
      };
      const result = await decide(tx);
      await ask(object, { ask: "write", writes });
      return result;
    },
    close: async () => undefined,
  };
}

const withExpected = (expected: number | undefined) => (expected === undefined ? {} : { expected });

describe("acknowledged writes exist", () => {
  const reopenCase = storeCases.find(({ needs }) => needs === "reopen")!;

  test.each<[string, (object: string) => Promise<void>]>([
    ["after a reset of the object", reset],
    ["after a restart of the process", restart],
  ])("%s", async (_, loseMemory) => {
    const object = nextObject();
    await runCase(reopenCase, async () => ({
      store: remoteStore(object),
      async reopen() {
        await loseMemory(object);
        return remoteStore(object);
      },
    }));
  });
});
