/** Lists the stores of a database without creating anything in it. */
import { explainMissingDriver } from "../open_store.ts";
import { databaseAddress, storeError } from "../../lib/store/postgres/errors.ts";

const CONNECT_MS = 5000;
const ANSWER_MS = 10_000;

const TABLE_EXISTS = "select to_regclass('countersign_heads') is not null as heads";

/** Returns the names of the stores in order. Errors: `StoreUnavailable`. */
export async function listStores(url: string): Promise<string[]> {
  const { Client } = await import("pg").catch(explainMissingDriver);
  const client = new Client({
    connectionString: url,
    application_name: "countersign",
    connectionTimeoutMillis: CONNECT_MS,
    query_timeout: ANSWER_MS,
  });
  // A connection that breaks shows as a query without an answer.
  client.on("error", () => undefined);
  try {
    await client.connect();
    const { rows } = await client.query<{ heads: boolean }>(TABLE_EXISTS);
    if (!rows[0]!.heads) return [];
    const stores = await client.query<{ store: string }>("select distinct store from countersign_heads order by store");
    return stores.rows.map(({ store }) => store);
  } catch (error) {
    throw storeError(error, databaseAddress(url));
  } finally {
    await client.end().catch(() => undefined);
  }
}
