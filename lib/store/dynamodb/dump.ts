/** All of a table's records, collection by collection. */
import { dumpVersions } from "../engine/dump.ts";
import type { Version } from "../version.ts";
import { HEAD_RECORD } from "../collections.ts";
import type { DynamoDbClient } from "./client.ts";
import { lastDeletedRevision, readHead, findRecord } from "./head.ts";
import { bytesAttribute, type Item, partitionKey } from "./items.ts";
import { createTableView } from "./table_view.ts";

/** Every record of a table; what is written meanwhile may be among them, or not. */
export const dumpItems = (client: DynamoDbClient): AsyncGenerator<readonly Version[]> =>
  dumpVersions({ collections: () => collectionsIn(client), list: createTableView(client).list });

/** A deletion of no id is one of an id that no record has: an item's key is never empty. */
export const storedVersion = (version: Version): Version =>
  version.id === "" ? { ...version, id: "\uffff" } : version;

/** Sorts behind every record's key. */
const BEYOND = bytesAttribute(Uint8Array.of(0xff));
const PREFIX = partitionKey("");

/** The first item of each partition is asked for, from behind the one before: a table tells in no other way what it has. */
async function collectionsIn(client: DynamoDbClient): Promise<{ name: string; floor: number }[]> {
  const names = new Set<string>();
  for (let start: Item | undefined; ;) {
    const { Items = [] } = await client.call<{ Items?: Item[] }>("Scan", {
      TableName: client.table,
      ConsistentRead: true,
      ProjectionExpression: "pk",
      Limit: 1,
      ...(start && { ExclusiveStartKey: start }),
    });
    const pk = Items[0]?.["pk"];
    if (!pk) break;
    if (pk.S!.startsWith(PREFIX)) names.add(pk.S!.slice(PREFIX.length));
    start = { pk, sk: BEYOND };
  }
  const head = await readHead(client);
  if (findRecord(head, HEAD_RECORD)?.json) names.add(HEAD_RECORD.collection);
  for (const name of head.deleted.keys()) if (name !== "*") names.add(name);
  return [...names].sort().map((name) => ({ name, floor: lastDeletedRevision(head, name) }));
}
