/**
 * The head: one item that counts all commits, and that every commit moves. What was read before is what is there as long
 * as the head has not moved, whatever was read: so transactions are serialisable.
 */
import type { Version } from "../engine/view.ts";
import { StoreUnavailable } from "../store.ts";
import type { DynamoDbClient } from "./client.ts";
import { binary, type Item, type Operation } from "./items.ts";
import { getItem } from "./requests.ts";

const HEAD: Item = { pk: { S: "head" }, sk: binary(Uint8Array.of(0)) };

/** The revisions that deleted records had, by collection: the highest of them. Nothing is kept of each. */
export type Deleted = ReadonlyMap<string, number>;

/** What the head says. */
export interface Head {
  commits: number;
  deleted: Deleted;
}

/** Stands for every collection, in a table of version 0.1.0, which kept an item for each deleted record. */
const ALL = "*";
/** More often than this no record was put in one commit of that version. */
const PUTS_A_COMMIT = 1_000_000;

/** The head as it is. Errors: `StoreUnavailable` when version 0.1.0 left a transaction to be carried out. */
export async function readHead(client: DynamoDbClient): Promise<Head> {
  const { commits: counted, deleted, pending } = (await getItem(client, HEAD)) ?? {};
  if (pending)
    throw new StoreUnavailable(
      `${client.place}: version 0.1.0 left a transaction that is not carried out; start that version once, it does so`,
    );
  const commits = Number(counted?.N ?? 0);
  if (!deleted?.M) return { commits, deleted: new Map(commits > 0 ? [[ALL, commits * PUTS_A_COMMIT]] : []) };
  return { commits, deleted: new Map(Object.entries(deleted.M).map(([name, { N }]) => [name, Number(N)])) };
}

/** The revision above which a record begins that is not there, so that none restarts. */
export const lastRevision = ({ deleted }: Head, collection: string): number =>
  Math.max(deleted.get(collection) ?? 0, deleted.get(ALL) ?? 0);

/** Moves the head by one commit that makes these writes, if it still stands where it stood. */
export function advance(TableName: string, head: Head, writes: readonly Version[]): Operation {
  const deleted = new Map(head.deleted);
  for (const { collection, revision, json } of writes)
    if (!json) deleted.set(collection, Math.max(deleted.get(collection) ?? 0, revision));
  const { commits } = head;
  return {
    Update: {
      TableName,
      Key: HEAD,
      UpdateExpression: "set commits = :next, deleted = :deleted",
      ConditionExpression: commits === 0 ? "attribute_not_exists(commits)" : "commits = :commits",
      ExpressionAttributeValues: {
        ":next": { N: String(commits + 1) },
        ":deleted": { M: Object.fromEntries([...deleted].map(([name, last]) => [name, { N: String(last) }])) },
        ...(commits > 0 && { ":commits": { N: String(commits) } }),
      },
    },
  };
}
