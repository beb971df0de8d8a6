/** Dumps all records of a table, collection by collection. */
import { dumpVersions } from "../engine/dump.ts";
import type { Version } from "../version.ts";
import { HEAD_RECORD } from "../collections.ts";
import type { DynamoDbClient } from "./client.ts";
import { lastDeletedRevision, readHead, findRecord } from "./head.ts";
import { bytesAttribute, type Item, partitionKey } from "./items.ts";
import { createTableView } from "./table_view.ts";

/** Dumps all records of a table; writes during the dump may or may not be in it. */
export const dumpItems = (client: DynamoDbClient): AsyncGenerator<readonly Version[]> =>
  dumpVersions({ collections: () => listCollections(client), list: createTableView(client).list });

/**
 * Replaces the empty id of a revision floor by an id that no record has, since the key of an item must not be empty. A floor is
 * the revision above which a collection numbers new records. It is dumped as a deletion, so it creates no item: its commit stores
 * its revision in the head.
 */
export const storedVersion = (version: Version): Version =>
  version.id === "" ? { ...version, id: "\uffff" } : version;

/** A sort key after those of all records. */
const LAST_SORT_KEY = bytesAttribute(Uint8Array.of(0xff));
const PREFIX = partitionKey("");

/** Lists collections by reading the first item of each partition; each scan starts after the end of the previous partition. */
async function listCollections(client: DynamoDbClient): Promise<{ name: string; floor: number }[]> {
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
    start = { pk, sk: LAST_SORT_KEY };
  }
  const head = await readHead(client);
  // The chain's head is a record in the head's item, so its collection may have no partition.
  if (findRecord(head, HEAD_RECORD)?.json) names.add(HEAD_RECORD.collection);
  // `*` is no collection; tables of version 0.1.0 have it for all collections.
  for (const name of head.deleted.keys()) if (name !== "*") names.add(name);
  return [...names].sort().map((name) => ({ name, floor: lastDeletedRevision(head, name) }));
}
