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
import { recordedPacing } from "../../support/noted_pacing.ts";
import { makeBarrier } from "../../support/scripted_adapter.ts";

const server = await startDynamoDb();
const undo: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step();
});
afterAll(() => server?.stop());
const faulty = server ? test : test.skip;
let made = 0;

async function freshTable(): Promise<DynamoDbOptions> {
  const access = (server as DynamoDbServer).access(`faults-${++made}`);
  await createTable(access);
  return access;
}

async function throughProxy(access: DynamoDbOptions): Promise<{ access: DynamoDbOptions; proxy: CutProxy }> {
  const { hostname: host, port } = new URL(access.endpoint!);
  const proxy = await startProxy({ host, port: Number(port) });
  undo.push(proxy.stop);
  return { access: { ...access, endpoint: `http://${proxy.host}` }, proxy };
}

const operationOf = (init: RequestInit | undefined): string =>
  new Headers(init?.headers).get("x-amz-target")!.replace("DynamoDB_20120810.", "");

/** Runs `act` before each request of an operation, with the number of such requests so far. */
const before =
  (operation: string, act: (count: number) => Promise<Response | void> | Response | void): typeof fetch =>
  async (url, init) => {
    if (operationOf(init) !== operation) return fetch(url, init);
    return (await act(++counts[operation]!)) ?? fetch(url, init);
  };
let counts: Record<string, number> = {};
afterEach(() => void (counts = { TransactWriteItems: 0, BatchGetItem: 0, GetItem: 0 }));
counts = { TransactWriteItems: 0, BatchGetItem: 0, GetItem: 0 };

const refusal = (status: number, code: string): Response =>
  new Response(JSON.stringify({ __type: `com.amazonaws.dynamodb.v20120810#${code}`, message: "not now" }), { status });

const append = (store: AnyStore, runs: { count: number } = { count: 0 }) =>
  store.transact(async (tx) => {
    runs.count++;
    const log = (await tx.get("log", "all"))?.value ?? [];
    tx.put("log", "all", [...log, log.length + 1]);
  });
const logOf = async (store: AnyStore) => (await store.get("log", "all"))?.value;

faulty("a commit that always conflicts fails as busy after 24 attempts and stores nothing", async () => {
  const access = await freshTable();
  const other: AnyStore = dynamoDbStore(access);
  const pacing = recordedPacing();
  const conflicting = before("TransactWriteItems", (count) => put(other, "things", "theirs", count));
  const store: AnyStore = dynamoDbStore({ ...access, ...pacing, fetch: conflicting });
  const runs = { count: 0 };
  await expect(append(store, runs)).rejects.toThrow(StoreBusy);
  expect(runs.count).toBe(24);
  expect(pacing.pauses).toEqual([12, 25, 50, 100, 200, 400, ...Array.from({ length: 17 }, () => 500)]);
  expect(await logOf(other)).toBeUndefined();
  await append(dynamoDbStore(access));
  expect(await logOf(other)).toEqual([1]);
});

faulty.each(["answer", "request"] as const)("a commit whose %s is lost is sent again and done once", async (loss) => {
  const { access, proxy } = await throughProxy(await freshTable());
  const store: AnyStore = dynamoDbStore({ ...access, ...recordedPacing() });
  await append(store);
  const runs = { count: 0 };
  const lost = proxy.lose(loss, "TransactWriteItems");
  await append(store, runs);
  await lost;
  expect(runs.count).toBe(1);
  expect(await logOf(store)).toEqual([1, 2]);
});

faulty("a stored commit is recognised on retry, even after other processes have written", async () => {
  const { access, proxy } = await throughProxy(await freshTable());
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
  expect(await logOf(store)).toEqual([1, 2, 3]);
});

faulty("a commit whose result cannot be read is reported as OutcomeUnknown", async () => {
  const { access, proxy } = await throughProxy(await freshTable());
  const store: AnyStore = dynamoDbStore({ ...access, ...recordedPacing(), limits: { findOut: 200, patience: 50 } });
  await append(store);
  const lost = proxy.lose("answer", "TransactWriteItems");
  const done = append(store).catch((error: unknown) => error);
  await lost;
  proxy.refuse();
  const error = await done;
  expect(error).toBeInstanceOf(OutcomeUnknown);
  expect(String(error)).toMatch(/may have been kept/);
  await expect(append(store)).rejects.toThrow(StoreUnavailable);
  await expect(store.get("log", "all")).rejects.toThrow(
    /^DynamoDB table faults-\d+ in eu-central-1: GetItem found no answer/,
  );
  proxy.admit();
  await append(store);
  expect(await logOf(store)).toEqual([1, 2, 3]);
});

/** Passes on the first commit and loses its response; `then` answers the later ones. */
const losingFirst = (then: (init: RequestInit) => Promise<Response> | Response): typeof fetch => {
  let sent = 0;
  return async (url, init) => {
    if (operationOf(init) !== "TransactWriteItems") return fetch(url, init);
    if (++sent > 1) return then(init!);
    await fetch(url, init);
    throw new TypeError("connection lost");
  };
};

faulty("an error after a lost response leaves the commit's outcome unknown", async () => {
  const access = await freshTable();
  const expired = losingFirst(() => refusal(400, "ExpiredTokenException"));
  const store: AnyStore = dynamoDbStore({ ...access, ...recordedPacing(), fetch: expired });
  await expect(append(store)).rejects.toThrow(OutcomeUnknown);
  expect(await logOf(dynamoDbStore(access))).toEqual([1]);
});

faulty("a process halted beyond the lifetime of its request token does not commit again", async () => {
  const access = await freshTable();
  let now = Date.now();
  const sleep = async () => void (now += 11 * 60_000);
  // DynamoDB treats a request with an expired token as new.
  const forgotten = losingFirst((init) =>
    fetch(access.endpoint!, {
      ...init,
      body: (init.body as string).replace(/("ClientRequestToken":")[^"]+/, `$1${crypto.randomUUID()}`),
    }),
  );
  const store: AnyStore = dynamoDbStore({
    ...access,
    ...recordedPacing(),
    clock: { now: () => now, sleep },
    fetch: forgotten,
  });
  await expect(append(store)).rejects.toThrow(OutcomeUnknown);
  expect(await logOf(dynamoDbStore(access))).toEqual([1]);
});

faulty("throttled requests are retried; a table that keeps throttling is busy", async () => {
  const access = await freshTable();
  const passing = before("TransactWriteItems", (count) =>
    count <= 3 ? refusal(400, "ThrottlingException") : undefined,
  );
  const store: AnyStore = dynamoDbStore({ ...access, ...recordedPacing(), fetch: passing });
  await append(store);
  expect(await logOf(store)).toEqual([1]);
  const always = before("TransactWriteItems", () => refusal(400, "ThrottlingException"));
  const throttled = dynamoDbStore({ ...access, ...recordedPacing(), fetch: always, limits: { findOut: 50 } });
  await expect(append(throttled)).rejects.toThrow(StoreBusy);
  const failing = before("GetItem", () => refusal(500, "InternalServerError"));
  const broken: AnyStore = dynamoDbStore({ ...access, ...recordedPacing(), fetch: failing, limits: { patience: 50 } });
  await expect(broken.get("log", "all")).rejects.toThrow(StoreUnavailable);
});

faulty("the error about a missing table names it and what to do, without credentials", async () => {
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

faulty("unprocessed keys of a response are requested again", async () => {
  const access = await freshTable();
  const store: AnyStore = dynamoDbStore(access);
  await store.transact((tx) => {
    for (let index = 0; index < 20; index++) tx.put("things", `r${index}`, index);
  });
  const halving: typeof fetch = async (url, init) => {
    if (operationOf(init) !== "BatchGetItem") return fetch(url, init);
    const { RequestItems } = JSON.parse(init!.body as string);
    const [table, { Keys }] = Object.entries<{ Keys: unknown[] }>(RequestItems)[0]!;
    const half = Math.ceil(Keys.length / 2);
    counts["BatchGetItem"]!++;
    // The rest is reported as unprocessed; the local server does not check the signature.
    const body = JSON.stringify({ RequestItems: { [table]: { Keys: Keys.slice(0, half), ConsistentRead: true } } });
    const answer = await (await fetch(url, { ...init!, body })).json();
    const left = Keys.slice(half);
    return Response.json({ ...answer, UnprocessedKeys: left.length > 0 ? { [table]: { Keys: left } } : {} });
  };
  const partly: AnyStore = dynamoDbStore({ ...access, fetch: halving });
  await partly.transact((tx) => {
    for (let index = 0; index < 20; index++) tx.put("things", `r${index}`, -index, 1);
  });
  expect(counts["BatchGetItem"]).toBeGreaterThan(3);
  expect((await store.get("things", "r19"))?.value).toBe(-19);
});

faulty("transactions are batched up to the records and bytes of one request", async () => {
  const access = await freshTable();
  const sizes: number[] = [];
  const bytes: number[] = [];
  const measuring: typeof fetch = async (url, init) => {
    if (operationOf(init) === "TransactWriteItems") {
      sizes.push(JSON.parse(init!.body as string).TransactItems.length);
      bytes.push((init!.body as string).length);
    }
    return fetch(url, init);
  };
  const store: AnyStore = dynamoDbStore({ ...access, fetch: measuring });
  const puts = (name: string, count: number, text = "x") =>
    store.transact((tx) => {
      for (let index = 0; index < count; index++) tx.put("things", `${name}-${index}`, text);
    });
  await Promise.all(Array.from({ length: 100 }, (_, index) => puts(`small-${index}`, 3)));
  expect(sizes.length).toBeLessThan(8);
  // The head, and 98 records: 32 decisions of three, next to the place that the mark of the store may need.
  expect(Math.max(...sizes)).toBe(97);
  sizes.length = 0;
  await Promise.all(Array.from({ length: 6 }, (_, index) => puts(`many-${index}`, 50)));
  expect(sizes).toEqual([51, 51, 51, 51, 51, 51]);
  bytes.length = 0;
  await Promise.all(Array.from({ length: 8 }, (_, index) => puts(`large-${index}`, 3, "x".repeat(300_000))));
  expect(bytes.length).toBe(3);
  expect(Math.max(...bytes)).toBeLessThan(4_000_000);
  expect(await store.list("things", { limit: 1000 })).toHaveLength(300 + 300 + 24);
});

faulty("50 deletes remove all items, and revisions do not restart after them", async () => {
  const access = await freshTable();
  const store: AnyStore = dynamoDbStore(access);
  const ids = Array.from({ length: 50 }, (_, index) => `r${index}`);
  const putAll = () => store.transact((tx) => ids.forEach((id) => tx.put("things", id, 1)));
  await putAll();
  await putAll();
  await store.transact((tx) => ids.forEach((id) => tx.delete("things", id)));
  expect((await itemsOf(access)).map(({ pk }) => pk!.S)).toEqual(["head"]);
  await putAll();
  await put(store, "others", "new", 1);
  expect((await store.getMany("things", ids)).map((stored) => stored?.revision)).toEqual(ids.map(() => 3));
  expect((await store.get("others", "new"))?.revision).toBe(1);
});

/** Reads the items of a table without the store. */
async function itemsOf(access: DynamoDbOptions): Promise<Item[]> {
  const { call } = createClient(access);
  return (await call<{ Items: Item[] }>("Scan", { TableName: access.table })).Items;
}

const createClient = (access: DynamoDbOptions) =>
  dynamoDbClient(access, { answer: 5000, patience: 5000, findOut: 5000 }, recordedPacing());

faulty.each([undefined, { N: "0" }, { N: "2" }])(
  "a table with format %j is rejected, with what to do",
  async (format) => {
    const access = await freshTable();
    const Item: Item = { ...HEAD, commits: { N: "12" }, ...(format && { format }) };
    await createClient(access).call("PutItem", { TableName: access.table, Item });
    const store: AnyStore = dynamoDbStore(access);
    const refused = put(store, "things", "a", 1);
    await expect(refused).rejects.toThrow(StoreUnavailable);
    await expect(refused).rejects.toThrow(/this program reads 1: use the version that wrote it/);
  },
);

faulty("a late response about the version marker does not reset the store's state", async () => {
  const access = await freshTable();
  const late = { head: undefined as Promise<void> | undefined, item: undefined as Promise<void> | undefined };
  const slow: typeof fetch = async (url, init) => {
    const isOfHead = String(init!.body).includes('"head"');
    const wait = operationOf(init) === "GetItem" ? late[isOfHead ? "head" : "item"] : undefined;
    if (isOfHead) late.head = undefined;
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

  const [head, item] = [makeBarrier(), makeBarrier()];
  late.head = head.opened;
  const markRequested = nextRequest();
  const mark = slowStore.bulk!.moveState();
  await markRequested;
  await put(other!, "things", "x", "first", 0);
  await remove(other!, "things", "x");
  late.item = item.opened;
  const itemRequested = nextRequest();
  const again = store!.transact(async (tx) => {
    await tx.get("others", "unknown");
    tx.put("things", "x", "second", 0);
  });
  await itemRequested;
  head.open();
  await mark;
  item.open();
  await again;
  expect((await store!.get("things", "x"))!.revision).toBe(2);
});

faulty("a commit with a lost response is sent again after a conflict, and stored once", async () => {
  const access = await freshTable();
  let late: (() => Promise<unknown>) | undefined;
  const conflict = JSON.stringify({
    __type: "com.amazonaws.dynamodb.v20120810#TransactionCanceledException",
    message: "not now",
    CancellationReasons: [{ Code: "TransactionConflict" }, { Code: "None" }],
  });
  let sent = 0;
  const link: typeof fetch = async (url, init) => {
    if (operationOf(init) !== "TransactWriteItems") return fetch(url, init);
    sent++;
    if (sent === 2) {
      late = () => fetch(url, init);
      throw new TypeError("the link is lost, the request is under way");
    }
    if (sent === 3) return new Response(conflict, { status: 400 });
    if (sent === 4) await late!();
    return fetch(url, init);
  };
  const store: AnyStore = dynamoDbStore({ ...access, ...recordedPacing(), fetch: link });
  await append(store);
  await append(store);
  expect(sent).toBe(4);
  expect(await logOf(store)).toEqual([1, 2]);
});

faulty("a stale read of an item does not overwrite a later commit", async () => {
  const access = await freshTable();
  const other: AnyStore = dynamoDbStore(access);
  let seen: string | undefined;
  const behind: typeof fetch = async (url, init) => {
    const isLog = operationOf(init) === "GetItem" && String(init!.body).includes('"record/log"');
    if (isLog && seen !== undefined) return new Response([seen, (seen = undefined)][0]);
    const response = await fetch(url, init);
    if (isLog) before = await response.clone().text();
    return response;
  };
  let before: string | undefined;
  const store: AnyStore = dynamoDbStore({ ...access, ...recordedPacing(), fetch: behind });
  await append(store);
  await append(other);
  await append(store);
  seen = before;
  await append(other);
  seen = before;
  await append(store);
  expect(seen).toBeUndefined();
  expect(await logOf(other)).toEqual([1, 2, 3, 4, 5]);
});

faulty("after the table is replaced by an older copy, a writer does not use its cached records", async () => {
  const access = await freshTable();
  const [one, other]: AnyStore[] = [dynamoDbStore(access), dynamoDbStore(access)];
  const { call } = dynamoDbClient(access, { answer: 5000, patience: 5000, findOut: 5000 }, recordedPacing());
  const items = async () => (await call<{ Items: Item[] }>("Scan", { TableName: access.table })).Items;
  await append(one!);
  const then = await items();
  await append(one!);
  for (const Item of then) await call("PutItem", { TableName: access.table, Item });
  await other!.transact(async (tx) => {
    await tx.get("log", "all");
    tx.put("log", "all", ["theirs"]);
  });
  // The numbers of commits and revisions are equal; only the name of the last commit differs.
  await append(one!);
  expect(await logOf(other!)).toEqual(["theirs", 2]);
});
