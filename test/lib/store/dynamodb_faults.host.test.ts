/** The store in DynamoDB under faults: conflicts, lost responses, throttling, late and stale reads; against a local server. */
import { afterAll, afterEach, expect, test } from "vitest";
import { dynamoDbStore, type DynamoDbOptions } from "../../../lib/store/dynamodb/store.ts";
import { dynamoDbClient } from "../../../lib/store/dynamodb/client.ts";
import { HEAD } from "../../../lib/store/dynamodb/head.ts";
import type { Item } from "../../../lib/store/dynamodb/items.ts";
import { createTable } from "../../../lib/store/dynamodb/store.ts";
import { OutcomeUnknown, StoreBusy, StoreUnavailable } from "../../../lib/store/store.ts";
import type { AnyStore } from "../../contract/any_store.ts";
import { put, remove } from "../../contract/store_records.ts";
import { type CutProxy, startProxy } from "../../support/cut_proxy.ts";
import { type DynamoDbServer, startDynamoDb } from "../../support/dynamodb_server.ts";
import { recordedPacing } from "../../support/recorded_pacing.ts";
import { makeBarrier } from "../../support/scripted_adapter.ts";

const server = await startDynamoDb();
const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanups.splice(0).reverse()) await cleanUp();
});
afterAll(() => server?.stop());
const testFault = server ? test : test.skip;
let tableCount = 0;

async function createFreshTable(): Promise<DynamoDbOptions> {
  const access = (server as DynamoDbServer).access(`faults-${++tableCount}`);
  await createTable(access);
  return access;
}

async function openProxy(access: DynamoDbOptions): Promise<{ access: DynamoDbOptions; proxy: CutProxy }> {
  const { hostname: host, port } = new URL(access.endpoint!);
  const proxy = await startProxy({ host, port: Number(port) });
  cleanups.push(proxy.stop);
  return { access: { ...access, endpoint: `http://${proxy.host}` }, proxy };
}

const readOperation = (init: RequestInit | undefined): string =>
  new Headers(init?.headers).get("x-amz-target")!.replace("DynamoDB_20120810.", "");

/** Returns a `fetch` that runs `act` before each request of an operation, with the number of such requests so far. */
const before =
  (operation: string, act: (count: number) => Promise<Response | void> | Response | void): typeof fetch =>
  async (url, init) => {
    if (readOperation(init) !== operation) return fetch(url, init);
    return (await act(++counts[operation]!)) ?? fetch(url, init);
  };
const NO_REQUESTS: Record<string, number> = { TransactWriteItems: 0, BatchGetItem: 0, GetItem: 0 };
let counts = { ...NO_REQUESTS };
afterEach(() => void (counts = { ...NO_REQUESTS }));

const errorResponse = (status: number, code: string): Response =>
  new Response(JSON.stringify({ __type: `com.amazonaws.dynamodb.v20120810#${code}`, message: "not now" }), { status });

const append = (store: AnyStore, runs: { count: number } = { count: 0 }) =>
  store.transact(async (tx) => {
    runs.count++;
    const log = (await tx.get("log", "all"))?.value ?? [];
    tx.put("log", "all", [...log, log.length + 1]);
  });
const readLog = async (store: AnyStore) => (await store.get("log", "all"))?.value;

testFault("a commit that always conflicts fails as busy after 24 attempts and stores nothing", async () => {
  const access = await createFreshTable();
  const other: AnyStore = dynamoDbStore(access);
  const pacing = recordedPacing();
  const writeBeforeCommit = before("TransactWriteItems", (count) => put(other, "things", "theirs", count));
  const store: AnyStore = dynamoDbStore({ ...access, ...pacing, fetch: writeBeforeCommit });
  const runs = { count: 0 };
  await expect(append(store, runs)).rejects.toThrow(StoreBusy);
  expect(runs.count).toBe(24);
  // Pauses double up to half a second; after the last attempt there is none.
  expect(pacing.pauses).toEqual([12, 25, 50, 100, 200, 400, ...Array.from({ length: 17 }, () => 500)]);
  expect(await readLog(other)).toBeUndefined();
  await append(dynamoDbStore(access));
  expect(await readLog(other)).toEqual([1]);
});

testFault.each(["answer", "request"] as const)(
  "a commit whose %s is lost is sent again and done once",
  async (loss) => {
    const { access, proxy } = await openProxy(await createFreshTable());
    const store: AnyStore = dynamoDbStore({ ...access, ...recordedPacing() });
    await append(store);
    const runs = { count: 0 };
    const lost = proxy.lose(loss, "TransactWriteItems");
    await append(store, runs);
    await lost;
    expect(runs.count).toBe(1);
    expect(await readLog(store)).toEqual([1, 2]);
  },
);

testFault("a stored commit is recognised on retry, even after other processes have written", async () => {
  const { access, proxy } = await openProxy(await createFreshTable());
  const other: AnyStore = dynamoDbStore({ ...access, endpoint: (server as DynamoDbServer).url });
  const pacing = recordedPacing();
  const store: AnyStore = dynamoDbStore({
    ...access,
    ...pacing,
    clock: { ...pacing.clock, sleep: () => append(other) },
  });
  await append(store);
  const lost = proxy.lose("answer", "TransactWriteItems");
  await append(store);
  await lost;
  expect(await readLog(store)).toEqual([1, 2, 3]);
});

testFault("a commit whose result cannot be read is reported as OutcomeUnknown", async () => {
  const { access, proxy } = await openProxy(await createFreshTable());
  // The store repeats an unanswered commit for `findOut`, and any other request for `patience`, in milliseconds.
  const store: AnyStore = dynamoDbStore({ ...access, ...recordedPacing(), limits: { findOut: 200, patience: 50 } });
  await append(store);
  const lost = proxy.lose("answer", "TransactWriteItems");
  const committed = append(store).catch((error: unknown) => error);
  await lost;
  proxy.refuse();
  const error = await committed;
  expect(error).toBeInstanceOf(OutcomeUnknown);
  expect(String(error)).toMatch(/may have been kept/);
  await expect(append(store)).rejects.toThrow(StoreUnavailable);
  await expect(store.get("log", "all")).rejects.toThrow(
    /^DynamoDB table faults-\d+ in eu-central-1: GetItem found no answer/,
  );
  proxy.admit();
  await append(store);
  expect(await readLog(store)).toEqual([1, 2, 3]);
});

/** Returns a `fetch` that sends the first commit and loses its response; `answerLater` answers later commits. */
const loseFirstResponse = (answerLater: (init: RequestInit) => Promise<Response> | Response): typeof fetch => {
  let sent = 0;
  return async (url, init) => {
    if (readOperation(init) !== "TransactWriteItems") return fetch(url, init);
    if (++sent > 1) return answerLater(init!);
    await fetch(url, init);
    throw new TypeError("connection lost");
  };
};

testFault("an error after a lost response leaves the commit's outcome unknown", async () => {
  const access = await createFreshTable();
  const expireToken = loseFirstResponse(() => errorResponse(400, "ExpiredTokenException"));
  const store: AnyStore = dynamoDbStore({ ...access, ...recordedPacing(), fetch: expireToken });
  await expect(append(store)).rejects.toThrow(OutcomeUnknown);
  expect(await readLog(dynamoDbStore(access))).toEqual([1]);
});

testFault("a process halted beyond the lifetime of its request token does not commit again", async () => {
  const access = await createFreshTable();
  let now = Date.now();
  // DynamoDB remembers a request token for ten minutes.
  const sleep = async () => void (now += 11 * 60_000);
  // It treats a request with an expired token as new.
  const replaceToken = loseFirstResponse((init) =>
    fetch(access.endpoint!, {
      ...init,
      body: (init.body as string).replace(/("ClientRequestToken":")[^"]+/, `$1${crypto.randomUUID()}`),
    }),
  );
  const store: AnyStore = dynamoDbStore({
    ...access,
    ...recordedPacing(),
    clock: { now: () => now, sleep },
    fetch: replaceToken,
  });
  await expect(append(store)).rejects.toThrow(OutcomeUnknown);
  expect(await readLog(dynamoDbStore(access))).toEqual([1]);
});

testFault("throttled requests are retried; a table that keeps throttling is busy", async () => {
  const access = await createFreshTable();
  const throttleThrice = before("TransactWriteItems", (count) =>
    count <= 3 ? errorResponse(400, "ThrottlingException") : undefined,
  );
  const store: AnyStore = dynamoDbStore({ ...access, ...recordedPacing(), fetch: throttleThrice });
  await append(store);
  expect(await readLog(store)).toEqual([1]);
  const throttleAlways = before("TransactWriteItems", () => errorResponse(400, "ThrottlingException"));
  const throttledStore = dynamoDbStore({
    ...access,
    ...recordedPacing(),
    fetch: throttleAlways,
    limits: { findOut: 50 },
  });
  await expect(append(throttledStore)).rejects.toThrow(StoreBusy);
  const failReads = before("GetItem", () => errorResponse(500, "InternalServerError"));
  const failingStore: AnyStore = dynamoDbStore({
    ...access,
    ...recordedPacing(),
    fetch: failReads,
    limits: { patience: 50 },
  });
  await expect(failingStore.get("log", "all")).rejects.toThrow(StoreUnavailable);
});

testFault("the error about a missing table names it and what to do, without credentials", async () => {
  const access = {
    ...(server as DynamoDbServer).access("missing"),
    credentials: { accessKeyId: "AKIATEST", secretAccessKey: "sesame" },
  };
  const error = await append(dynamoDbStore(access)).catch((error: unknown) => error as Error);
  expect(error).toBeInstanceOf(StoreUnavailable);
  expect((error as Error).message).toMatch(
    /^DynamoDB table missing in eu-central-1: ResourceNotFound.*make the table first$/,
  );
  expect(String((error as Error).stack)).not.toMatch(/sesame|AKIATEST/);
});

testFault("unprocessed keys of a response are requested again", async () => {
  const access = await createFreshTable();
  const store: AnyStore = dynamoDbStore(access);
  await store.transact((tx) => {
    for (let index = 0; index < 20; index++) tx.put("things", `r${index}`, index);
  });
  const answerHalf: typeof fetch = async (url, init) => {
    if (readOperation(init) !== "BatchGetItem") return fetch(url, init);
    const { RequestItems } = JSON.parse(init!.body as string);
    const [table, { Keys }] = Object.entries<{ Keys: unknown[] }>(RequestItems)[0]!;
    const half = Math.ceil(Keys.length / 2);
    counts["BatchGetItem"]!++;
    // The rest is reported as unprocessed; the local server does not check the signature.
    const body = JSON.stringify({ RequestItems: { [table]: { Keys: Keys.slice(0, half), ConsistentRead: true } } });
    const answer = await (await fetch(url, { ...init!, body })).json();
    const unprocessed = Keys.slice(half);
    return Response.json({
      ...answer,
      UnprocessedKeys: unprocessed.length > 0 ? { [table]: { Keys: unprocessed } } : {},
    });
  };
  const halfAnswered: AnyStore = dynamoDbStore({ ...access, fetch: answerHalf });
  await halfAnswered.transact((tx) => {
    // With an expected revision, each record is read before the commit.
    for (let index = 0; index < 20; index++) tx.put("things", `r${index}`, -index, 1);
  });
  // Each answer leaves half of the keys: 20, 10, 5, 2, 1.
  expect(counts["BatchGetItem"]).toBeGreaterThan(3);
  expect((await store.get("things", "r19"))?.value).toBe(-19);
});

testFault("transactions are batched up to the records and bytes of one request", async () => {
  const access = await createFreshTable();
  const sizes: number[] = [];
  const bytes: number[] = [];
  const measureCommits: typeof fetch = async (url, init) => {
    if (readOperation(init) === "TransactWriteItems") {
      sizes.push(JSON.parse(init!.body as string).TransactItems.length);
      bytes.push((init!.body as string).length);
    }
    return fetch(url, init);
  };
  const store: AnyStore = dynamoDbStore({ ...access, fetch: measureCommits });
  const puts = (name: string, count: number, text = "x") =>
    store.transact((tx) => {
      for (let index = 0; index < count; index++) tx.put("things", `${name}-${index}`, text);
    });
  await Promise.all(Array.from({ length: 100 }, (_, index) => puts(`small-${index}`, 3)));
  expect(sizes.length).toBeLessThan(8);
  // A request holds the head, 98 records and a version marker, so 32 decisions of three records fit.
  expect(Math.max(...sizes)).toBe(97);
  sizes.length = 0;
  await Promise.all(Array.from({ length: 6 }, (_, index) => puts(`many-${index}`, 50)));
  // The head and one decision of 50 records; two would be too many.
  expect(sizes).toEqual([51, 51, 51, 51, 51, 51]);
  bytes.length = 0;
  await Promise.all(Array.from({ length: 8 }, (_, index) => puts(`large-${index}`, 3, "x".repeat(300_000))));
  // A commit has at most 3,500,000 bytes, so three decisions of 900,000 fit.
  expect(bytes.length).toBe(3);
  expect(Math.max(...bytes)).toBeLessThan(4_000_000);
  expect(await store.list("things", { limit: 1000 })).toHaveLength(300 + 300 + 24);
});

testFault("50 deletes remove all items, and revisions do not restart after them", async () => {
  const access = await createFreshTable();
  const store: AnyStore = dynamoDbStore(access);
  const ids = Array.from({ length: 50 }, (_, index) => `r${index}`);
  const putAll = () => store.transact((tx) => ids.forEach((id) => tx.put("things", id, 1)));
  await putAll();
  await putAll();
  await store.transact((tx) => ids.forEach((id) => tx.delete("things", id)));
  expect((await readItems(access)).map(({ pk }) => pk!.S)).toEqual(["head"]);
  await putAll();
  await put(store, "others", "new", 1);
  expect((await store.getMany("things", ids)).map((stored) => stored?.revision)).toEqual(ids.map(() => 3));
  expect((await store.get("others", "new"))?.revision).toBe(1);
});

/** Reads the items of a table without the store. */
async function readItems(access: DynamoDbOptions): Promise<Item[]> {
  const { call } = createClient(access);
  return (await call<{ Items: Item[] }>("Scan", { TableName: access.table })).Items;
}

const createClient = (access: DynamoDbOptions) =>
  dynamoDbClient(access, { answer: 5000, patience: 5000, findOut: 5000 }, recordedPacing());

testFault.each([undefined, { N: "0" }, { N: "2" }])(
  "a table with format %j is rejected, with what to do",
  async (format) => {
    const access = await createFreshTable();
    const Item: Item = { ...HEAD, commits: { N: "12" }, ...(format && { format }) };
    await createClient(access).call("PutItem", { TableName: access.table, Item });
    const store: AnyStore = dynamoDbStore(access);
    const rejected = put(store, "things", "a", 1);
    await expect(rejected).rejects.toThrow(StoreUnavailable);
    await expect(rejected).rejects.toThrow(/this program reads 1: use the version that wrote it/);
  },
);

testFault("a late response about the version marker does not reset the store's state", async () => {
  const access = await createFreshTable();
  const delays = { head: undefined as Promise<void> | undefined, item: undefined as Promise<void> | undefined };
  const slow: typeof fetch = async (url, init) => {
    const isOfHead = String(init!.body).includes('"head"');
    const wait = readOperation(init) === "GetItem" ? delays[isOfHead ? "head" : "item"] : undefined;
    if (isOfHead) delays.head = undefined;
    const response = await fetch(url, init);
    waitingForRequest.splice(0).forEach((notify) => notify());
    await wait;
    return response;
  };
  const waitingForRequest: (() => void)[] = [];
  const nextRequest = (): Promise<void> => new Promise((resolve) => void waitingForRequest.push(resolve));
  const slowStore = dynamoDbStore({ ...access, fetch: slow });
  const [store, other]: AnyStore[] = [slowStore, dynamoDbStore(access)];
  await put(store!, "others", "z", 1);

  // The store begins to read the marker. Before the response arrives, the other store creates and removes record x.
  const [head, item] = [makeBarrier(), makeBarrier()];
  delays.head = head.opened;
  const headRequested = nextRequest();
  const readingMarker = slowStore.bulk!.moveState();
  await headRequested;
  await put(other!, "things", "x", "first", 0);
  await remove(other!, "things", "x");
  delays.item = item.opened;
  const itemRequested = nextRequest();
  const secondPut = store!.transact(async (tx) => {
    await tx.get("others", "unknown");
    tx.put("things", "x", "second", 0);
  });
  await itemRequested;
  head.open();
  await readingMarker;
  item.open();
  await secondPut;
  // Revision 1 was the other store's; with the state of the late response, x would have got it again.
  expect((await store!.get("things", "x"))!.revision).toBe(2);
});

testFault("a commit with a lost response is sent again after a conflict, and stored once", async () => {
  const access = await createFreshTable();
  let lateRequest: (() => Promise<unknown>) | undefined;
  const conflict = JSON.stringify({
    __type: "com.amazonaws.dynamodb.v20120810#TransactionCanceledException",
    message: "not now",
    CancellationReasons: [{ Code: "TransactionConflict" }, { Code: "None" }],
  });
  let sent = 0;
  const flakyFetch: typeof fetch = async (url, init) => {
    if (readOperation(init) !== "TransactWriteItems") return fetch(url, init);
    sent++;
    if (sent === 2) {
      lateRequest = () => fetch(url, init);
      throw new TypeError("the connection is lost, the request is on its way");
    }
    if (sent === 3) return new Response(conflict, { status: 400 });
    // The lost request arrives just before the last one.
    if (sent === 4) await lateRequest!();
    return fetch(url, init);
  };
  const store: AnyStore = dynamoDbStore({ ...access, ...recordedPacing(), fetch: flakyFetch });
  await append(store);
  await append(store);
  expect(sent).toBe(4);
  expect(await readLog(store)).toEqual([1, 2]);
});

testFault("a stale read of an item does not overwrite a later commit", async () => {
  const access = await createFreshTable();
  const other: AnyStore = dynamoDbStore(access);
  let staleText: string | undefined;
  let lastText: string | undefined;
  const answerStale: typeof fetch = async (url, init) => {
    const isLog = readOperation(init) === "GetItem" && String(init!.body).includes('"record/log"');
    if (isLog && staleText !== undefined) {
      const text = staleText;
      staleText = undefined;
      return new Response(text);
    }
    const response = await fetch(url, init);
    if (isLog) lastText = await response.clone().text();
    return response;
  };
  const store: AnyStore = dynamoDbStore({ ...access, ...recordedPacing(), fetch: answerStale });
  await append(store);
  await append(other);
  await append(store);
  staleText = lastText;
  await append(other);
  staleText = lastText;
  await append(store);
  expect(staleText).toBeUndefined();
  expect(await readLog(other)).toEqual([1, 2, 3, 4, 5]);
});

testFault("after the table is replaced by an older copy, a writer does not use its cached records", async () => {
  const access = await createFreshTable();
  const [writer, other]: AnyStore[] = [dynamoDbStore(access), dynamoDbStore(access)];
  const { call } = createClient(access);
  await append(writer!);
  const copy = await readItems(access);
  await append(writer!);
  for (const Item of copy) await call("PutItem", { TableName: access.table, Item });
  await other!.transact(async (tx) => {
    await tx.get("log", "all");
    tx.put("log", "all", ["theirs"]);
  });
  // The numbers of commits and revisions are equal; only the name of the last commit differs.
  await append(writer!);
  expect(await readLog(other!)).toEqual(["theirs", 2]);
});
