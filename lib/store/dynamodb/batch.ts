/** One try to carry a batch of decisions: it is committed if the head has not moved since it began. */
import { type DynamoDbClient, DynamoDbError, NoAnswer } from "./client.ts";
import {
  idIn,
  keysOf,
  MOST_BYTES,
  MOST_OPERATIONS,
  nameOf,
  operationsFor,
  recordsOf,
  sizeOf,
  storedOf,
  versionOf,
  unchanged,
} from "./items.ts";
import { advance, readHead } from "./head.ts";
import { carryOut, writeAside } from "./journal.ts";
import { getItems, query, write } from "./requests.ts";
import { type Attempt, type Chance, Contended, OutcomeUnknown } from "../engine/group_commit.ts";
import { boundsOf } from "../engine/record_key.ts";
import type { Row } from "../engine/write_set.ts";
import type { ListOptions } from "../store.ts";

/**
 * Reads when every transaction that was made is carried out. The head comes first: of one that is carried out between the
 * two reads, a record read beside the head might be the old one, although the transaction was acknowledged before.
 */
export async function readWhole<T>(client: DynamoDbClient, read: () => Promise<T>): Promise<T> {
  await commitsCarriedOut(client);
  return read();
}

/** How many commits there are, when all of them are carried out: what is read from then on is of this number or later. */
async function commitsCarriedOut(client: DynamoDbClient): Promise<number> {
  for (;;) {
    const { commits, pending } = await readHead(client);
    if (pending === undefined) return commits;
    await carryOut(client, pending).catch((error: unknown) => {
      // Who may only read waits for one who may write.
      const denied = error instanceof DynamoDbError && error.code === "AccessDeniedException";
      throw denied ? new Contended(`${client.place}: a transaction waits to be carried out`, { cause: error }) : error;
    });
  }
}

/** A page of a collection. */
export async function listRecords(
  client: DynamoDbClient,
  collection: string,
  options: ListOptions<boolean>,
): Promise<Row[]> {
  const bounds = boundsOf(options);
  if (!bounds) return [];
  const { limit, reverse = false, keysOnly = false } = options;
  const items = await query(client, recordsOf(collection), { bounds, limit, reverse, keysOnly });
  return keysOnly ? items.map((item) => ({ id: idIn(item) })) : items.map(storedOf);
}

/** Begins a try. `findOut`: how long a commit is asked about that gave no answer; milliseconds. */
export async function beginBatch(client: DynamoDbClient, chance: Chance, findOut: number): Promise<Attempt> {
  const commits = await commitsCarriedOut(client);
  const moved = () => new Contended(`${client.place}: another process was faster`);

  return {
    async versions(keys) {
      const items = await getItems(client, keys.flatMap(keysOf));
      return keys.map((key) => {
        const [live, deleted] = keysOf(key);
        return versionOf(key, items.get(nameOf(live)), items.get(nameOf(deleted)));
      });
    },
    list: (collection, options) => listRecords(client, collection, options),
    async commit(writes) {
      if (writes.length === 0) {
        if ((await readHead(client)).commits !== commits) throw moved();
        return;
      }
      const token = crypto.randomUUID();
      const operations = writes.flatMap(({ next, before }) => operationsFor(client.table, next, unchanged(before)));
      const bytes = writes.reduce((sum, { next }) => sum + sizeOf(next), 0);
      const whole = operations.length <= MOST_OPERATIONS && bytes <= MOST_BYTES;
      const name = whole ? undefined : await writeAside(client, token, writes, chance.now());
      const request = [advance(client.table, commits, name), ...(whole ? operations : [])];
      const kept = await write(client, request, { token, patience: findOut }).catch((error: unknown) => {
        throw error instanceof NoAnswer && error.lost ? unknown(client, error) : error;
      });
      if (!kept) throw moved();
      // It is made. Should this fail, whoever reads next finishes it.
      if (name !== undefined) await carryOut(client, name).catch(() => undefined);
    },
    abandon: () => Promise.resolve(),
  };
}

const unknown = ({ place }: DynamoDbClient, cause: NoAnswer): OutcomeUnknown =>
  new OutcomeUnknown(`${place}: no answer to a commit, which may have been kept: ${cause.message}`, { cause });
