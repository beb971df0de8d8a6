/** One try to carry a batch of decisions: it is committed if the head has not moved since it began. */
import { type Attempt, Contended, OutcomeUnknown } from "../engine/group_commit.ts";
import { boundsOf } from "../engine/record_key.ts";
import type { Row, Version, View } from "../engine/view.ts";
import { type DynamoDbClient, NoAnswer } from "./client.ts";
import { advance, lastRevision, readHead } from "./head.ts";
import { keyOf, operationFor, partitionOf, rowIn } from "./items.ts";
import { getItems, query, write } from "./requests.ts";

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
