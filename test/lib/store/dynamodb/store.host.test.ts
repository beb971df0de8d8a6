/** The store in DynamoDB: the contract of all stores, several writers, and its requests; skipped without a local server. */
import { afterAll, describe, expect, test } from "vitest";
import { createTable, dynamoDbStore, type DynamoDbOptions } from "../../../../lib/store/dynamodb/store.ts";
import type { AnyStore } from "../../../contract/any_store.ts";
import type { Subject } from "../../../contract/store_cases.ts";
import { storeContract } from "../../../contract/store_contract.ts";
import { put } from "../../../contract/store_records.ts";
import { type DynamoDbServer, startDynamoDb } from "../../../support/dynamodb_server.ts";
import { seededIntegers } from "../../../support/seeded_integers.ts";
import { makeBarrier } from "../../../support/scripted_adapter.ts";

const server = await startDynamoDb();
afterAll(() => server?.stop());
const onDynamoDb = server ? test : test.skip;
let tableCount = 0;

async function createFreshTable(): Promise<DynamoDbOptions> {
  const access = (server as DynamoDbServer).access(`table-${++tableCount}`);
  await createTable(access);
  return access;
}

const readOperation = (init: RequestInit | undefined): string =>
  new Headers(init?.headers).get("x-amz-target")!.replace("DynamoDB_20120810.", "");

async function makeSubject(): Promise<Subject> {
  const access = await createFreshTable();
  let commits = 0;
  let commitGate: Promise<unknown> = Promise.resolve();
  const countCommits: typeof fetch = async (url, init) => {
    if (readOperation(init) === "TransactWriteItems") {
      commits++;
      await commitGate;
    }
    return fetch(url, init);
  };
  const open = (): AnyStore => dynamoDbStore({ ...access, fetch: countCommits });
  const stores = [open()];
  return {
    store: stores[0]!,
    another: async () => open(),
    async reopen() {
      await stores.at(-1)!.close();
      stores.push(open());
      return stores.at(-1)!;
    },
    stall() {
      const { opened, open: release } = makeBarrier();
      commitGate = opened;
      return release;
    },
    syncs: () => commits,
    dispose: () => stores.at(-1)!.close(),
  };
}

if (server) storeContract("the DynamoDB store", makeSubject, ["another", "reopen", "stall", "syncs"]);

describe("several writers on one DynamoDB table", () => {
  onDynamoDb("return each number from 1 to 120 once for 120 concurrent increments", async () => {
    const access = await createFreshTable();
    const stores = [1, 2, 3].map(() => dynamoDbStore(access));
    const increment = (store: AnyStore) =>
      store.transact(async (tx) => {
        const next = ((await tx.get("counters", "n"))?.value ?? 0) + 1;
        tx.put("counters", "n", next);
        return next;
      });
    const numbers = await Promise.all(Array.from({ length: 120 }, (_, index) => increment(stores[index % 3]!)));
    expect([...numbers].sort((a, b) => a - b)).toEqual(numbers.map((_, index) => index + 1));
  });

  onDynamoDb("let a decision without writes see one consistent state during concurrent writes", async () => {
    const access = await createFreshTable();
    const [reader, writer]: [AnyStore, AnyStore] = [dynamoDbStore(access), dynamoDbStore(access)];
    const writeBoth = (value: number) =>
      writer.transact((tx) => (tx.put("things", "a", value), tx.put("things", "b", value)));
    await writeBoth(1);
    let runs = 0;
    const values = await reader.transact(async (tx) => {
      const a = (await tx.get("things", "a"))?.value;
      if (++runs === 1) await writeBoth(2);
      return [a, (await tx.get("things", "b"))?.value, ...(await tx.list("things", { limit: 9 })).map((s) => s.value)];
    });
    expect(values).toEqual([2, 2, 2, 2]);
    expect(runs).toBe(2);
  });

  onDynamoDb("run a decision again if it failed because of outdated records", async () => {
    const access = await createFreshTable();
    const [store, other]: [AnyStore, AnyStore] = [dynamoDbStore(access), dynamoDbStore(access)];
    let runs = 0;
    const decided = store.transact(async (tx) => {
      const missing = !(await tx.get("things", "a"));
      if (++runs === 1) await put(other, "things", "a", 1);
      if (missing) throw new Error("there is no a");
      return "found";
    });
    expect(await decided).toBe("found");
  });
});

/** Creates a random text that does not compress well. */
function incompressible(length: number): string {
  const next = seededIntegers(length);
  return Array.from({ length }, () => next(65_536).toString(36).at(-1)).join("");
}

describe("the DynamoDB store", () => {
  onDynamoDb("combines no cached record with a newer record in a decision without writes", async () => {
    const access = await createFreshTable();
    // The id "b" as it is in requests: bytes in base64.
    const ID_B = '"B":"Yg=="';
    let concurrentWrite: (() => Promise<unknown>) | undefined;
    const runBeforeRead: typeof fetch = async (url, init) => {
      const work = String(init?.body).includes(ID_B) ? concurrentWrite : undefined;
      if (work) concurrentWrite = undefined;
      await work?.();
      return fetch(url, init);
    };
    const [store, other]: [AnyStore, AnyStore] = [
      dynamoDbStore({ ...access, fetch: runBeforeRead }),
      dynamoDbStore(access),
    ];
    await other.transact((tx) => (tx.put("things", "a", 1), tx.put("things", "b", 1)));
    // The store now caches `a`; both records change before it requests `b`.
    await store.transact((tx) => tx.get("things", "a"));
    concurrentWrite = () => other.transact((tx) => (tx.put("things", "a", 2), tx.put("things", "b", 2)));
    const values = await store.transact(async (tx) => {
      const first = (await tx.get("things", "a"))?.value;
      return [first, (await tx.get("things", "b"))?.value];
    });
    expect(values).toEqual([2, 2]);
  });

  onDynamoDb("reads pages of more than 1 MB, the limit of one response", async () => {
    const store: AnyStore = dynamoDbStore(await createFreshTable());
    for (let index = 0; index < 8; index++) await put(store, "things", `r${index}`, incompressible(300_000));
    const page = await store.list("things", { limit: 7, reverse: true });
    expect(page.map(({ id }) => id)).toEqual(["r7", "r6", "r5", "r4", "r3", "r2", "r1"]);
    expect(page.every(({ value }) => value.length === 300_000)).toBe(true);
  });

  onDynamoDb("rejects only the record that is too large for an item, not others of the commit", async () => {
    const store: AnyStore = dynamoDbStore(await createFreshTable());
    const [small, large] = await Promise.allSettled([
      put(store, "things", "small", 1),
      put(store, "things", "large", "é".repeat(250_000)),
    ]);
    expect(small.status).toBe("fulfilled");
    expect(large).toMatchObject({
      reason: new RangeError("things/large has 500002 bytes as JSON; a record in DynamoDB may have 405504"),
    });
    await put(store, "things", "largest", "x".repeat(405_502));
    expect((await store.list("things", { limit: 9 })).map(({ id }) => id)).toEqual(["largest", "small"]);
  });

  onDynamoDb("reads a page of records without reading deleted ones", async () => {
    const access = await createFreshTable();
    const answers: number[] = [];
    const measureResponses: typeof fetch = async (url, init) => {
      const response = await fetch(url, init);
      if (readOperation(init) === "Query") answers.push((await response.clone().text()).length);
      return response;
    };
    const store: AnyStore = dynamoDbStore({ ...access, fetch: measureResponses });
    const ids = Array.from({ length: 50 }, (_, index) => `q${10 + index}`);
    await store.transact((tx) => ids.forEach((id) => tx.put("queue", id, "x".repeat(1000))));
    await store.transact((tx) => ids.slice(0, 49).forEach((id) => tx.delete("queue", id)));
    expect((await store.list("queue", { limit: 1 })).map(({ id }) => id)).toEqual(["q59"]);
    expect(answers).toHaveLength(1);
    expect(answers[0]).toBeLessThan(2000);
  });

  onDynamoDb("reads a record, many records or a page with one request, and keysOnly without values", async () => {
    const access = await createFreshTable();
    const operations: string[] = [];
    const responses: string[] = [];
    const recordRequests: typeof fetch = async (url, init) => {
      operations.push(readOperation(init));
      const response = await fetch(url, init);
      responses.push(await response.clone().text());
      return response;
    };
    const store: AnyStore = dynamoDbStore({ ...access, fetch: recordRequests });
    const ids = Array.from({ length: 50 }, (_, index) => `r${index}`);
    await store.transact((tx) => ids.forEach((id) => tx.put("things", id, "some text")));
    operations.length = 0;
    await store.get("things", "r1");
    await store.getMany("things", ids);
    await store.list("things", { limit: 9, prefix: "r1" });
    expect(operations).toEqual(["GetItem", "BatchGetItem", "Query"]);
    responses.length = 0;
    expect(await store.list("things", { limit: 9, keysOnly: true })).toHaveLength(9);
    expect(responses[0]).not.toContain("some text");
  });

  onDynamoDb("sends only the commit while no other process writes, and reads only the head for others()", async () => {
    const operations: string[] = [];
    const recordRequests: typeof fetch = (url, init) => (operations.push(readOperation(init)), fetch(url, init));
    const { others, ...store }: { others?: () => Promise<string> } & AnyStore = dynamoDbStore({
      ...(await createFreshTable()),
      fetch: recordRequests,
    });
    const add = (): Promise<number> =>
      store.transact(async (tx) => {
        const next = ((await tx.get("counters", "n"))?.value ?? 0) + 1;
        tx.put("counters", "n", next);
        // Revision 0 is that of a record that does not exist yet.
        tx.put("things", `thing ${next}`, "new", 0);
        return next;
      });
    for (let count = 0; count < 4; count++) await add();
    operations.length = 0;
    expect(await add()).toBe(5);
    expect(operations).toEqual(["TransactWriteItems"]);
    await others!();
    expect(operations.slice(1)).toEqual(["GetItem"]);
  });

  onDynamoDb("gets credentials before each request, and signs with a session token", async () => {
    const access = await createFreshTable();
    let credentialCount = 0;
    const requests: Headers[] = [];
    const store: AnyStore = dynamoDbStore({
      ...access,
      credentials: async () => ({
        accessKeyId: `key${++credentialCount}`,
        secretAccessKey: "sesame",
        sessionToken: "token",
      }),
      fetch: (url, init) => (requests.push(new Headers(init?.headers)), fetch(url, init)),
    });
    await put(store, "things", "a", 1);
    const keys = requests.map((headers) => /Credential=(\w+)\//.exec(headers.get("authorization")!)?.[1]);
    expect(keys.sort()).toEqual(requests.map((_, index) => `key${index + 1}`).sort());
    for (const headers of requests) {
      expect(headers.get("x-amz-security-token")).toBe("token");
      expect(headers.get("authorization")).toMatch(
        /SignedHeaders=[^,]*host;x-amz-date;x-amz-security-token;x-amz-target/,
      );
    }
  });
});
