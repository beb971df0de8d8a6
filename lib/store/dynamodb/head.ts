/**
 * The head of a table: one item that counts all commits, and that every commit moves. What every decision reads with it lies
 * in it, the end of the chain and the move state, so that neither is an item of its own to ask and to pay for.
 */
import { HEAD_RECORD } from "../collections.ts";
import { MOVE_STATE_KEY } from "../engine/move_state.ts";
import { type Key, recordName as nameOfKey, type Version } from "../engine/view.ts";
import { Json } from "../json.ts";
import { StoreUnavailable } from "../store.ts";
import type { DynamoDbClient } from "./client.ts";
import { type Attribute, bytesAttribute, type Item, type Operation } from "./items.ts";
import { getItem } from "./requests.ts";

/** The key of its item. */
export const HEAD: Item = { pk: { S: "head" }, sk: bytesAttribute(Uint8Array.of(0)) };

/** How tables are written by this version. */
const FORMAT = 1;

/** Content of the head. */
export interface Head {
  commits: number;
  /** Names its last commit, as no other is named: a table that was restored counts the same number twice. */
  name: string;
  /** The revisions that deleted records had, by collection: the highest of them. Nothing is kept of each. */
  deleted: ReadonlyMap<string, number>;
  /** The records that lie in it, by their names. */
  records: ReadonlyMap<string, Version>;
}

const IN_HEAD: Readonly<Record<string, Key>> = { chain: HEAD_RECORD, mark: MOVE_STATE_KEY };

const attributeOf = (key: Key): string | undefined =>
  Object.keys(IN_HEAD).find((name) => nameOfKey(IN_HEAD[name]!) === nameOfKey(key));

/** Returns whether a record is stored in the head. */
export const isInHead = (key: Key): boolean => attributeOf(key) !== undefined;

/** A record that lies in a head. */
export const findRecord = ({ records }: Head, key: Key): Version | undefined => records.get(nameOfKey(key));

/** Reads the head as it is. Errors: `StoreUnavailable` when the table is of another format. */
export async function readHead(client: DynamoDbClient): Promise<Head> {
  const item = await getItem(client, HEAD);
  const format = item?.["format"]?.N;
  if (item && Number(format) !== FORMAT)
    throw new StoreUnavailable(
      `${client.place}: the table is of format ${format ?? "unknown"}, this program reads ${FORMAT}: use the version that wrote it`,
    );
  return parseHead(item ?? {});
}

/** Reads the head from its item. */
export function parseHead({ commits, name, deleted, records }: Item): Head {
  const floors = Object.entries(deleted?.M ?? {}).map(([name, { N }]): [string, number] => [name, Number(N)]);
  const stored = Object.entries(records?.M ?? {}).map(([name, attribute]) => versionIn(IN_HEAD[name]!, attribute));
  return {
    commits: Number(commits?.N ?? 0),
    name: name?.S ?? "",
    deleted: new Map(floors),
    records: new Map(stored.map((version) => [nameOfKey(version), version])),
  };
}

function versionIn({ collection, id }: Key, { M = {} }: Attribute): Version {
  const { revision, json } = M;
  return { collection, id, revision: Number(revision!.N), json: json && new Json(json.S!) };
}

/** Tells heads apart. */
export const formatHead = ({ commits, name }: Head): string => `${commits} ${name}`;

/** The revision above which a record of a collection begins that is not there, so that none restarts. */
export const lastDeletedRevision = ({ deleted }: Head, collection: string): number => deleted.get(collection) ?? 0;

/** Returns the version of an absent record, if the head has one. */
export function findAbsent(head: Head, key: Key): Version | undefined {
  const revision = lastDeletedRevision(head, key.collection);
  return revision > 0 ? { ...key, revision, json: undefined } : undefined;
}

/** The head after a commit of this name. */
export function nextHead(
  { commits, deleted: before, records: stored }: Head,
  writes: readonly Version[],
  name: string,
): Head {
  const deleted = new Map(before);
  for (const { collection, revision, json } of writes)
    if (!json) deleted.set(collection, Math.max(deleted.get(collection) ?? 0, revision));
  const written = writes.filter(isInHead).map((version) => [nameOfKey(version), version] as const);
  return { commits: commits + 1, name, deleted, records: new Map([...stored, ...written]) };
}

/** Moves the head on by one commit, if it still stands where it stood. */
export function advance(TableName: string, { commits, name }: Head, next: Head): Operation {
  const records = [...next.records.values()].map((version) => [attributeOf(version)!, { M: attributesOf(version) }]);
  return {
    Update: {
      TableName,
      Key: HEAD,
      UpdateExpression:
        "set commits = :next, #name = :name, deleted = :deleted, #format = :format, #records = :records",
      ConditionExpression: commits > 0 ? "commits = :commits and #name = :before" : "attribute_not_exists(commits)",
      ExpressionAttributeNames: { "#name": "name", "#format": "format", "#records": "records" },
      ExpressionAttributeValues: {
        ":next": { N: String(next.commits) },
        ":name": { S: next.name },
        ":deleted": { M: Object.fromEntries([...next.deleted].map(([name, last]) => [name, { N: String(last) }])) },
        ":format": { N: String(FORMAT) },
        ":records": { M: Object.fromEntries(records) as Item },
        ...(commits > 0 && { ":commits": { N: String(commits) }, ":before": { S: name } }),
      },
    },
  };
}

const attributesOf = ({ revision, json }: Version): Item => ({
  revision: { N: String(revision) },
  ...(json && { json: { S: json.text } }),
});
