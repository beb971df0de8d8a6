/** The store in DynamoDB, in a process whose role may only read; skipped without a local server. */
import { afterAll, expect, test } from "vitest";
import { createTable, dynamoDbStore } from "../../../lib/store/dynamodb/store.ts";
import { StoreUnavailable } from "../../../lib/store/store.ts";
import type { AnyStore } from "../../contract/any_store.ts";
import { startDynamoDb } from "../../support/dynamodb_server.ts";

const server = await startDynamoDb();
const onDynamoDb = server ? test : test.skip;
afterAll(() => server?.stop());

const READS = ["GetItem", "BatchGetItem", "Query"];
const readsOnly: typeof fetch = async (url, init) => {
  const operation = new Headers(init?.headers).get("x-amz-target")!.replace("DynamoDB_20120810.", "");
  if (READS.includes(operation)) return fetch(url, init);
  return new Response('{"__type":"com.amazon.coral.service#AccessDeniedException","message":"no"}', { status: 400 });
};

onDynamoDb("a read-only process reads inside and outside of decisions, and its writes are rejected", async () => {
  const access = server!.access("readers");
  await createTable(access);
  const writer: AnyStore = dynamoDbStore(access);
  await writer.transact((tx) => (tx.put("things", "a", 1), tx.put("things", "b", 2)));
  const reader: AnyStore = dynamoDbStore({ ...access, fetch: readsOnly });
  expect((await reader.get("things", "a"))?.value).toBe(1);
  expect((await reader.getMany("things", ["b", "a"])).map((stored) => stored?.value)).toEqual([2, 1]);
  expect(await reader.list("things", { limit: 9 })).toHaveLength(2);
  expect(await reader.transact(async (tx) => (await tx.list("things", { limit: 9 })).length)).toBe(2);
  await expect(reader.transact((tx) => tx.put("things", "a", 3))).rejects.toThrow(StoreUnavailable);
});
