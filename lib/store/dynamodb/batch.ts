/**
 * The engine of the DynamoDB store. The head is one item that counts all commits and is updated by every commit. A commit
 * requires that the head has not moved since the reads, so that all of them are still current: transactions are serialisable.
 * The head also contains the two records that every decision reads, and the highest revision of deleted records by collection.
 */
import { type Attempt, Contended, type Engine } from "../engine/attempt.ts";
import { type DynamoDbClient, NoAnswer } from "./client.ts";
import { recordName } from "../engine/view.ts";
import { OutcomeUnknown } from "../store.ts";
import { findAbsent, advance, nextHead, type Head, isInHead, formatHead, readHead, findRecord } from "./head.ts";
import { requireStorableSize, createWriteOperation } from "./items.ts";
import { write } from "./requests.ts";
import { createTableView } from "./table_view.ts";

/** Limits of one commit. A request may have 100 operations, one of them for the head, and 4 MB including keys and names. */
const COMMIT_LIMITS = { writes: 99, bytes: 3_500_000 };

/** The head of a table has no queue: with 20 concurrent writers, five of six attempts fail. 24 attempts take about five seconds. */
const MAX_ATTEMPTS = 24;

/** The engine over a table. */
export interface DynamoDbEngine extends Engine {
  /** Counts the commits of other processes, up to the last read of the head. */
  othersCommits(): number;
}

/** Creates the engine over a table. `findOut`: how long an unanswered commit is repeated to learn its result; milliseconds. */
export function dynamoDbEngine(client: DynamoDbClient, findOut: number): DynamoDbEngine {
  /** The head at its last read or commit. */
  let lastHead: Head | undefined;
  let ownCommits = 0;

  return {
    limits: COMMIT_LIMITS,
    maxTries: MAX_ATTEMPTS,
    check: requireStorableSize,
    assumeAbsent: (key) => (lastHead && !isInHead(key) ? { found: findAbsent(lastHead, key) } : undefined),
    begin: (lastCommit) =>
      beginBatch(client, {
        findOut,
        expectedHead: lastHead && formatHead(lastHead) === lastCommit ? lastHead : undefined,
        onRead: (head) => void (lastHead = head),
        onCommit(head) {
          lastHead = head;
          ownCommits++;
        },
      }),
    othersCommits: () => (lastHead?.commits ?? 0) - ownCommits,
  };
}

interface AttemptOptions {
  findOut: number;
  /** Used as head without reading it. */
  expectedHead: Head | undefined;
  onRead(head: Head): void;
  onCommit(head: Head): void;
}

function beginBatch(client: DynamoDbClient, { findOut, expectedHead, onRead, onCommit }: AttemptOptions): Attempt {
  const readAndReportHead = async (): Promise<Head> => {
    const head = await readHead(client);
    onRead(head);
    return head;
  };
  const currentHead = expectedHead ? Promise.resolve(expectedHead) : readAndReportHead();
  const { versions, list } = createTableView(client);
  const headMovedError = (): Contended => new Contended(`${client.place}: another process was faster`);

  return {
    head: currentHead.then(formatHead),
    async versions(keys) {
      const itemKeys = keys.filter((key) => !isInHead(key));
      const [found, head] = await Promise.all([itemKeys.length > 0 ? versions(itemKeys) : [], currentHead]);
      const byName = new Map(itemKeys.map((key, index) => [recordName(key), found[index]]));
      // A deleted record has no item; the head has the revision floor of its collection.
      return keys.map((key) => findRecord(head, key) ?? byName.get(recordName(key)) ?? findAbsent(head, key));
    },
    list,
    async commit(writes) {
      const head = await currentHead;
      // A commit without writes only proves that everything that was read is still current.
      if (writes.length === 0) {
        if (formatHead(await readHead(client)) !== formatHead(head)) throw headMovedError();
        return formatHead(head);
      }
      const { table } = client;
      const token = crypto.randomUUID();
      const next = nextHead(head, writes, token);
      const items = writes.filter((record) => !isInHead(record));
      const operations = [
        advance(table, head, next),
        ...(await Promise.all(items.map((item) => createWriteOperation(table, item)))),
      ];
      const isStored = await write(client, operations, { token, patience: findOut }).catch((error: unknown) => {
        if (!(error instanceof NoAnswer)) throw error;
        throw new OutcomeUnknown(`no answer to a commit, which may have been kept: ${error.message}`, { cause: error });
      });
      if (!isStored) throw headMovedError();
      onCommit(next);
      return formatHead(next);
    },
    abandon: () => Promise.resolve(),
  };
}
