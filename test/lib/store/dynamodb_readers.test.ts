/** A process that may only read beside one that writes more than one request can hold. */
import { afterAll, expect, test } from "vitest";
import { dynamoDbStore } from "../../../lib/store/dynamodb/store.ts";
import { createTable } from "../../../lib/store/dynamodb/table.ts";
import { realChance } from "../../../lib/store/engine/group_commit.ts";
import { StoreBusy } from "../../../lib/store/store.ts";
import { startDynamoDb } from "../../support/dynamodb_server.ts";

const server = await startDynamoDb();
const there = server ? test : test.skip;
afterAll(() => server?.stop());

const operationOf = (init: RequestInit | undefined): string =>
  new Headers(init?.headers).get("x-amz-target")!.replace("DynamoDB_20120810.", "");
const denied = () =>
  new Response('{"__type":"com.amazon.coral.service#AccessDeniedException","message":"no"}', { status: 400 });
const readsOnly: typeof fetch = async (url, init) =>
  operationOf(init) === "TransactWriteItems" ? denied() : fetch(url, init);

/** A table on which a transaction of 150 records is made and not carried out, as when its writer was killed. */
async function halfCarriedOut(name: string) {
  const access = server!.access(name);
  await createTable(access);
  let writes = 0;
  const killed: typeof fetch = async (url, init) =>
    operationOf(init) === "TransactWriteItems" && ++writes > 3 ? denied() : fetch(url, init);
  await dynamoDbStore({ ...access, fetch: killed }).transact((tx) => {
    for (let i = 0; i < 150; i++) tx.put("things", String(i).padStart(3, "0"), i);
  });
  return access;
}

there("waits until another has carried it out", async () => {
  const access = await halfCarriedOut("readers-wait");
  const writer = dynamoDbStore(access);
  const sleep = async () => void (await writer.get("things", "000"));
  const reader = dynamoDbStore({ ...access, fetch: readsOnly, chance: { ...realChance, sleep } });
  expect((await reader.list("things", { limit: 200 })).length).toBe(150);
});

there("is told that the store is busy when nobody does", async () => {
  const access = await halfCarriedOut("readers-busy");
  const sleep = () => Promise.resolve();
  const reader = dynamoDbStore({ ...access, fetch: readsOnly, chance: { ...realChance, sleep } });
  await expect(reader.get("things", "000")).rejects.toThrow(StoreBusy);
});
