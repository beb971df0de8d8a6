/**
 * One try to carry a batch of decisions. The head is one item that counts all commits, and that every commit moves: what was
 * read is what is there as long as the head has not moved, whatever was read. So transactions are serialisable.
 */
import { type Attempt, Contended, OutcomeUnknown } from "../engine/group_commit.ts";
import { boundsOf } from "../engine/record_key.ts";
import type { Row, Version, View } from "../engine/view.ts";
import { StoreUnavailable } from "../store.ts";
import { type DynamoDbClient, NoAnswer } from "./client.ts";
import { binary, type Item, keyOf, type Operation, operationFor, partitionOf, rowIn } from "./items.ts";
import { getItem, getItems, query, write } from "./requests.ts";

/** What one request takes beside the head: 100 operations with it, and 4 MB with all that goes around the texts. */
export const MOST = { writes: 99, bytes: 3_500_000 };

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

/** Begins a try. `findOut`: how long a commit is asked about that gave no answer; milliseconds. */
export async function beginBatch(client: DynamoDbClient, findOut: number): Promise<Attempt> {
  const head = await readHead(client);
  const { versions, list } = viewOf(client);
  const moved = (): Contended => new Contended(`${client.place}: another process was faster`);

  return {
    async versions(keys) {
      const found = await versions(keys);
      return keys.map((key, index) => {
        const revision = lastRevision(head, key.collection);
        return found[index] ?? (revision > 0 ? { ...key, revision, json: undefined } : undefined);
      });
    },
    list,
    async commit(writes) {
      if (writes.length === 0) {
        if ((await readHead(client)).commits !== head.commits) throw moved();
        return;
      }
      const { table } = client;
      const operations = [advance(table, head, writes), ...writes.map((version) => operationFor(table, version))];
      const sent = { token: crypto.randomUUID(), patience: findOut };
      const kept = await write(client, operations, sent).catch((error: unknown) => {
        if (!(error instanceof NoAnswer)) throw error;
        throw new OutcomeUnknown(`no answer to a commit, which may have been kept: ${error.message}`, { cause: error });
      });
      if (!kept) throw moved();
    },
    abandon: () => Promise.resolve(),
  };
}

const HEAD: Item = { pk: { S: "head" }, sk: binary(Uint8Array.of(0)) };

interface Head {
  commits: number;
  /** The revisions that deleted records had, by collection: the highest of them. Nothing is kept of each. */
  deleted: ReadonlyMap<string, number>;
}

/** Stands for every collection, in a table of version 0.1.0, which kept an item for each deleted record. */
const ALL = "*";
/** More often than this no record was put in one commit of that version. */
const PUTS_A_COMMIT = 1_000_000;

/** The head as it is. Errors: `StoreUnavailable` when version 0.1.0 left a transaction to be carried out. */
async function readHead(client: DynamoDbClient): Promise<Head> {
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
const lastRevision = ({ deleted }: Head, collection: string): number =>
  Math.max(deleted.get(collection) ?? 0, deleted.get(ALL) ?? 0);

/** Moves the head by one commit that makes these writes, if it still stands where it stood. */
function advance(TableName: string, head: Head, writes: readonly Version[]): Operation {
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
