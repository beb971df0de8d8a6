/** The requests of the store; each is repeated until its answer is complete. */
import { type DynamoDbClient, DynamoDbError } from "./client.ts";
import { bytesAttribute, type Item, formatItemKey, type Operation } from "./items.ts";
import { Contended } from "../engine/attempt.ts";
import type { Bounds } from "../engine/record_key.ts";
import type { ListOptions } from "../store.ts";

const MAX_KEYS_PER_REQUEST = 100;

/** Reads one item. */
export async function getItem({ call, table }: DynamoDbClient, Key: Item): Promise<Item | undefined> {
  const { Item } = await call<{ Item?: Item }>("GetItem", { TableName: table, Key, ConsistentRead: true });
  return Item;
}

/** Reads the items with these keys, in the order of `keys`; an absent item is `undefined`. */
export async function getItems(client: DynamoDbClient, keys: readonly Item[]): Promise<(Item | undefined)[]> {
  // Keys are deduplicated, since a batch with a repeated key is rejected. `GetItem` needs no permission for batches.
  const requested = new Map(keys.map((key) => [formatItemKey(key), key]));
  const items =
    requested.size === 1 ? [await getItem(client, keys[0]!)] : await batchGet(client, [...requested.values()]);
  const found = new Map(items.map((item) => [item && formatItemKey(item), item]));
  return keys.map((key) => found.get(formatItemKey(key)));
}

interface BatchAnswer {
  Responses?: Record<string, Item[]>;
  UnprocessedKeys?: Record<string, { Keys: Item[] }>;
}

/** Reads up to a hundred items with each request; items beyond 16 MB are returned as unprocessed keys and requested again. */
async function batchGet({ call, table }: DynamoDbClient, keys: readonly Item[]): Promise<Item[]> {
  const items: Item[] = [];
  for (let remaining = keys; remaining.length > 0;) {
    const RequestItems = { [table]: { Keys: remaining.slice(0, MAX_KEYS_PER_REQUEST), ConsistentRead: true } };
    const { Responses, UnprocessedKeys } = await call<BatchAnswer>("BatchGetItem", { RequestItems });
    items.push(...(Responses?.[table] ?? []));
    remaining = [...(UnprocessedKeys?.[table]?.Keys ?? []), ...remaining.slice(MAX_KEYS_PER_REQUEST)];
  }
  return items;
}

/** Reads a page of a partition, in the order of sort keys. */
export async function query(
  { call, table }: DynamoDbClient,
  partition: string,
  { from, to }: Bounds,
  { limit, reverse = false, keysOnly = false }: ListOptions<boolean>,
): Promise<Item[]> {
  const items: Item[] = [];
  let start: Item | undefined;
  do {
    const answer = await call<{ Items?: Item[]; LastEvaluatedKey?: Item }>("Query", {
      TableName: table,
      ConsistentRead: true,
      KeyConditionExpression: "pk = :pk and sk between :from and :to",
      ExpressionAttributeValues: { ":pk": { S: partition }, ":from": bytesAttribute(from), ":to": bytesAttribute(to) },
      ...(keysOnly && { ProjectionExpression: "sk" }),
      ScanIndexForward: !reverse,
      // A larger limit may be over the 32 bits that DynamoDB accepts; an answer ends after 1 MB in any case.
      ...(limit - items.length < 100_000 && { Limit: limit - items.length }),
      ...(start && { ExclusiveStartKey: start }),
    });
    items.push(...(answer.Items ?? []));
    start = answer.LastEvaluatedKey;
  } while (start && items.length < limit);
  return items;
}

/**
 * Executes operations atomically; returns false if a condition failed. A request that is repeated with the same token within ten
 * minutes is executed once. Errors: `Contended` if another process is writing the same items.
 */
export async function write(
  { call, place }: DynamoDbClient,
  TransactItems: readonly Operation[],
  { token, patience }: { token: string; patience: number },
): Promise<boolean> {
  try {
    await call("TransactWriteItems", { TransactItems, ClientRequestToken: token }, patience);
    return true;
  } catch (error) {
    if (!(error instanceof DynamoDbError)) throw error;
    if (error.reasons.includes("ConditionalCheckFailed")) return false;
    if (error.reasons.includes("TransactionConflict"))
      throw new Contended(`${place}: another process is writing at this moment`, { cause: error });
    throw error;
  }
}
