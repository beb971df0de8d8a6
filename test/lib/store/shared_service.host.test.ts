/** Several instances of the service on one store that they share. */
import { Client, Pool } from "pg";
import { afterAll, expect, onTestFinished, test, vi } from "vitest";
import { countersign } from "../../../handlers/index.ts";
import { createTable, dynamoDbStore } from "../../../lib/store/dynamodb/store.ts";
import { postgresStore } from "../../../lib/store/postgres/store.ts";
import { type Store, StoreBusy } from "../../../lib/store/store.ts";
import { MINUTE, testClock } from "../../support/clock.ts";
import { manifest } from "../../support/intents.ts";
import { PROPOSAL } from "../../support/client.ts";
import { startDynamoDb } from "../../support/dynamodb_server.ts";
import { expectOneChain, openInstance, writeConcurrently } from "../../support/many_writers.ts";
import { recordedPacing } from "../../support/recorded_pacing.ts";
import { lockHead, startPostgres } from "../../support/postgres_server.ts";
import { silentLog } from "../../support/silent_log.ts";

const [dynamoDb, postgres] = [await startDynamoDb(), await startPostgres()];
afterAll(async () => void (await Promise.all([dynamoDb?.stop(), postgres?.stop()])));
const onDynamoDb = dynamoDb ? test : test.skip;
const onPostgres = postgres ? test : test.skip;

/** Wraps a store so that it repeats busy transactions, whose number depends on the machine's speed. */
const retryWhenBusy = (store: Store): Store => ({
  ...store,
  async transact(decide) {
    for (;;) {
      try {
        return await store.transact(decide);
      } catch (error) {
        if (!(error instanceof StoreBusy)) throw error;
      }
    }
  },
});

const DYNAMODB_INSTANCES = 4;
const POSTGRES_INSTANCES = 8;

onDynamoDb(`${DYNAMODB_INSTANCES} instances on a DynamoDB table write one chain and lose no entry`, async () => {
  const access = dynamoDb!.access("shared");
  await createTable(access);
  const writers = await Promise.all(
    Array.from({ length: DYNAMODB_INSTANCES }, (_, index) =>
      openInstance(retryWhenBusy(dynamoDbStore(access)), `node-${index}`),
    ),
  );
  await expectOneChain(writers, await writeConcurrently(writers, 3));
});

onPostgres(`${POSTGRES_INSTANCES} instances on a Postgres store write one chain and lose no entry`, async () => {
  const stores = await Promise.all(
    Array.from({ length: POSTGRES_INSTANCES }, () => postgresStore({ url: postgres!.url })),
  );
  const writers = await Promise.all(stores.map((store, index) => openInstance(store, `node-${index}`)));
  await expectOneChain(writers, await writeConcurrently(writers, 5));
  await Promise.all(stores.map((store) => store.close()));
});

/** Requires that the result of `others` changes with commits of the other process, and not with own ones. */
const expectNotified = async (one: Store, other: Store): Promise<void> => {
  const put = (store: Store): Promise<void> => store.transact((tx) => tx.put("meta", "tick", { tick: 1, at: "" }));
  await put(one);
  const before = [await one.others!(), await other.others!()];
  await put(one);
  expect(await one.others!()).toBe(before[0]);
  const after = await other.others!();
  expect(after).not.toBe(before[1]);
  await other.transact((tx) => tx.get("meta", "tick"));
  // Own commits, also concurrent ones, do not change the result.
  const requests = [put(one), one.others!(), put(one), one.others!(), one.others!()];
  expect(await Promise.all(requests)).toEqual([undefined, before[0], undefined, before[0], before[0]]);
  expect(await other.others!()).not.toBe(after);
  await Promise.all([one.close(), other.close()]);
};

onPostgres("an instance on Postgres is notified of commits of others, and not of its own", async () => {
  const at = { url: postgres!.url, name: "counted" };
  await expectNotified(await postgresStore(at), await postgresStore(at));
});

onDynamoDb("an instance on DynamoDB is notified of commits of others, and not of its own", async () => {
  const access = dynamoDb!.access("counted");
  await createTable(access);
  await expectNotified(dynamoDbStore(access), dynamoDbStore(access));
});

const moreThanTen = expect.toSatisfy((count: number) => count > 10);
/** Store requests of nine cycles: the second checks the results of the first, and then each fifth checks everything. */
const IDLE = [moreThanTen, moreThanTen, 1, 1, 1, 1, moreThanTen, 1, 1];

onDynamoDb("an idle cycle on DynamoDB reads only the head until another process writes", async () => {
  const access = dynamoDb!.access("idle");
  await createTable(access);
  const send = vi.fn<typeof fetch>(access.fetch ?? fetch);
  const clock = testClock();
  const store = dynamoDbStore({ ...access, fetch: send });
  const service = await countersign({ store, clock, log: silentLog, intent: manifest() });
  const other = await openInstance(dynamoDbStore(access), "node-2");
  await other.bring("applied");
  const cycle = async (): Promise<number> => {
    send.mockClear();
    clock.advance(MINUTE);
    await service.cycle();
    return send.mock.calls.length;
  };
  const counts = [];
  for (let count = 0; count < 9; count++) counts.push(await cycle());
  expect(counts).toEqual(IDLE);
  await other.propose();
  expect(await cycle()).toBeGreaterThan(10);
  await service.close();
  await other.deps.store.close();
});

onPostgres("an idle cycle on Postgres is one statement until another process writes", async () => {
  const pool = new Pool({ connectionString: postgres!.url, application_name: "idle" });
  pool.on("error", () => undefined);
  const store = await postgresStore({ pool, name: "idle" });
  const clock = testClock();
  const service = await countersign({ store, clock, log: silentLog, intent: manifest() });
  const other = await openInstance(await postgresStore({ url: postgres!.url, name: "idle" }), "node-2");
  await other.bring("applied");
  const queries = vi.spyOn(Client.prototype, "query");
  onTestFinished(() => queries.mockRestore());
  const isOfStore = (client: unknown): boolean =>
    (client as { connectionParameters: { application_name?: string } }).connectionParameters.application_name ===
    "idle";
  const cycle = async (): Promise<number> => {
    queries.mockClear();
    clock.advance(MINUTE);
    await service.cycle();
    return queries.mock.contexts.filter(isOfStore).length;
  };
  const counts = [];
  for (let count = 0; count < 9; count++) counts.push(await cycle());
  expect(counts).toEqual(IDLE);
  await other.propose();
  expect(await cycle()).toBeGreaterThan(10);
  await service.close();
  await Promise.all([other.deps.store.close(), pool.end()]);
});

onPostgres("an instance whose store stays busy answers 503 with Retry-After and changes nothing", async () => {
  const at = { url: postgres!.url, name: "busy" };
  const store = await postgresStore({ ...at, ...recordedPacing(), limits: { lock: 20 } });
  const { post, audit } = await openInstance(store, "node-1");
  const before = await audit();
  const releaseLock = await lockHead(postgres!.pool, at.name);
  const response = await post("propose", PROPOSAL);
  expect(response).toMatchObject({ status: 503, body: { code: "store_busy" } });
  expect(response.headers.get("retry-after")).toMatch(/^[1-9]\d*$/);
  await releaseLock();
  expect(await audit()).toEqual(before);
  expect((await post("propose", PROPOSAL)).status).toBe(201);
  await store.close();
});
