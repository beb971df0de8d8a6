/** Several instances of the service on one store that they share. */
import { afterAll, expect, test } from "vitest";
import { createTable, dynamoDbStore } from "../../../lib/store/dynamodb/store.ts";
import { postgresStore } from "../../../lib/store/postgres/store.ts";
import { type Store, StoreBusy } from "../../../lib/store/store.ts";
import { PROPOSAL } from "../../support/client.ts";
import { startDynamoDb } from "../../support/dynamodb_server.ts";
import { expectOneChain, instance, writeAtOnce } from "../../support/many_writers.ts";
import { LONG } from "../../support/length.ts";
import { notedPacing } from "../../support/noted_pacing.ts";
import { holdHead, startPostgres } from "../../support/postgres_server.ts";

const [dynamoDb, postgres] = [await startDynamoDb(), await startPostgres()];
afterAll(async () => void (await Promise.all([dynamoDb?.stop(), postgres?.stop()])));
const onDynamoDb = dynamoDb ? test : test.skip;
const onPostgres = postgres ? test : test.skip;

/** The same store, which does again what others kept it from: how often that is, is a matter of speed. */
const patient = (store: Store): Store => ({
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

const [ON_A_TABLE, ON_POSTGRES] = LONG ? [4, 8] : [2, 3];

onDynamoDb(`${ON_A_TABLE} on a DynamoDB table write one chain, without a fork, a loss or a repeat`, async () => {
  const access = dynamoDb!.access("shared");
  await createTable(access);
  const writers = await Promise.all(
    Array.from({ length: ON_A_TABLE }, (_, index) => instance(patient(dynamoDbStore(access)), `node-${index}`)),
  );
  await expectOneChain(writers, await writeAtOnce(writers, 3));
});

onPostgres(`${ON_POSTGRES} on a Postgres store write one chain, without a fork, a loss or a repeat`, async () => {
  const stores = await Promise.all(Array.from({ length: ON_POSTGRES }, () => postgresStore({ url: postgres!.url })));
  const writers = await Promise.all(stores.map((store, index) => instance(store, `node-${index}`)));
  await expectOneChain(writers, await writeAtOnce(writers, 5));
  await Promise.all(stores.map((store) => store.close()));
});

onPostgres("one whose store stays busy answers 503 with Retry-After, and has changed nothing", async () => {
  const at = { url: postgres!.url, name: "busy" };
  const store = await postgresStore({ ...at, ...notedPacing(), limits: { lock: 20 } });
  const { post, audit } = await instance(store, "node-1");
  const before = await audit();
  const letGo = await holdHead(postgres!.pool, at.name);
  const refused = await post("propose", PROPOSAL);
  expect(refused).toMatchObject({ status: 503, body: { code: "store_busy" } });
  expect(refused.headers.get("retry-after")).toMatch(/^[1-9]\d*$/);
  await letGo();
  expect(await audit()).toEqual(before);
  expect((await post("propose", PROPOSAL)).status).toBe(201);
  await store.close();
});
