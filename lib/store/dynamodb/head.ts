/**
 * The head: one item that counts all commits, and that every commit moves. What was read before is what is there as long
 * as the head has not moved, whatever was read: so transactions are serialisable.
 */
import type { DynamoDbClient } from "./client.ts";
import { binary, type Item, type Operation } from "./items.ts";
import { getItem } from "./requests.ts";

const HEAD: Item = { pk: { S: "head" }, sk: binary(Uint8Array.of(0)) };

/** What the head says. */
export interface Head {
  commits: number;
  /** Names a transaction that is made and lies written aside, not carried out yet. */
  pending: string | undefined;
}

/** The head as it is. */
export async function readHead(client: DynamoDbClient): Promise<Head> {
  const item = await getItem(client, HEAD);
  return { commits: Number(item?.["commits"]?.N ?? 0), pending: item?.["pending"]?.S };
}

/** Moves the head by one if it still stands where it stood; `pending` names what was written aside. */
export function advance(TableName: string, commits: number, pending?: string): Operation {
  const still =
    commits === 0 ? "attribute_not_exists(commits)" : "commits = :commits and attribute_not_exists(pending)";
  return {
    Update: {
      TableName,
      Key: HEAD,
      UpdateExpression: `set commits = :next${pending === undefined ? "" : ", pending = :pending"}`,
      ConditionExpression: still,
      ExpressionAttributeValues: {
        ":next": { N: String(commits + 1) },
        ...(commits > 0 && { ":commits": { N: String(commits) } }),
        ...(pending !== undefined && { ":pending": { S: pending } }),
      },
    },
  };
}

const named = (TableName: string, pending: string) => ({
  TableName,
  Key: HEAD,
  ConditionExpression: "pending = :pending",
  ExpressionAttributeValues: { ":pending": { S: pending } },
});

/** Refuses the request when the head no longer has this name. */
export const stillPending = (table: string, pending: string): Operation => ({ ConditionCheck: named(table, pending) });

/** Takes the name of what is carried out from the head. */
export const settled = (table: string, pending: string): Operation => ({
  Update: { ...named(table, pending), UpdateExpression: "remove pending" },
});
