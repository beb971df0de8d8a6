/** Which stores a database has: asked of it as it is, without making anything in it. */
import { withoutDriver } from "../open_store.ts";
import { placeOf, storeError } from "../../lib/store/postgres/errors.ts";

const CONNECT_MS = 5000;
const ANSWER_MS = 10_000;

const TABLES = `select to_regclass('countersign_heads') is not null as heads,
  to_regclass('countersign_records') is not null as records`;

/** Their names, in order. Errors: `StoreUnavailable`. */
export async function storesIn(url: string): Promise<string[]> {
  const { Client } = await import("pg").catch(withoutDriver);
  const client = new Client({
    connectionString: url,
    application_name: "countersign",
    connectionTimeoutMillis: CONNECT_MS,
    query_timeout: ANSWER_MS,
  });
  // A connection that breaks is told of by the question that is not answered.
  client.on("error", () => undefined);
  try {
    await client.connect();
    const { rows } = await client.query<{ heads: boolean; records: boolean }>(TABLES);
    const { heads, records } = rows[0]!;
    // Version 0.1.0 had one table, under another name.
    const table = heads ? "countersign_heads" : records ? "countersign_records" : undefined;
    if (!table) return [];
    const stores = await client.query<{ store: string }>(`select distinct store from ${table} order by store`);
    return stores.rows.map(({ store }) => store);
  } catch (error) {
    throw storeError(error, placeOf(url));
  } finally {
    await client.end().catch(() => undefined);
  }
}
