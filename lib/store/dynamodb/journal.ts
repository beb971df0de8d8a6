/**
 * Transactions with more records than one request may hold. They are written aside, then the head names them: from that
 * moment they are made. Whoever sees the head name one carries it out first, so nobody reads a part of it.
 */
import type { Version } from "../engine/write_set.ts";
import type { DynamoDbClient } from "./client.ts";
import { readHead, settled, stillPending } from "./head.ts";
import {
  binary,
  bytesOf,
  type Item,
  MOST_BYTES,
  MOST_OPERATIONS,
  type Operation,
  operationsFor,
  sizeOf,
} from "./items.ts";
import { query, write } from "./requests.ts";
import type { Write } from "../engine/group_commit.ts";
import { idOf, sortKey } from "../engine/record_key.ts";
import { StoreUnavailable } from "../store.ts";

/** Long, since a transaction that is made may wait for the next request to carry it out. */
const LEFT_OVER_S = 90 * 24 * 3600;

interface Line {
  key: Item;
  next: Version;
}

const journalOf = (commit: string): string => `journal/${commit}`;

const lineKey = (commit: string, line: number): Item => {
  const bytes = new Uint8Array(4);
  new DataView(bytes.buffer).setUint32(0, line);
  return { pk: { S: journalOf(commit) }, sk: binary(bytes) };
};

/** How many lines a name stands for. */
const lineCountOf = (commit: string): number => Number.parseInt(commit, 10);

/**
 * Writes a transaction aside, and gives the name for the head. `token` is the transaction's own; `now` in milliseconds:
 * what a crash leaves unnamed expires 90 days later.
 */
export async function writeAside(
  client: DynamoDbClient,
  token: string,
  writes: readonly Write[],
  now: number,
): Promise<string> {
  const commit = `${writes.length}/${token}`;
  const expires = { N: String(Math.floor(now / 1000) + LEFT_OVER_S) };
  const parts = writes.map(({ next }, index) => {
    const { collection, id, revision, text } = next;
    const Item: Item = {
      ...lineKey(commit, index),
      expires,
      collection: { S: collection },
      id: binary(sortKey(id)),
      revision: { N: String(revision) },
      ...(text !== undefined && { json: { S: text } }),
    };
    return { size: sizeOf(next), operations: [{ Put: { TableName: client.table, Item } }] };
  });
  for (const chunk of chunks(parts)) await write(client, chunk);
  return commit;
}

/**
 * Carries out what was written aside under this name, whoever began it, and takes the name from the head. As long as the
 * head has the name nothing else is written, so several may do this at once; who comes late is refused. Errors: `Contended`;
 * `StoreUnavailable` when lines are gone, since a part of a transaction is none.
 */
export async function carryOut(client: DynamoDbClient, commit: string): Promise<void> {
  const { table } = client;
  const lines = await readAside(client, commit);
  if (lines.length !== lineCountOf(commit)) {
    if ((await readHead(client)).pending !== commit) return;
    const left = `of the ${lineCountOf(commit)} records of a transaction ${lines.length} are left`;
    throw new StoreUnavailable(`${client.place}: ${left}; restore the table`);
  }
  const parts = lines.map(({ next }) => ({
    size: sizeOf(next),
    operations: operationsFor(table, next),
  }));
  for (const chunk of chunks(parts)) if (!(await write(client, [stillPending(table, commit), ...chunk]))) return;
  if (!(await write(client, [settled(table, commit)]))) return;
  const used = lines.map(({ key: Key }) => ({ size: 0, operations: [{ Delete: { TableName: table, Key } }] }));
  for (const chunk of chunks(used)) await write(client, chunk);
}

async function readAside(client: DynamoDbClient, commit: string): Promise<Line[]> {
  const items = await query(client, journalOf(commit), { limit: Number.MAX_SAFE_INTEGER });
  return items.map((item) => ({
    key: { pk: item["pk"]!, sk: item["sk"]! },
    next: {
      collection: item["collection"]!.S!,
      id: idOf(bytesOf(item["id"])),
      revision: Number(item["revision"]!.N),
      text: item["json"]?.S,
    },
  }));
}

/** Writes that fit in one request each; what belongs to one record stays together. */
function* chunks(parts: readonly { size: number; operations: readonly Operation[] }[]): Generator<Operation[]> {
  let chunk: Operation[] = [];
  let bytes = 0;
  for (const { size, operations } of parts) {
    if (chunk.length > 0 && (chunk.length + operations.length > MOST_OPERATIONS || bytes + size > MOST_BYTES)) {
      yield chunk;
      [chunk, bytes] = [[], 0];
    }
    chunk.push(...operations);
    bytes += size;
  }
  if (chunk.length > 0) yield chunk;
}
