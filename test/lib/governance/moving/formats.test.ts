/**
 * A sample of every format that stores and exports were ever kept in: each is opened, moves, and goes on. What is in them was
 * written by the versions that kept them so, and is never made anew.
 */
import { cp, mkdtemp, readFile, rm } from "node:fs/promises";
import { createReadStream } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, onTestFinished, test } from "vitest";
import { app } from "../../../../handlers/index.ts";
import { type ChainHead, readHead } from "../../../../lib/audit/chain.ts";
import { risingIds } from "../../../../lib/kit/ids.ts";
import { importStore } from "../../../../lib/governance/moving/import_store.ts";
import { migrate } from "../../../../lib/governance/moving/migrate.ts";
import { dynamoDbClient } from "../../../../lib/store/dynamodb/client.ts";
import { createTable, dynamoDbStore } from "../../../../lib/store/dynamodb/store.ts";
import { systemPacing } from "../../../../lib/store/engine/pacing.ts";
import { memoryStore } from "../../../../lib/store/memory.ts";
import { linesOf } from "../../../../lib/store/move/lines.ts";
import { postgresStore } from "../../../../lib/store/postgres/store.ts";
import type { Store } from "../../../../lib/store/store.ts";
import { openFileStore } from "../../../../local/store/file_store.ts";
import { client } from "../../../support/client.ts";
import { testClock } from "../../../support/clock.ts";
import { opened } from "../../../support/deps.ts";
import { startDynamoDb } from "../../../support/dynamodb_server.ts";
import { startPostgres } from "../../../support/postgres_server.ts";
import { silentLog } from "../../../support/silent_log.ts";

const SAMPLES = join(import.meta.dirname, "../../../samples");
const heads = JSON.parse(await readFile(join(SAMPLES, "heads.json"), "utf8")) as Record<string, ChainHead>;
const [postgres, dynamoDb] = await Promise.all([startPostgres(), startDynamoDb()]);
afterAll(() => Promise.all([postgres?.stop(), dynamoDb?.stop()]));

async function inFolder(sample: string): Promise<Store> {
  const folder = await mkdtemp(join(tmpdir(), "sample-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  await cp(join(SAMPLES, sample), folder, { recursive: true });
  return openFileStore({ path: join(folder, "state.json"), log: silentLog });
}

async function inPostgres(): Promise<Store> {
  await postgres!.pool.query(await readFile(join(SAMPLES, "postgres_1.sql"), "utf8"));
  return postgresStore({ url: postgres!.url });
}

async function inDynamoDb(): Promise<Store> {
  const access = dynamoDb!.access("countersign");
  await createTable(access);
  const { call } = dynamoDbClient(access, { answer: 5000, patience: 5000, findOut: 5000 }, systemPacing);
  for (const Item of JSON.parse(await readFile(join(SAMPLES, "dynamodb_2.json"), "utf8")) as object[])
    await call("PutItem", { TableName: access.table, Item });
  return dynamoDbStore(access);
}

const fromFile = (sample: string, how: "import" | "restore") => async (): Promise<Store> => {
  const to = memoryStore();
  const lines = () => linesOf(createReadStream(join(SAMPLES, sample)));
  await importStore({ name: sample, lines }, how, { to, name: "memory" });
  return to;
};

const samples: [name: string, open: (() => Promise<Store>) | undefined][] = [
  ["journal_2", () => inFolder("journal_2")],
  ["export_1/export.jsonl", fromFile("export_1/export.jsonl", "import")],
  ["export_1/backup.jsonl", fromFile("export_1/backup.jsonl", "restore")],
  ["postgres_1.sql", postgres && inPostgres],
  ["dynamodb_2.json", dynamoDb && inDynamoDb],
];

test("every sample has its test", () => {
  expect(samples.map(([name]) => name).toSorted()).toEqual(Object.keys(heads).toSorted());
});

for (const [name, open] of samples)
  if (open)
    test(`${name} opens, moves on, and is written to`, async () => {
      const from = await open();
      onTestFinished(() => from.close());
      const { origin, length, head } = heads[name]!;
      const entry = await from.get("audit", String(length).padStart(16, "0"));
      expect(entry!.value).toMatchObject({ origin, id: length, current_hash: head });
      const before = (await readHead(from))!;
      const to = memoryStore();
      await migrate({ from: from.whole!, name }, { to, name: "memory" });
      const clock = testClock(new Date().toISOString());
      const api = client(app(await opened({ store: to, clock, ids: risingIds() })));
      expect((await api.get("audit/verify")).body).toMatchObject({ valid: true, state: { mismatched: 0 } });
      const fields = { tenant_id: "t", kind: "config", target: "a.b", summary: "later" };
      const reply = await api.json("propose", fields);
      expect([reply.status, reply.body.audit_entry.id]).toEqual([201, before.length + 2]);
      // What was deleted in the sample had the revision 2.
      await to.transact((tx) => tx.put("review_due", "gone", true));
      expect((await to.get("review_due", "gone"))!.revision).toBe(3);
    });
