/** A store in a DynamoDB table, which many processes and functions may use at once. */
import { groupCommit } from "../engine/group_commit.ts";
import { type Pacing, systemPacing } from "../engine/pacing.ts";
import { enforceMoveState, sharedBulkAccess } from "../engine/shared_bulk_access.ts";
import { makeReads } from "../engine/view.ts";
import type { Store } from "../store.ts";
import { dynamoDbEngine } from "./batch.ts";
import { type DynamoDbAccess, dynamoDbClient, DynamoDbError, type DynamoDbLimits } from "./client.ts";
import { createTableView } from "./table_view.ts";
import { dumpItems, storedVersion } from "./dump.ts";

const LIMITS: DynamoDbLimits = { answer: 5000, patience: 5000, findOut: 30_000 };

/** Location of the table, and options of the store. */
export interface DynamoDbOptions extends DynamoDbAccess, Partial<Pacing> {
  limits?: Partial<DynamoDbLimits>;
}

/** The store in a table that is there already: see `createTable`. */
export function dynamoDbStore(options: DynamoDbOptions): Store {
  const pacing = { ...systemPacing, ...options };
  const limits = { ...LIMITS, ...options.limits };
  const client = dynamoDbClient(options, limits, pacing);
  const engine = dynamoDbEngine(client, limits.findOut);
  // Its own, since an engine holds what it knows of the head, and the two ask side by side.
  const mover = dynamoDbEngine(client, limits.findOut);
  const reading = { dump: () => dumpItems(client), atOneMoment: false, stored: storedVersion };
  const commits = groupCommit(enforceMoveState(engine, pacing.clock), pacing);
  return {
    ...makeReads(createTableView(client)),
    ...commits,
    async others() {
      // In line with its own commits: none of them is counted in the head and not yet here.
      await commits.transact(() => undefined);
      return String(engine.othersCommits());
    },
    bulk: sharedBulkAccess(mover, pacing, reading),
  };
}

const PAUSE_MS = 500;

/** Required keys of a table: text `pk`, bytes `sk`. */
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

const TABLE_LIMITS: DynamoDbLimits = { answer: 10_000, patience: 60_000, findOut: 60_000 };

/** Makes the table if there is none, and waits until it can be used. */
export async function createTable(access: DynamoDbAccess, pacing = systemPacing): Promise<void> {
  const { call, table } = dynamoDbClient(access, TABLE_LIMITS, pacing);
  await call("CreateTable", { TableName: table, ...TABLE }).catch((error: unknown) => {
    if (!(error instanceof DynamoDbError && error.code === "ResourceInUseException")) throw error;
  });
  for (;;) {
    const { Table } = await call<{ Table: { TableStatus: string } }>("DescribeTable", { TableName: table });
    if (Table.TableStatus === "ACTIVE") return;
    await pacing.clock.sleep(PAUSE_MS);
  }
}
