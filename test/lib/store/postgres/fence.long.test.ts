/** A Postgres store separates its writers by conditions on its rows, without depending on locks. */
import { Client, Pool } from "pg";
import { afterAll, expect, test } from "vitest";
import { postgresStore } from "../../../../lib/store/postgres/store.ts";
import { StoreUnavailable } from "../../../../lib/store/store.ts";
import type { AnyStore } from "../../../contract/any_store.ts";
import { recordedPacing } from "../../../support/recorded_pacing.ts";
import { startPostgres } from "../../../support/postgres_server.ts";

const server = await startPostgres();
afterAll(() => server?.stop());
const onPostgres = server ? test : test.skip;

/** Creates a pool that replaces parts of each statement, to imitate an engine without a guarantee. */
function poolReplacing(...parts: readonly (readonly [part: string, by: string])[]): Pool {
  class ReplacingClient extends Client {
    // oxlint-disable-next-line no-explicit-any -- one of many overloads
    override query(...args: any[]): any {
      if (typeof args[0] === "string") for (const [part, by] of parts) args[0] = args[0].replaceAll(part, by);
      return super.query(...(args as [string]));
    }
  }
  const pool = new Pool({ connectionString: server!.url, Client: ReplacingClient });
  pool.on("error", () => undefined);
  return pool;
}

// Parts of statements, each with a text that removes its effect. LOCK: the lock of the head's row. FENCE: the head is still that
// of the last commit read (`$2` must stay in use). CONDITION: the same for the probe at the start.
const LOCK = ["for update", ""] as const;
const FENCE = ["and name = $2", "and $2::text is not null"] as const;
const CONDITION = ["and commits = 0", ""] as const;

const increment = (store: AnyStore): Promise<number> =>
  store.transact(async (tx) => {
    const next = ((await tx.get("counters", "n"))?.value ?? 0) + 1;
    tx.put("counters", "n", next);
    tx.put("log", String(next), next, 0);
    return next;
  });

/** Runs 120 increments by three writers, and returns their results in order. */
async function countTo120(pool: Pool, name: string): Promise<number[]> {
  const open = (): Promise<AnyStore> => postgresStore({ pool, name, random: recordedPacing().random });
  const stores = [await open(), await open(), await open()];
  const results = await Promise.all(Array.from({ length: 120 }, (_, index) => increment(stores[index % 3]!)));
  await Promise.all(stores.map((store) => store.close()));
  await pool.end();
  return results.sort((a, b) => a - b);
}

const ONE_TO_120 = Array.from({ length: 120 }, (_, index) => index + 1);

onPostgres("writers are serialized even if the engine's locks do nothing", async () => {
  expect(await countTo120(poolReplacing(LOCK), "no lock")).toEqual(ONE_TO_120);
});

onPostgres("without locks, one of two decisions that read what the other writes runs again", async () => {
  const pool = poolReplacing(LOCK);
  const stores: AnyStore[] = [await postgresStore({ pool, name: "skew" }), await postgresStore({ pool, name: "skew" })];
  for (let round = 0; round < 20; round++) {
    const ids = [`a${round}`, `b${round}`];
    await Promise.all(
      stores.map((store, index) =>
        store.transact(async (tx) => {
          const records = await Promise.all(ids.map((id) => tx.get("things", id)));
          if (records.every((record) => !record)) tx.put("things", ids[index]!, true);
        }),
      ),
    );
    const records = await Promise.all(ids.map((id) => stores[0]!.get("things", id)));
    expect(records.filter(Boolean)).toHaveLength(1);
  }
  await Promise.all(stores.map((store) => store.close()));
  await pool.end();
});

onPostgres("after the database is replaced by an older copy, a writer does not use cached records", async () => {
  const pool = new Pool({ connectionString: server!.url });
  const [one, other]: AnyStore[] = [
    await postgresStore({ pool, name: "copy" }),
    await postgresStore({ pool, name: "copy" }),
  ];
  await increment(one!);
  const runSql = async (sql: string): Promise<void> => void (await pool.query(sql));
  await runSql(`create table rows_then as select * from countersign_rows where store = 'copy';
    create table heads_then as select * from countersign_heads where store = 'copy'`);
  expect(await increment(one!)).toBe(2);
  await runSql(`delete from countersign_rows where store = 'copy'; delete from countersign_heads where store = 'copy';
    insert into countersign_rows select * from rows_then; insert into countersign_heads select * from heads_then`);
  await other!.transact((tx) => tx.put("log", "2", "another's"));
  // The numbers of commits and revisions are equal; only the name of the last commit differs.
  await expect(increment(one!)).rejects.toThrow(/log\/2/);
  expect((await other!.get("log", "2"))?.value).toBe("another's");
  expect((await other!.get("counters", "n"))?.value).toBe(1);
  await Promise.all([one!.close(), other!.close()]);
  await pool.end();
});

onPostgres("a start fails with a clear error if the database allows one connection only", async () => {
  const pool = new Pool({ connectionString: server!.url });
  await pool.query("create role single login password 'password' connection limit 1");
  await pool.query("grant all on schema public to single; grant all on all tables in schema public to single");
  const url = new URL(server!.url);
  url.username = "single";
  const openError = await postgresStore({ url: url.href, name: "single", ...recordedPacing() }).catch(
    (error: unknown) => error,
  );
  expect(openError).toBeInstanceOf(StoreUnavailable);
  expect(String(openError)).toMatch(/too many connections for role/);
  await pool.end();
});

onPostgres("an engine that lets two connections update one row from the same state is rejected", async () => {
  const pool = poolReplacing(CONDITION);
  const openError = postgresStore({ pool, name: "no fence" }).catch((error: unknown) => error);
  expect(await openError).toBeInstanceOf(StoreUnavailable);
  expect(String(await openError)).toMatch(/PostgreSQL \d+.* let 2 of two connections move one row/);
  await pool.end();
});

onPostgres("a write based on an absent record is decided again if the record was added meanwhile", async () => {
  // Without lock and fence only the condition on the record itself can detect it.
  const pool = poolReplacing(FENCE, LOCK);
  const name = "absent record";
  const [one, other]: [AnyStore, AnyStore] = [await postgresStore({ pool, name }), await postgresStore({ pool, name })];
  // Both have read that log/1 is absent.
  await Promise.all([one, other].map((store) => store.transact((tx) => tx.get("log", "1"))));
  await increment(one);
  // The first attempt, which would write log/1, conflicts; the second writes log/2.
  expect(await increment(other)).toBe(2);
  await Promise.all([one.close(), other.close()]);
  await pool.end();
});
