/**
 * One try to carry a batch of decisions. The head is one item that counts all commits, and that every commit moves: what was
 * read is what is there as long as the head has not moved, whatever was read. So transactions are serialisable.
 */
import { type Attempt, Contended, type Engine, OutcomeUnknown } from "../engine/attempt.ts";
import { boundsOf } from "../engine/record_key.ts";
import type { Key, Row, Version, View } from "../engine/view.ts";
import { StoreUnavailable } from "../store.ts";
import { type DynamoDbClient, NoAnswer } from "./client.ts";
import { binary, checkSize, type Item, keyOf, type Operation, operationFor, partitionOf, rowIn } from "./items.ts";
import { getItem, getItems, query, write } from "./requests.ts";

/** What one request takes beside the head: 100 operations with it, and 4 MB with all that goes around the texts. */
const MOST = { writes: 99, bytes: 3_500_000 };

/** The live records of a table. */
export const viewOf = (client: DynamoDbClient): View => ({
  async versions(keys) {
    const items = await getItems(client, keys.map(keyOf));
    return keys.map(({ collection }, index) => items[index] && (rowIn(collection, items[index]) as Version));
  },
  async list(collection, options): Promise<Row[]> {
    const bounds = boundsOf(options);
    const items = bounds ? await query(client, partitionOf(collection), bounds, options) : [];
    return items.map((item) => rowIn(collection, item));
  },
});

/** Nobody queues for the head of a table: with twenty at it a try fails more often than not. */
const TRIES = 16;

/** The engine over a table. `findOut`: how long a commit is asked about that gave no answer; milliseconds. */
export function dynamoDbEngine(client: DynamoDbClient, findOut: number): Engine {
  /** As it was when it was read last. */
  let known: Head | undefined;

  return {
    most: MOST,
    tries: TRIES,
    check: checkSize,
    absent: (key) => known && absentIn(known, key),
    begin: () => beginBatch(client, { findOut, learnt: (head) => void (known = head) }),
  };
}

interface Terms {
  findOut: number;
  learnt(head: Head): void;
}

function beginBatch(client: DynamoDbClient, { findOut, learnt }: Terms): Attempt {
  const reading = readHead(client).then((head) => (learnt(head), head));
  const { versions, list } = viewOf(client);
  const moved = (): Contended => new Contended(`${client.place}: another process was faster`);

  return {
    head: reading.then(nameOf),
    async versions(keys) {
      const [found, head] = await Promise.all([versions(keys), reading]);
      return keys.map((key, index) => found[index] ?? absentIn(head, key));
    },
    list,
    async commit(writes) {
      const head = await reading;
      if (writes.length === 0) {
        if (nameOf(await readHead(client)) !== nameOf(head)) throw moved();
        return nameOf(head);
      }
      const { table } = client;
      const next = after(head, writes);
      const operations = [advance(table, head, next), ...writes.map((write) => operationFor(table, write))];
      const sent = { token: crypto.randomUUID(), patience: findOut };
      const kept = await write(client, operations, sent).catch((error: unknown) => {
        if (!(error instanceof NoAnswer)) throw error;
        throw new OutcomeUnknown(`no answer to a commit, which may have been kept: ${error.message}`, { cause: error });
      });
      if (!kept) throw moved();
      learnt(next);
      return nameOf(next);
    },
    abandon: () => Promise.resolve(),
  };
}

const HEAD: Item = { pk: { S: "head" }, sk: binary(Uint8Array.of(0)) };

/** The item that counts the commits. */
export interface Head {
  commits: number;
  /** The revisions that deleted records had, by collection: the highest of them. Nothing is kept of each. */
  deleted: ReadonlyMap<string, number>;
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

const nameOf = ({ commits }: Head): string => String(commits);

/** The revision above which a record of a collection begins that is not there, so that none restarts. */
export const lastRevision = ({ deleted }: Head, collection: string): number =>
  Math.max(deleted.get(collection) ?? 0, deleted.get(ALL) ?? 0);

/** What is left of a record that is not there: the revision above which it begins, so that none restarts. */
function absentIn(head: Head, key: Key): Version | undefined {
  const revision = lastRevision(head, key.collection);
  return revision > 0 ? { ...key, revision, json: undefined } : undefined;
}

/** The head after a commit. */
function after({ commits, deleted: before }: Head, writes: readonly Version[]): Head {
  const deleted = new Map(before);
  for (const { collection, revision, json } of writes)
    if (!json) deleted.set(collection, Math.max(deleted.get(collection) ?? 0, revision));
  return { commits: commits + 1, deleted };
}

/** Moves the head on by one commit, if it still stands where it stood. */
function advance(TableName: string, { commits }: Head, next: Head): Operation {
  return {
    Update: {
      TableName,
      Key: HEAD,
      UpdateExpression: "set commits = :next, deleted = :deleted",
      ConditionExpression: commits === 0 ? "attribute_not_exists(commits)" : "commits = :commits",
      ExpressionAttributeValues: {
        ":next": { N: String(next.commits) },
        ":deleted": { M: Object.fromEntries([...next.deleted].map(([name, last]) => [name, { N: String(last) }])) },
        ...(commits > 0 && { ":commits": { N: String(commits) } }),
      },
    },
  };
}
