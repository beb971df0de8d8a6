/**
 * The head of a table: one item that counts all commits and is updated by every commit. It also contains the two records that
 * every decision reads, the chain's head and the move state, which saves the requests for separate items.
 */
import { HEAD_RECORD } from "../collections.ts";
import { MOVE_STATE_KEY } from "../engine/move_state.ts";
import { type Key, recordName, type Version } from "../engine/view.ts";
import { Json } from "../json.ts";
import { StoreUnavailable } from "../store.ts";
import type { DynamoDbClient } from "./client.ts";
import { type Attribute, bytesAttribute, type Item, type Operation } from "./items.ts";
import { getItem } from "./requests.ts";

/** Key of the head's item. */
export const HEAD: Item = { pk: { S: "head" }, sk: bytesAttribute(Uint8Array.of(0)) };

/** Format of the tables that this version writes. */
const FORMAT = 1;

/** Content of the head. */
export interface Head {
  commits: number;
  /** Unique name of the last commit; the count is not unique, since a restored table repeats it. */
  name: string;
  /** By collection, the highest revision that a deleted record had. Deleted records are not stored. */
  deleted: ReadonlyMap<string, number>;
  /** The records in the head, by `recordName`. */
  records: ReadonlyMap<string, Version>;
}

/** Keys of the records in the head, by attribute. */
const RECORD_KEYS: Readonly<Record<string, Key>> = { chain: HEAD_RECORD, mark: MOVE_STATE_KEY };

const findAttribute = (key: Key): string | undefined =>
  Object.keys(RECORD_KEYS).find((name) => recordName(RECORD_KEYS[name]!) === recordName(key));

/** Returns whether a record is stored in the head. */
export const isInHead = (key: Key): boolean => findAttribute(key) !== undefined;

/** Finds a record in a head. */
export const findRecord = ({ records }: Head, key: Key): Version | undefined => records.get(recordName(key));

/** Reads the current head. Errors: `StoreUnavailable` when the table has another format. */
export async function readHead(client: DynamoDbClient): Promise<Head> {
  const item = await getItem(client, HEAD);
  const format = item?.["format"]?.N;
  if (item && Number(format) !== FORMAT)
    throw new StoreUnavailable(
      `${client.place}: the table is of format ${format ?? "unknown"}, this program reads ${FORMAT}: use the version that wrote it`,
    );
  return parseHead(item ?? {});
}

/** Parses the head's item. */
export function parseHead({ commits, name, deleted, records }: Item): Head {
  const floors = Object.entries(deleted?.M ?? {}).map(([collection, { N }]): [collection: string, floor: number] => [
    collection,
    Number(N),
  ]);
  const stored = Object.entries(records?.M ?? {}).map(([attributeName, attribute]) =>
    parseVersion(RECORD_KEYS[attributeName]!, attribute),
  );
  return {
    commits: Number(commits?.N ?? 0),
    name: name?.S ?? "",
    deleted: new Map(floors),
    records: new Map(stored.map((version) => [recordName(version), version])),
  };
}

function parseVersion({ collection, id }: Key, { M = {} }: Attribute): Version {
  const { revision, json } = M;
  return { collection, id, revision: Number(revision!.N), json: json && new Json(json.S!) };
}

/** Formats a head for `Attempt.head`: count and name of the last commit. */
export const formatHead = ({ commits, name }: Head): string => `${commits} ${name}`;

/** Returns the highest revision that a deleted record of a collection had; new records get a higher one. */
export const lastDeletedRevision = ({ deleted }: Head, collection: string): number => deleted.get(collection) ?? 0;

/** Returns the version of an absent record; undefined if no record of its collection was ever deleted. */
export function findAbsent(head: Head, key: Key): Version | undefined {
  const revision = lastDeletedRevision(head, key.collection);
  return revision > 0 ? { ...key, revision, json: undefined } : undefined;
}

/** Returns the head after a commit. `name`: the name of this commit. */
export function nextHead(
  { commits, deleted: before, records: stored }: Head,
  writes: readonly Version[],
  name: string,
): Head {
  const deleted = new Map(before);
  for (const { collection, revision, json } of writes)
    if (!json) deleted.set(collection, Math.max(deleted.get(collection) ?? 0, revision));
  const written = writes.filter(isInHead).map((version) => [recordName(version), version] as const);
  return { commits: commits + 1, name, deleted, records: new Map([...stored, ...written]) };
}

/** Creates the operation that replaces the head by `next` if it has not moved. */
export function advance(TableName: string, { commits, name }: Head, next: Head): Operation {
  const records = [...next.records.values()].map((version) => [findAttribute(version)!, { M: toAttributes(version) }]);
  return {
    Update: {
      TableName,
      Key: HEAD,
      UpdateExpression:
        "set commits = :next, #name = :name, deleted = :deleted, #format = :format, #records = :records",
      ConditionExpression: commits > 0 ? "commits = :commits and #name = :before" : "attribute_not_exists(commits)",
      // No expression may contain a reserved word of DynamoDB, such as `name`.
      ExpressionAttributeNames: { "#name": "name", "#format": "format", "#records": "records" },
      ExpressionAttributeValues: {
        ":next": { N: String(next.commits) },
        ":name": { S: next.name },
        ":deleted": {
          M: Object.fromEntries([...next.deleted].map(([collection, last]) => [collection, { N: String(last) }])),
        },
        ":format": { N: String(FORMAT) },
        ":records": { M: Object.fromEntries(records) as Item },
        ...(commits > 0 && { ":commits": { N: String(commits) }, ":before": { S: name } }),
      },
    },
  };
}

const toAttributes = ({ revision, json }: Version): Item => ({
  revision: { N: String(revision) },
  ...(json && { json: { S: json.text } }),
});
