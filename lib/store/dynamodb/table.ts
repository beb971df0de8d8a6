/** The table that the store needs, for those who do not make it by a template. */
import { type DynamoDbAccess, dynamoDbClient, DynamoDbError, type DynamoDbLimits } from "./client.ts";
import { systemPacing } from "../engine/group_commit.ts";

const PAUSE_MS = 500;

/** What a table must be: text `pk`, bytes `sk`. */
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

const LIMITS: DynamoDbLimits = { answer: 10_000, patience: 60_000, findOut: 60_000 };

/** Makes the table if there is none, and waits until it can be used. */
export async function createTable(access: DynamoDbAccess, pacing = systemPacing): Promise<void> {
  const { call, table } = dynamoDbClient(access, LIMITS, pacing);
  await call("CreateTable", { TableName: table, ...TABLE }).catch((error: unknown) => {
    if (!(error instanceof DynamoDbError && error.code === "ResourceInUseException")) throw error;
  });
  for (;;) {
    const { Table } = await call<{ Table: { TableStatus: string } }>("DescribeTable", { TableName: table });
    if (Table.TableStatus === "ACTIVE") return;
    await pacing.clock.sleep(PAUSE_MS);
  }
}
