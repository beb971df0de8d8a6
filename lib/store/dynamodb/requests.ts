/** The four requests that the store makes, each until it has all that was asked for. */
import { type DynamoDbClient, DynamoDbError } from "./client.ts";
import { binary, type Item, nameOf, type Operation } from "./items.ts";
import { Contended } from "../engine/group_commit.ts";
import type { Bounds } from "../engine/record_key.ts";

const MOST_KEYS = 100;

/** One item. */
export async function getItem({ call, table }: DynamoDbClient, Key: Item): Promise<Item | undefined> {
  const { Item } = await call<{ Item?: Item }>("GetItem", { TableName: table, Key, ConsistentRead: true });
  return Item;
}

/** Items by `nameOf` their key, 100 in one request; what there is not is absent. */
export async function getItems(client: DynamoDbClient, asked: readonly Item[]): Promise<Map<string, Item>> {
  const found = new Map<string, Item>();
  // A request that names a key twice is refused.
  const keys = [...new Map(asked.map((key) => [nameOf(key), key])).values()];
  if (keys.length === 1) {
    const item = await getItem(client, keys[0]!);
    return item ? found.set(nameOf(item), item) : found;
  }
  const pages: Item[][] = [];
  for (let from = 0; from < keys.length; from += MOST_KEYS) pages.push(keys.slice(from, from + MOST_KEYS));
  await Promise.all(
    pages.map(async (page) => {
      for (const item of await batchGet(client, page)) found.set(nameOf(item), item);
    }),
  );
  return found;
}

interface BatchAnswer {
  Responses?: Record<string, Item[]>;
  UnprocessedKeys?: Record<string, { Keys: Item[] }>;
}

/** What does not fit in 16 MB is left for the next request. */
async function batchGet({ call, table }: DynamoDbClient, keys: readonly Item[]): Promise<Item[]> {
  const items: Item[] = [];
  for (let left = keys; left.length > 0;) {
    const RequestItems = { [table]: { Keys: left, ConsistentRead: true } };
    const { Responses, UnprocessedKeys } = await call<BatchAnswer>("BatchGetItem", { RequestItems });
    items.push(...(Responses?.[table] ?? []));
    left = UnprocessedKeys?.[table]?.Keys ?? [];
  }
  return items;
}

/** What of a partition to read. */
interface Page {
  bounds: Bounds;
  limit: number;
  reverse: boolean;
  keysOnly: boolean;
}

/** A page of a partition, in order of the sort key. */
export async function query(
  { call, table }: DynamoDbClient,
  partition: string,
  { bounds, limit, reverse, keysOnly }: Page,
): Promise<Item[]> {
  if (limit === 0) return [];
  const items: Item[] = [];
  let start: Item | undefined;
  do {
    const answer = await call<{ Items?: Item[]; LastEvaluatedKey?: Item }>("Query", {
      TableName: table,
      ConsistentRead: true,
      KeyConditionExpression: "pk = :pk and sk between :from and :to",
      ExpressionAttributeValues: {
        ":pk": { S: partition },
        ":from": binary(bounds.from),
        ":to": binary(bounds.to),
      },
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
