/**
 * One try to carry a batch of decisions. The head is one item that counts all commits, and that every commit moves: what was
 * read is what is there as long as the head has not moved, whatever was read. So transactions are serialisable.
 */
import { type Attempt, Contended, type Engine } from "../engine/attempt.ts";
import { type DynamoDbClient, NoAnswer } from "./client.ts";
import { recordName as nameOfKey } from "../engine/view.ts";
import { OutcomeUnknown } from "../store.ts";
import { findAbsent, advance, nextHead, type Head, isInHead, formatHead, readHead, findRecord } from "./head.ts";
import { requireStorableSize, createWriteOperation } from "./items.ts";
import { write } from "./requests.ts";
import { createTableView } from "./table_view.ts";

/** Limits of one request apart from the head: 100 operations with it, and 4 MB with all that goes around the texts. */
const COMMIT_LIMITS = { writes: 99, bytes: 3_500_000 };

/** Nobody queues for the head of a table: with twenty at it five tries of six fail. So many take some five seconds. */
const MAX_ATTEMPTS = 24;

/** The engine over a table. */
export interface DynamoDbEngine extends Engine {
  /** How many commits were not of this process, by the head as it was when it was read last. */
  othersCommits(): number;
}

/** The engine over a table. `findOut`: how long a commit is asked about that gave no answer; milliseconds. */
export function dynamoDbEngine(client: DynamoDbClient, findOut: number): DynamoDbEngine {
  /** As it was when it was read last. */
  let known: Head | undefined;
  let own = 0;

  return {
    most: COMMIT_LIMITS,
    tries: MAX_ATTEMPTS,
    check: requireStorableSize,
    untouched: (key) => (known && !isInHead(key) ? { found: findAbsent(known, key) } : undefined),
    begin: (last) =>
      beginBatch(client, {
        findOut,
        last: known && formatHead(known) === last ? known : undefined,
        learnt: (head) => void (known = head),
        committed(head) {
          known = head;
          own++;
        },
      }),
    othersCommits: () => (known?.commits ?? 0) - own,
  };
}

interface Terms {
  findOut: number;
  /** Taken for the head as it is. */
  last: Head | undefined;
  learnt(head: Head): void;
  committed(head: Head): void;
}

function beginBatch(client: DynamoDbClient, { findOut, last, learnt, committed }: Terms): Attempt {
  const reading = last ? Promise.resolve(last) : readHead(client).then((head) => (learnt(head), head));
  const { versions, list } = createTableView(client);
  const headMovedError = (): Contended => new Contended(`${client.place}: another process was faster`);

  return {
    head: reading.then(formatHead),
    async versions(keys) {
      const itemKeys = keys.filter((key) => !isInHead(key));
      const [found, head] = await Promise.all([itemKeys.length > 0 ? versions(itemKeys) : [], reading]);
      const known = new Map(itemKeys.map((key, index) => [nameOfKey(key), found[index]]));
      return keys.map((key) => findRecord(head, key) ?? known.get(nameOfKey(key)) ?? findAbsent(head, key));
    },
    list,
    async commit(writes) {
      const head = await reading;
      if (writes.length === 0) {
        if (formatHead(await readHead(client)) !== formatHead(head)) throw headMovedError();
        return formatHead(head);
      }
      const { table } = client;
      const token = crypto.randomUUID();
      const next = nextHead(head, writes, token);
      const items = writes.filter((write) => !isInHead(write));
      const operations = [
        advance(table, head, next),
        ...(await Promise.all(items.map((one) => createWriteOperation(table, one)))),
      ];
      const isStored = await write(client, operations, { token, patience: findOut }).catch((error: unknown) => {
        if (!(error instanceof NoAnswer)) throw error;
        throw new OutcomeUnknown(`no answer to a commit, which may have been kept: ${error.message}`, { cause: error });
      });
      if (!isStored) throw headMovedError();
      committed(next);
      return formatHead(next);
    },
    abandon: () => Promise.resolve(),
  };
}
