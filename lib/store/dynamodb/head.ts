/**
 * The head of a table: one item that counts all commits, and that every commit moves. The record that every governed decision
 * writes lies in it, so that it is no item of its own to pay for.
 */
import { HEAD_RECORD } from "../collections.ts";
import type { Write } from "../engine/attempt.ts";
import type { Key, Version } from "../engine/view.ts";
import { Json } from "../json.ts";
import { StoreUnavailable } from "../store.ts";
import type { DynamoDbClient } from "./client.ts";
import { type Attribute, binary, type Item, type Operation } from "./items.ts";
import { getItem } from "./requests.ts";

/** The key of its item. */
export const HEAD: Item = { pk: { S: "head" }, sk: binary(Uint8Array.of(0)) };

/** How tables are written by this version. */
const FORMAT = 2;

/** What it says. */
export interface Head {
  commits: number;
  /** The revisions that deleted records had, by collection: the highest of them. Nothing is kept of each. */
  deleted: ReadonlyMap<string, number>;
  /** The record that lies in it; undefined where it lies by itself still, or never was. */
  record: Version | undefined;
}

/** Whether a record is the one in the head. */
export const isInHead = ({ collection, id }: Key): boolean =>
  collection === HEAD_RECORD.collection && id === HEAD_RECORD.id;

/** Stands for every collection, in a table of version 0.1.0, which kept an item for each deleted record. */
const ALL = "*";
/** More often than this no record was put in one commit of that version. */
const PUTS_A_COMMIT = 1_000_000;

/** The head as it is. Errors: `StoreUnavailable` when another version has to do something first. */
export async function readHead(client: DynamoDbClient): Promise<Head> {
  const item = (await getItem(client, HEAD)) ?? {};
  if (item["pending"])
    throw new StoreUnavailable(
      `${client.place}: version 0.1.0 left a transaction that is not carried out; start that version once, it does so`,
    );
  const format = Number(item["format"]?.N ?? 1);
  if (format > FORMAT)
    throw new StoreUnavailable(
      `${client.place}: the table is of format ${format}, this program knows ${FORMAT}: install a newer one`,
    );
  return headIn(item);
}

/** What its item says. */
export function headIn({ commits: counted, deleted, record }: Item): Head {
  const commits = Number(counted?.N ?? 0);
  const floors = deleted?.M
    ? Object.entries(deleted.M).map(([name, { N }]): [string, number] => [name, Number(N)])
    : commits > 0
      ? ([[ALL, commits * PUTS_A_COMMIT]] as const)
      : [];
  return { commits, deleted: new Map(floors), record: record && recordIn(record) };
}

function recordIn({ M = {} }: Attribute): Version {
  const { revision, json } = M;
  return { ...HEAD_RECORD, revision: Number(revision!.N), json: json && new Json(json.S!) };
}

/** Tells heads apart. */
export const nameOf = ({ commits }: Head): string => String(commits);

/** The revision above which a record of a collection begins that is not there, so that none restarts. */
export const lastRevision = ({ deleted }: Head, collection: string): number =>
  Math.max(deleted.get(collection) ?? 0, deleted.get(ALL) ?? 0);

/** What is left of a record that is not there. */
export function absentIn(head: Head, key: Key): Version | undefined {
  const revision = lastRevision(head, key.collection);
  return revision > 0 ? { ...key, revision, json: undefined } : undefined;
}

/** The head after a commit. */
export function after({ commits, deleted: before, record }: Head, writes: readonly Write[]): Head {
  const deleted = new Map(before);
  for (const { collection, revision, json } of writes)
    if (!json) deleted.set(collection, Math.max(deleted.get(collection) ?? 0, revision));
  return { commits: commits + 1, deleted, record: writes.find(isInHead) ?? record };
}

/** Moves the head on by one commit, if it still stands where it stood. */
export function advance(TableName: string, { commits }: Head, { record, ...next }: Head): Operation {
  const sets = ["commits = :next", "deleted = :deleted", "#format = :format", ...(record ? ["#record = :record"] : [])];
  return {
    Update: {
      TableName,
      Key: HEAD,
      UpdateExpression: `set ${sets.join(", ")}`,
      ConditionExpression: commits === 0 ? "attribute_not_exists(commits)" : "commits = :commits",
      ExpressionAttributeNames: { "#format": "format", ...(record && { "#record": "record" }) },
      ExpressionAttributeValues: {
        ":next": { N: String(next.commits) },
        ":deleted": { M: Object.fromEntries([...next.deleted].map(([name, last]) => [name, { N: String(last) }])) },
        ":format": { N: String(FORMAT) },
        ...(record && { ":record": { M: attributesOf(record) } }),
        ...(commits > 0 && { ":commits": { N: String(commits) } }),
      },
    },
  };
}

const attributesOf = ({ revision, json }: Version): Item => ({
  revision: { N: String(revision) },
  ...(json && { json: { S: json.text } }),
});
