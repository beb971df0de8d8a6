/** Setup of docs/stores.md: a Postgres server and a local DynamoDB, in place of the addresses that the page shows. */
import { Client } from "pg";
import { expect } from "vitest";
import { TABLE } from "../../../lib/store/dynamodb/store.ts";
import { client } from "../../support/client.ts";
import { startDynamoDb } from "../../support/dynamodb_server.ts";
import { startPostgres } from "../../support/postgres_server.ts";
import type { RunEnvironment } from "../document_run.ts";
import type { DocumentSetup } from "./index.ts";

export const stores: DocumentSetup = { programs: ["createdb"], prepare };

async function prepare(): Promise<RunEnvironment | undefined> {
  const [postgres, dynamoDb] = [await startPostgres(), await startDynamoDb()];
  const close = async () => void (await Promise.all([postgres?.stop(), dynamoDb?.stop()]));
  if (!postgres || !dynamoDb) return void (await close()); // the missing one has printed the reason
  const { hostname, port, username, password } = new URL(postgres.url);
  const url = Object.assign(new URL(postgres.url), { pathname: "/countersign" }).href;
  return {
    replacements: {
      "postgres://countersign:…@db.internal:5432/countersign": url,
      "region: AWS_REGION!,": `region: AWS_REGION!, endpoint: "${dynamoDb.url}",`,
    },
    env: {
      PGHOST: hostname,
      PGPORT: port,
      PGUSER: username,
      PGPASSWORD: password,
      DATABASE_URL: url,
      AWS_REGION: "eu-central-1",
      AWS_ACCESS_KEY_ID: "id",
      AWS_SECRET_ACCESS_KEY: "key",
    },
    exampleChecks: {
      /** The page's query lists the newest changes; there is only the one that is proposed here. */
      async sql(query, documentRun) {
        const { change_id, summary } = await client(fetch, documentRun.url(8420)).propose();
        const database = new Client(url);
        await database.connect();
        const { rows } = await database.query(query);
        await database.end();
        expect(rows).toEqual([
          expect.objectContaining({
            id: change_id,
            value: expect.objectContaining({ change: expect.objectContaining({ summary }) }),
          }),
        ]);
      },
      "yaml table": ({ Table: { Properties } }) => expect(Properties).toMatchObject(TABLE),
    },
    close,
  };
}
