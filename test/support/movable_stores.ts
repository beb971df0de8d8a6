/** Empty stores of each kind that can be moved: memory, files, Postgres and a DynamoDB emulator. */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createTable, dynamoDbStore } from "../../lib/store/dynamodb/store.ts";
import { memoryStore } from "../../lib/store/memory.ts";
import { postgresStore } from "../../lib/store/postgres/store.ts";
import type { Store } from "../../lib/store/store.ts";
import { openFileStore } from "../../local/store/file_store.ts";
import { startDynamoDb } from "./dynamodb_server.ts";
import { startPostgres } from "./postgres_server.ts";
import { silentLog } from "./silent_log.ts";

/** A store that a test can open several times, as several processes do. */
export interface Movable {
  name: string;
  open(): Promise<Store>;
}

/** Starts the servers that this machine has, and returns a function that makes an empty store for each kind. */
export async function movableStores() {
  const [postgres, dynamoDb, folder] = await Promise.all([
    startPostgres(),
    startDynamoDb(),
    mkdtemp(join(tmpdir(), "movable-")),
  ]);
  let count = 0;
  const memory = async (): Promise<Movable> => {
    const store = memoryStore();
    return { name: `memory ${++count}`, open: async () => store };
  };
  const file = async (): Promise<Movable> => {
    const path = join(folder, `${++count}`, "state.json");
    return { name: path, open: () => openFileStore({ path, log: silentLog }) };
  };
  const inPostgres = async (): Promise<Movable> => {
    const name = `product-${++count}`;
    return { name, open: () => postgresStore({ url: postgres!.url, name }) };
  };
  const inDynamoDb = async (): Promise<Movable> => {
    const access = dynamoDb!.access(`product-${++count}`);
    await createTable(access);
    return { name: access.table, open: async () => dynamoDbStore(access) };
  };
  const kinds: Record<string, () => Promise<Movable>> = {
    memory,
    file,
    ...(postgres && { postgres: inPostgres }),
    ...(dynamoDb && { dynamodb: inDynamoDb }),
  };
  return {
    kinds,
    folder,
    async stop() {
      await Promise.all([postgres?.stop(), dynamoDb?.stop()]);
      await rm(folder, { recursive: true, force: true });
    },
  };
}
