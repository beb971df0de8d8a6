/** The store itself, not a lock, separates the writers of a Postgres store. */
import { Client, Pool } from "pg";
import { afterAll, expect, test } from "vitest";
import { postgresStore } from "../../../../lib/store/postgres/store.ts";
import { StoreUnavailable } from "../../../../lib/store/store.ts";
import type { AnyStore } from "../../../contract/any_store.ts";
import { notedPacing } from "../../../support/noted_pacing.ts";
import { startPostgres } from "../../../support/postgres_server.ts";

const server = await startPostgres();
afterAll(() => server?.stop());
const onPostgres = server ? test : test.skip;

/** Connections to an engine that does not keep to something: that part of a statement is replaced. */
function lacking(...parts: readonly (readonly [part: string, by: string])[]): Pool {
  class Lacking extends Client {
    // oxlint-disable-next-line no-explicit-any -- one of many overloads
    override query(...given: any[]): any {
      if (typeof given[0] === "string") for (const [part, by] of parts) given[0] = given[0].replaceAll(part, by);
      return super.query(...(given as [string]));
    }
  }
  const pool = new Pool({ connectionString: server!.url, Client: Lacking });
  pool.on("error", () => undefined);
  return pool;
}

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

/** Results of 120 increments by three writers. */
async function countTo120(pool: Pool, name: string): Promise<number[]> {
  const open = (): Promise<AnyStore> => postgresStore({ pool, name, random: notedPacing().random });
  const stores = [await open(), await open(), await open()];
  const reported = await Promise.all(Array.from({ length: 120 }, (_, index) => increment(stores[index % 3]!)));
  await Promise.all(stores.map((store) => store.close()));
  await pool.end();
  return reported.sort((a, b) => a - b);
}

const EACH_ONCE = Array.from({ length: 120 }, (_, index) => index + 1);

onPostgres("writers follow one another where the engine's locks are none", async () => {
  expect(await countTo120(lacking(LOCK), "no lock")).toEqual(EACH_ONCE);
});

onPostgres("of two decisions that each rest on what the other writes one is decided again there", async () => {
  const pool = lacking(LOCK);
  const stores: AnyStore[] = [await postgresStore({ pool, name: "skew" }), await postgresStore({ pool, name: "skew" })];
  for (let round = 0; round < 20; round++) {
    const ids = [`a${round}`, `b${round}`];
    await Promise.all(
      stores.map((store, index) =>
        store.transact(async (tx) => {
          const taken = await Promise.all(ids.map((id) => tx.get("things", id)));
          if (taken.every((found) => !found)) tx.put("things", ids[index]!, true);
        }),
      ),
    );
    const kept = await Promise.all(ids.map((id) => stores[0]!.get("things", id)));
    expect(kept.filter(Boolean)).toHaveLength(1);
  }
  await Promise.all(stores.map((store) => store.close()));
  await pool.end();
});

onPostgres(
  "where the database is another copy, that lacks a commit, a writer does not go on from what it lacks",
  async () => {
    const pool = new Pool({ connectionString: server!.url });
    const [one, other]: AnyStore[] = [
      await postgresStore({ pool, name: "copy" }),
      await postgresStore({ pool, name: "copy" }),
    ];
    await increment(one!);
    const kept = async (sql: string): Promise<void> => void (await pool.query(sql));
    await kept(`create table rows_then as select * from countersign_rows where store = 'copy';
    create table heads_then as select * from countersign_heads where store = 'copy'`);
    expect(await increment(one!)).toBe(2);
    await kept(`delete from countersign_rows where store = 'copy'; delete from countersign_heads where store = 'copy';
    insert into countersign_rows select * from rows_then; insert into countersign_heads select * from heads_then`);
    await other!.transact((tx) => tx.put("log", "2", "another's"));
    // As many commits, and each record as often: only the name of the last tells.
    await expect(increment(one!)).rejects.toThrow(/log\/2/);
    expect((await other!.get("log", "2"))?.value).toBe("another's");
    expect((await other!.get("counters", "n"))?.value).toBe(1);
    await Promise.all([one!.close(), other!.close()]);
    await pool.end();
  },
);

onPostgres("a database that gives one connection and no other refuses the start in a sentence", async () => {
  const pool = new Pool({ connectionString: server!.url });
  await pool.query("create role single login password 'password' connection limit 1");
  await pool.query("grant all on schema public to single; grant all on all tables in schema public to single");
  const url = new URL(server!.url);
  url.username = "single";
  const refused = await postgresStore({ url: url.href, name: "single", ...notedPacing() }).catch(
    (error: unknown) => error,
  );
  expect(refused).toBeInstanceOf(StoreUnavailable);
  expect(String(refused)).toMatch(/too many connections for role/);
  await pool.end();
});

onPostgres("an engine on which two connections move one row from the same place is refused by name", async () => {
  const pool = lacking(CONDITION);
  const refused = postgresStore({ pool, name: "no fence" }).catch((error: unknown) => error);
  expect(await refused).toBeInstanceOf(StoreUnavailable);
  expect(String(await refused)).toMatch(/PostgreSQL \d+.* let 2 of two connections move one row/);
  await pool.end();
});

onPostgres("what was never there is put in the place of nothing", async () => {
  const pool = lacking(FENCE, LOCK);
  const name = "what is there";
  const [one, other]: [AnyStore, AnyStore] = [await postgresStore({ pool, name }), await postgresStore({ pool, name })];
  await Promise.all([one, other].map((store) => store.transact((tx) => tx.get("log", "1"))));
  await increment(one);
  expect(await increment(other)).toBe(2);
  await Promise.all([one.close(), other.close()]);
  await pool.end();
});
