import { afterAll, afterEach, expect, test } from "vitest";
import { dynamoDbStore, type DynamoDbOptions } from "../../../lib/store/dynamodb/store.ts";
import { dynamoDbClient } from "../../../lib/store/dynamodb/client.ts";
import type { Item } from "../../../lib/store/dynamodb/items.ts";
import { createTable } from "../../../lib/store/dynamodb/table.ts";
import { type Chance, OutcomeUnknown } from "../../../lib/store/engine/group_commit.ts";
import { type Store, StoreBusy, StoreUnavailable } from "../../../lib/store/store.ts";
import { put } from "../../contract/store_records.ts";
import { type CutProxy, startProxy } from "../../support/cut_proxy.ts";
import { type DynamoDbServer, startDynamoDb } from "../../support/dynamodb_server.ts";
import { gate } from "../../support/scripted_adapter.ts";

const server = await startDynamoDb();
const undo: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const step of undo.splice(0).reverse()) await step();
});
afterAll(() => server?.stop());
const faulty = server ? test : test.skip;
let made = 0;

/** Pauses are noted, not made. */
const noted = (): Chance & { pauses: number[] } => {
  const pauses: number[] = [];
  return { pauses, random: () => 0.5, now: () => Date.now(), sleep: async (ms) => void pauses.push(ms) };
};

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

/** Does something before each request of an operation; `count` is that of such requests so far. */
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

const append = (store: Store, runs: { count: number } = { count: 0 }) =>
  store.transact(async (tx) => {
    runs.count++;
    const log = (await tx.get("log", "all"))?.value ?? [];
    tx.put("log", "all", [...log, log.length + 1]);
  });
const logOf = async (store: Store) => (await store.get("log", "all"))?.value;

faulty("a table on which others are always faster is busy after 8 tries, and nothing is kept", async () => {
  const access = await freshTable();
  const other = dynamoDbStore(access);
  const chance = noted();
  const overtaken = before("TransactWriteItems", (count) => put(other, "things", "theirs", count));
  const store = dynamoDbStore({ ...access, chance, fetch: overtaken });
  const runs = { count: 0 };
  await expect(append(store, runs)).rejects.toThrow(StoreBusy);
  expect(runs.count).toBe(8);
  expect(chance.pauses).toEqual([12, 25, 50, 100, 200, 400, 500]);
  expect(await logOf(other)).toBeUndefined();
  await append(dynamoDbStore(access));
  expect(await logOf(other)).toEqual([1]);
});

faulty.each(["answer", "request"] as const)("a commit whose %s is lost is sent again and done once", async (loss) => {
  const { access, proxy } = await throughProxy(await freshTable());
  const store = dynamoDbStore({ ...access, chance: noted() });
  await append(store);
  const runs = { count: 0 };
  const lost = proxy.lose(loss, "TransactWriteItems");
  await append(store, runs);
  await lost;
  expect(runs.count).toBe(1);
  expect(await logOf(store)).toEqual([1, 2]);
});

faulty("a commit that was kept is known as kept although others have written before it is sent again", async () => {
  const { access, proxy } = await throughProxy(await freshTable());
  const other = dynamoDbStore({ ...access, endpoint: (server as DynamoDbServer).url });
  const chance = noted();
  const store = dynamoDbStore({ ...access, chance: { ...chance, sleep: () => append(other) } });
  await append(store);
  const lost = proxy.lose("answer", "TransactWriteItems");
  await append(store);
  await lost;
  expect(await logOf(store)).toEqual([1, 2, 3]);
});

faulty("a commit whose outcome cannot be asked is told as neither kept nor undone", async () => {
  const { access, proxy } = await throughProxy(await freshTable());
  const store = dynamoDbStore({ ...access, chance: noted(), limits: { findOut: 200, patience: 50 } });
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

/** Commits are done, and the answer of the first is lost; `then` answers the others. */
const losingFirst = (then: (init: RequestInit) => Promise<Response> | Response): typeof fetch => {
  let sent = 0;
  return async (url, init) => {
    if (operationOf(init) !== "TransactWriteItems") return fetch(url, init);
    if (++sent > 1) return then(init!);
    await fetch(url, init);
    throw new TypeError("connection lost");
  };
};

faulty("a refusal after a lost answer does not tell what became of the commit", async () => {
  const access = await freshTable();
  const expired = losingFirst(() => refusal(400, "ExpiredTokenException"));
  const store = dynamoDbStore({ ...access, chance: noted(), fetch: expired });
  await expect(append(store)).rejects.toThrow(OutcomeUnknown);
  expect(await logOf(dynamoDbStore(access))).toEqual([1]);
});

faulty("a process that is halted for so long that its token is forgotten does not commit again", async () => {
  const access = await freshTable();
  let now = Date.now();
  const sleep = async () => void (now += 11 * 60_000);
  // What comes under a token that is remembered no more is taken for new.
  const forgotten = losingFirst((init) =>
    fetch(access.endpoint!, {
      ...init,
      body: (init.body as string).replace(/("ClientRequestToken":")[^"]+/, `$1${crypto.randomUUID()}`),
    }),
  );
  const store = dynamoDbStore({ ...access, chance: { ...noted(), now: () => now, sleep }, fetch: forgotten });
  await expect(append(store)).rejects.toThrow(OutcomeUnknown);
  expect(await logOf(dynamoDbStore(access))).toEqual([1]);
});

faulty("throttled requests are made again; a table that throttles on is busy, not broken", async () => {
  const access = await freshTable();
  const passing = before("TransactWriteItems", (count) =>
    count <= 3 ? refusal(400, "ThrottlingException") : undefined,
  );
  const store = dynamoDbStore({ ...access, chance: noted(), fetch: passing });
  await append(store);
  expect(await logOf(store)).toEqual([1]);
  const always = before("TransactWriteItems", () => refusal(400, "ThrottlingException"));
  const throttled = dynamoDbStore({ ...access, chance: noted(), fetch: always, limits: { findOut: 50 } });
  await expect(append(throttled)).rejects.toThrow(StoreBusy);
  const failing = before("GetItem", () => refusal(500, "InternalServerError"));
  const broken = dynamoDbStore({ ...access, chance: noted(), fetch: failing, limits: { patience: 50 } });
  await expect(broken.get("log", "all")).rejects.toThrow(StoreUnavailable);
});

faulty("a table that is missing is named, with what to do, and without keys", async () => {
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

faulty("keys that an answer leaves unprocessed are asked for again", async () => {
  const access = await freshTable();
  const store = dynamoDbStore(access);
  await store.transact((tx) => {
    for (let index = 0; index < 20; index++) tx.put("things", `r${index}`, index);
  });
  const halving: typeof fetch = async (url, init) => {
    if (operationOf(init) !== "BatchGetItem") return fetch(url, init);
    const { RequestItems } = JSON.parse(init!.body as string);
    const [table, { Keys }] = Object.entries<{ Keys: unknown[] }>(RequestItems)[0]!;
    const half = Math.ceil(Keys.length / 2);
    counts["BatchGetItem"]!++;
    // The rest goes as DynamoDB would have it; the signature is not looked at.
    const body = JSON.stringify({ RequestItems: { [table]: { Keys: Keys.slice(0, half), ConsistentRead: true } } });
    const answer = await (await fetch(url, { ...init!, body })).json();
    const left = Keys.slice(half);
    return Response.json({ ...answer, UnprocessedKeys: left.length > 0 ? { [table]: { Keys: left } } : {} });
  };
  const partly = dynamoDbStore({ ...access, fetch: halving });
  await partly.transact((tx) => {
    for (let index = 0; index < 20; index++) tx.put("things", `r${index}`, -index, 1);
  });
  expect(counts["BatchGetItem"]).toBeGreaterThan(3);
  expect((await store.get("things", "r19"))?.value).toBe(-19);
});

faulty("many small transactions never need more than one request to commit", async () => {
  const access = await freshTable();
  let largest = 0;
  const measuring: typeof fetch = async (url, init) => {
    if (operationOf(init) === "TransactWriteItems")
      largest = Math.max(largest, JSON.parse(init!.body as string).TransactItems.length);
    expect(String(init?.body)).not.toContain("journal/");
    return fetch(url, init);
  };
  const store = dynamoDbStore({ ...access, fetch: measuring });
  await Promise.all(
    Array.from({ length: 100 }, (_, index) =>
      store.transact((tx) => ["a", "b", "c"].forEach((part) => tx.put("things", `${index}${part}`, 1))),
    ),
  );
  expect(await store.list("things", { limit: 400 })).toHaveLength(300);
  expect(largest).toBeGreaterThan(40);
});

const LARGE = 250;
const large = (store: Store, value: number) =>
  store.transact((tx) => {
    for (let index = 0; index < LARGE; index++)
      if (index % 5 === value % 4) tx.delete("things", `r${index}`);
      else tx.put("things", `r${index}`, value);
  });
const valuesIn = (page: readonly { value: unknown }[]): Set<unknown> => new Set(page.map(({ value }) => value));

faulty("a transaction of many records is kept whole or not at all, wherever its process ends", async () => {
  const access = await freshTable();
  const sound = dynamoDbStore(access);
  await large(sound, 0);
  const told: string[] = [];
  let value = 1;
  for (let reached = 1; ; reached++) {
    counts["TransactWriteItems"] = 0;
    const dying = before("TransactWriteItems", (count) => {
      if (count >= reached) throw new TypeError("the process ended");
    });
    const limits = { patience: 1, findOut: 1 };
    const outcome = await large(dynamoDbStore({ ...access, fetch: dying, chance: noted(), limits }), value).then(
      () => "kept",
      (error: Error) => error.name,
    );
    told.push(outcome);
    const ended = counts["TransactWriteItems"]! < reached;
    const reader = dynamoDbStore(access);
    const one = (await reader.get("things", "r4"))?.value;
    const page = await reader.list("things", { limit: 2 * LARGE });
    expect(valuesIn(page), `${outcome} at ${reached}`).toEqual(new Set([one]));
    expect(page).toHaveLength(LARGE * 0.8);
    if (outcome === "kept") expect(one).toBe(value++);
    else expect(one).toBe(value - 1);
    if (ended) break;
  }
  expect(told).toContain("StoreUnavailable");
  expect(told).toContain("OutcomeUnknown");
  expect(told.filter((outcome) => outcome === "kept").length).toBeGreaterThan(3);
});

faulty("one that comes late to carry out what others have finished changes nothing", async () => {
  const access = await freshTable();
  const [reached, mayGoOn] = [gate(), gate()];
  const slow = before("TransactWriteItems", async (count) => {
    // Three requests write aside, one names it; this is the first that carries it out.
    if (count !== 5) return;
    reached.open();
    await mayGoOn.opened;
  });
  const late = large(dynamoDbStore({ ...access, fetch: slow }), 1);
  await reached.opened;
  const other = dynamoDbStore(access);
  await put(other, "things", "r0", "newer");
  await other.transact((tx) => tx.delete("things", "r2"));
  mayGoOn.open();
  await late;
  expect((await other.get("things", "r0"))?.value).toBe("newer");
  expect(await other.get("things", "r2")).toBeUndefined();
  expect(await other.list("things", { limit: 2 * LARGE })).toHaveLength(LARGE * 0.8 - 1);
});

faulty("a decision that begins while a large transaction is being made never rests on a part of it", async () => {
  const access = await freshTable();
  await put(dynamoDbStore(access), "things", "r4", "old");
  const [named, decided, whole] = [gate(), gate(), gate()];
  const slow = before("TransactWriteItems", async (count) => {
    // As above: the fifth is the first that carries out.
    if (count !== 5) return;
    named.open();
    await decided.opened;
  });
  const writing = large(dynamoDbStore({ ...access, fetch: slow }), 1).finally(whole.open);
  let asked = 0;
  const begun = async (url: string | URL | Request, init?: RequestInit): Promise<Response> => {
    const operation = operationOf(init);
    // Whatever a decision asks for after its first look at the head comes when the transaction has its name.
    if (operation === "GetItem" && ++asked > 1) await named.opened;
    if (operation === "TransactWriteItems") {
      decided.open();
      await whole.opened;
    }
    return fetch(url, init);
  };
  const copying = dynamoDbStore({ ...access, fetch: begun });
  await copying.transact(async (tx) => tx.put("copies", "r4", (await tx.get("things", "r4"))!.value));
  await writing;
  expect((await copying.get("copies", "r4"))?.value).toBe(1);
});

faulty(
  "a read that meets a large transaction being carried out shows it, since it was acknowledged before",
  async () => {
    const access = await freshTable();
    const sound = dynamoDbStore(access);
    await large(sound, 0);
    const dying = before("TransactWriteItems", (count) => {
      if (count >= 5) throw new TypeError("the process ended");
    });
    await large(dynamoDbStore({ ...access, fetch: dying, chance: noted(), limits: { patience: 1 } }), 1);
    const late: typeof fetch = async (url, init) => {
      if (String(init?.body).includes('"pk":{"S":"head"}')) await sound.get("things", "r4");
      return fetch(url, init);
    };
    expect((await dynamoDbStore({ ...access, fetch: late }).get("things", "r4"))?.value).toBe(1);
  },
);

faulty("a transaction of which a part is gone before it was carried out is told, and never made in part", async () => {
  const access = await freshTable();
  const store = dynamoDbStore(access);
  await large(store, 0);
  const dying = before("TransactWriteItems", (count) => {
    if (count >= 5) throw new TypeError("the process ended");
  });
  await large(dynamoDbStore({ ...access, fetch: dying, chance: noted(), limits: { patience: 1, findOut: 1 } }), 1);
  await loseOneOf(access, "journal/");
  await expect(store.get("things", "r4")).rejects.toThrow(StoreUnavailable);
  await expect(append(store)).rejects.toThrow(/of the 250 records of a transaction \d+ are left; restore the table/);
});

/** Takes an item out of a partition whose name begins like this. */
async function loseOneOf(access: DynamoDbOptions, partition: string): Promise<void> {
  const { call } = dynamoDbClient(access, { answer: 5000, patience: 5000, findOut: 5000 }, noted());
  const { Items } = await call<{ Items: Item[] }>("Scan", {
    TableName: access.table,
    FilterExpression: "begins_with(pk, :pk)",
    ExpressionAttributeValues: { ":pk": { S: partition } },
  });
  const { pk, sk } = Items[0]!;
  await call("DeleteItem", { TableName: access.table, Key: { pk, sk } });
}
