/** Empty stores of every kind that moves, on real files, a real database and an emulator of one. */
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

/** A store that can be opened by a second process, where its kind can. */
export interface Movable {
  name: string;
  open(): Promise<Store>;
}

/** The kinds that this machine has, and what ends them. */
export async function movableStores() {
  const [postgres, dynamoDb, folder] = await Promise.all([
    startPostgres(),
    startDynamoDb(),
    mkdtemp(join(tmpdir(), "movable-")),
  ]);
  let made = 0;
  const memory = async (): Promise<Movable> => {
    const store = memoryStore();
    return { name: `memory ${++made}`, open: async () => store };
  };
  const file = async (): Promise<Movable> => {
    const path = join(folder, `${++made}`, "state.json");
    return { name: path, open: () => openFileStore({ path, log: silentLog }) };
  };
  const inPostgres = async (): Promise<Movable> => {
    const name = `product-${++made}`;
    return { name, open: () => postgresStore({ url: postgres!.url, name }) };
  };
  const inDynamoDb = async (): Promise<Movable> => {
    const access = dynamoDb!.access(`product-${++made}`);
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
