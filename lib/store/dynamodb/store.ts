/** A store in a DynamoDB table, which many processes and functions may use concurrently. */
import { groupCommit } from "../engine/group_commit.ts";
import { type Pacing, systemPacing } from "../engine/pacing.ts";
import { enforceMoveState, sharedBulkAccess } from "../engine/shared_bulk_access.ts";
import { makeReads } from "../engine/view.ts";
import type { Store } from "../store.ts";
import { dynamoDbEngine } from "./batch.ts";
import { type DynamoDbAccess, dynamoDbClient, DynamoDbError, type DynamoDbLimits } from "./client.ts";
import { createTableView } from "./table_view.ts";
import { dumpItems, storedVersion } from "./dump.ts";

/** Time limits in milliseconds. */
const LIMITS: DynamoDbLimits = { answer: 5000, patience: 5000, findOut: 30_000 };

/** Location of the table, and options of the store. */
export interface DynamoDbOptions extends DynamoDbAccess, Partial<Pacing> {
  limits?: Partial<DynamoDbLimits>;
}

/** Opens the store in an existing table (see `createTable`). */
export function dynamoDbStore(options: DynamoDbOptions): Store {
  const pacing = { ...systemPacing, ...options };
  const limits = { ...LIMITS, ...options.limits };
  const client = dynamoDbClient(options, limits, pacing);
  const engine = dynamoDbEngine(client, limits.findOut);
  // Bulk access needs its own engine: an engine remembers the head, and the two run concurrently.
  const bulkEngine = dynamoDbEngine(client, limits.findOut);
  const bulkReads = { dump: () => dumpItems(client), atOneMoment: false, stored: storedVersion };
  const commits = groupCommit(enforceMoveState(engine, pacing.clock), pacing);
  return {
    ...makeReads(createTableView(client)),
    ...commits,
    async others() {
      // The empty transaction runs after this process's commits have been counted, and makes the engine read the head.
      await commits.transact(() => undefined);
      return String(engine.othersCommits());
    },
    bulk: sharedBulkAccess(bulkEngine, pacing, bulkReads),
  };
}

const POLL_PAUSE_MS = 500;

/** Definition of a table. A store requires its keys: text `pk`, bytes `sk`. */
export const TABLE = {
  AttributeDefinitions: [
    { AttributeName: "pk", AttributeType: "S" },
    { AttributeName: "sk", AttributeType: "B" },
  ],
  KeySchema: [
    { AttributeName: "pk", KeyType: "HASH" },
    { AttributeName: "sk", KeyType: "RANGE" },
  ],
  BillingMode: "PAY_PER_REQUEST",
} as const;

/** Time limits in milliseconds of the requests that create a table. */
const TABLE_LIMITS: DynamoDbLimits = { answer: 10_000, patience: 60_000, findOut: 60_000 };

/** Creates the table if it does not exist, and waits until it can be used. */
export async function createTable(access: DynamoDbAccess, pacing = systemPacing): Promise<void> {
  const { call, table } = dynamoDbClient(access, TABLE_LIMITS, pacing);
  await call("CreateTable", { TableName: table, ...TABLE }).catch((error: unknown) => {
    if (!(error instanceof DynamoDbError && error.code === "ResourceInUseException")) throw error;
  });
  for (;;) {
    const { Table } = await call<{ Table: { TableStatus: string } }>("DescribeTable", { TableName: table });
    if (Table.TableStatus === "ACTIVE") return;
    await pacing.clock.sleep(POLL_PAUSE_MS);
  }
}
