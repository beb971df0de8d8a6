/** The four requests that the store makes, each until it has all that was asked for. */
import { type DynamoDbClient, DynamoDbError } from "./client.ts";
import { bytesAttribute, type Item, formatItemKey, type Operation } from "./items.ts";
import { Contended } from "../engine/attempt.ts";
import type { Bounds } from "../engine/record_key.ts";
import type { ListOptions } from "../store.ts";

const MAX_KEYS_PER_REQUEST = 100;

/** One item. */
export async function getItem({ call, table }: DynamoDbClient, Key: Item): Promise<Item | undefined> {
  const { Item } = await call<{ Item?: Item }>("GetItem", { TableName: table, Key, ConsistentRead: true });
  return Item;
}

/** The items with these keys, in their order; what there is not is `undefined`. */
export async function getItems(client: DynamoDbClient, keys: readonly Item[]): Promise<(Item | undefined)[]> {
  // A function may have the right to get one and no batch of them; and a request that names a key twice is refused.
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

/** A hundred in one request; what does not fit in 16 MB is left for the next. */
async function batchGet({ call, table }: DynamoDbClient, keys: readonly Item[]): Promise<Item[]> {
  const items: Item[] = [];
  for (let left = keys; left.length > 0;) {
    const RequestItems = { [table]: { Keys: left.slice(0, MAX_KEYS_PER_REQUEST), ConsistentRead: true } };
    const { Responses, UnprocessedKeys } = await call<BatchAnswer>("BatchGetItem", { RequestItems });
    items.push(...(Responses?.[table] ?? []));
    left = [...(UnprocessedKeys?.[table]?.Keys ?? []), ...left.slice(MAX_KEYS_PER_REQUEST)];
  }
  return items;
}

/** A page of a partition, in order of the sort key. */
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
      ...(limit - items.length < 100_000 && { Limit: limit - items.length }),
      ...(start && { ExclusiveStartKey: start }),
    });
    items.push(...(answer.Items ?? []));
    start = answer.LastEvaluatedKey;
  } while (start && items.length < limit);
  return items;
}

/**
 * Writes all or nothing; false when the condition does not hold. Under its token the same may be sent again within ten
 * minutes and is done once. Errors: `Contended` when another writes the same items at this moment.
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
      throw new Contended(`${place}: another writes at this moment`, { cause: error });
    throw error;
  }
}
