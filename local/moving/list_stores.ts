/** Lists the stores of a database without creating anything in it. */
import { explainMissingDriver } from "../open_store.ts";
import { databaseAddress, storeError } from "../../lib/store/postgres/errors.ts";

const CONNECT_TIMEOUT_MS = 5000;
const QUERY_TIMEOUT_MS = 10_000;

/** The table has a row for each store; a database without it has no store yet. */
const TABLE_EXISTS = "select to_regclass('countersign_heads') is not null as heads";

/** Returns the names of the stores in order. Errors: `StoreUnavailable`. */
export async function listStores(url: string): Promise<string[]> {
  const { Client } = await import("pg").catch(explainMissingDriver);
  const client = new Client({
    connectionString: url,
    application_name: "countersign",
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    query_timeout: QUERY_TIMEOUT_MS,
  });
  // Without a listener a connection that breaks would end the process; the running query fails anyway.
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
