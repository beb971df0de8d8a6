/** The store in Postgres: the contract of all stores, several writers, opening and errors; skipped without a local server. */
import { Client, Pool, type QueryResult } from "pg";
import { afterAll, describe, expect, test } from "vitest";
import { systemPacing } from "../../../../lib/store/engine/pacing.ts";
import { postgresStore } from "../../../../lib/store/postgres/store.ts";
import { StoreUnavailable } from "../../../../lib/store/store.ts";
import type { AnyStore, AnyTx } from "../../../contract/any_store.ts";
import type { Subject } from "../../../contract/store_cases.ts";
import { storeContract } from "../../../contract/store_contract.ts";
import { put } from "../../../contract/store_records.ts";
import { startPostgres } from "../../../support/postgres_server.ts";

const server = await startPostgres();
afterAll(() => server?.stop());
let storeCount = 0;
const nextName = (): string => `store-${++storeCount}`;

/** A client whose commits are counted, and wait for `gate`. */
class CountedClient extends Client {
  static commits = 0;
  static gate: Promise<unknown> = Promise.resolve();
  // oxlint-disable-next-line no-explicit-any -- one of many overloads
  override query(...args: any[]): any {
    if (args[0] !== "commit") return super.query(...(args as [string]));
    CountedClient.commits++;
    return CountedClient.gate.then((): Promise<QueryResult> => super.query("commit"));
  }
}

async function makeSubject(url: string): Promise<Subject> {
  const name = nextName();
  const pool = new Pool({ connectionString: url, Client: CountedClient });
  const stores: AnyStore[] = [await postgresStore({ pool, name })];
  return {
    store: stores[0]!,
    another: () => postgresStore({ pool, name }),
    async reopen() {
      await stores.at(-1)!.close();
      stores.push(await postgresStore({ pool, name }));
      return stores.at(-1)!;
    },
    /** Delays all commits until the returned function is called. */
    stall() {
      let release = (): void => undefined;
      CountedClient.gate = new Promise<void>((resolve) => (release = resolve));
      return () => release();
    },
    syncs: () => CountedClient.commits,
    async dispose() {
      await stores.at(-1)!.close();
      await pool.end();
    },
  };
}

test("a Postgres store is opened with either an address or a pool", async () => {
  await expect(postgresStore({})).rejects.toThrow("give either url or pool");
  await expect(postgresStore({ url: "postgres://127.0.0.1/", pool: new Pool() })).rejects.toThrow("either");
});

if (server) {
  const { url, pool } = server;
  const withStores = async (count: number, use: (stores: AnyStore[]) => Promise<void>): Promise<void> => {
    const name = nextName();
    const stores = await Promise.all(Array.from({ length: count }, () => postgresStore({ url, name })));
    await use(stores).finally(() => Promise.all(stores.map((store) => store.close())));
  };

  test("stores that share a pool of the application leave one listener on it", async () => {
    for (let count = 0; count < 3; count++) await (await postgresStore({ pool, name: nextName() })).close();
    expect(pool.listenerCount("connect")).toBe(1);
  });

  storeContract("the Postgres store", () => makeSubject(url), ["another", "reopen", "stall", "syncs"]);

  describe("several writers on one Postgres store", () => {
    test("400 increments by 4 writers count to 400, each number once", () =>
      withStores(4, async (stores) => {
        const increment = (store: AnyStore) =>
          store.transact(async (tx) => {
            const next = ((await tx.get("counters", "n"))?.value ?? 0) + 1;
            tx.put("counters", "n", next);
            return next;
          });
        const numbers = await Promise.all(Array.from({ length: 400 }, (_, index) => increment(stores[index % 4]!)));
        expect([...numbers].sort((a, b) => a - b)).toEqual(numbers.map((_, index) => index + 1));
      }));

    test("all writers immediately see the commits of the others", () =>
      withStores(2, async ([one, other]) => {
        for (let index = 0; index < 10; index++) {
          await put(one!, "things", "a", index);
          expect((await other!.get("things", "a"))?.value).toBe(index);
          expect(await other!.transact(async (tx) => (await tx.get("things", "a"))?.value)).toBe(index);
        }
      }));
  });

  describe("the Postgres store", () => {
    test("separates stores of different names in one database", async () => {
      const [one, other]: [AnyStore, AnyStore] = [
        await postgresStore({ url, name: "one" }),
        await postgresStore({ url, name: "other" }),
      ];
      await put(one, "things", "a", 1);
      expect(await other.get("things", "a")).toBeUndefined();
      expect(await other.list("things", { limit: 9 })).toEqual([]);
      await Promise.all([one.close(), other.close()]);
    });

    test("makes its tables once when many open an empty database concurrently", async () => {
      await pool.query("create database empty");
      const empty = url.replace(/[^/]*$/, "empty");
      const stores: AnyStore[] = await Promise.all(Array.from({ length: 5 }, () => postgresStore({ url: empty })));
      await put(stores[0]!, "things", "a", 1);
      expect((await stores[4]!.get("things", "a"))?.value).toBe(1);
      await Promise.all(stores.map((store) => store.close()));
    });

    test("rejects tables of a later version, and says what to do", async () => {
      await pool.query("create database later");
      const later = url.replace(/[^/]*$/, "later");
      await (await postgresStore({ url: later })).close();
      const client = new Client(later);
      await client.connect();
      await client.query("update countersign_schema set version = 99");
      await client.end();
      // An open that tries again sleeps first.
      const sleep = () => Promise.reject(new Error("trying again does not help"));
      const opening = postgresStore({ url: later, clock: { ...systemPacing.clock, sleep } });
      await expect(opening).rejects.toThrow(StoreUnavailable);
      await expect(opening).rejects.toThrow(
        /^postgres:\/\/\S+\/later: .* of version 99.*use the version that made them/,
      );
    });

    test("rejects a database that is not in UTF-8", async () => {
      await pool.query("create database latin encoding 'LATIN1' template template0");
      const opening = postgresStore({ url: url.replace(/[^/]*$/, "latin") });
      await expect(opening).rejects.toThrow(/encoding LATIN1; make one with encoding UTF8/);
    });

    test("names the database but not the password in the error of a failed open", async () => {
      // The server's user and its password are `postgres` and `password`.
      const wrong = url.replace(":password@", ":sesame-open@");
      const openError = await postgresStore({ url: wrong }).catch((error: Error) => error as Error);
      expect(openError).toBeInstanceOf(StoreUnavailable);
      expect((openError as Error).message).toMatch(
        /^postgres:\/\/127\.0\.0\.1:\d+\/postgres: password authentication failed/,
      );
      expect(String((openError as Error).stack)).not.toContain("sesame");
      await expect(postgresStore({ url: "nonsense with sesame" })).rejects.not.toThrow(/sesame/);
    });

    test("does not close the pool of the host application", async () => {
      const ownPool = new Pool({ connectionString: url });
      const store: AnyStore = await postgresStore({ pool: ownPool, name: nextName() });
      await put(store, "things", "a", 1);
      await store.close();
      expect((await ownPool.query("select 1 as one")).rows).toEqual([{ one: 1 }]);
      await ownPool.end();
    });

    test("waits for the disk even if the database is configured not to", async () => {
      await pool.query("create role hasty superuser login password 'password'");
      await pool.query("alter role hasty set synchronous_commit = off");
      const settings: string[] = [];
      class ClientReadingSetting extends Client {
        // oxlint-disable-next-line no-explicit-any -- one of many overloads
        override query(...args: any[]): any {
          if (args[0] !== "commit") return super.query(...(args as [string]));
          return super.query("show synchronous_commit").then(({ rows }) => {
            settings.push(rows[0].synchronous_commit);
            return super.query("commit");
          });
        }
      }
      const ownPool = new Pool({
        connectionString: url.replace("postgres:password", "hasty:password"),
        Client: ClientReadingSetting,
      });
      const store: AnyStore = await postgresStore({ pool: ownPool, name: nextName() });
      await put(store, "things", "a", 1);
      expect(settings.at(-1)).toBe("on");
      await store.close();
      await ownPool.end();
    });

    test("stores ids that SQL text could not represent", async () => {
      await withStores(1, async ([store]) => {
        const ids = ["\u0000", "a\u0000", "a\u0000b", "\ufeffmark", "'; drop table countersign_rows; --"];
        await store!.transact((tx) => ids.forEach((id) => tx.put("odd", id, { id })));
        for (const id of ids) expect((await store!.get("odd", id))?.value).toEqual({ id });
        expect((await store!.list("odd", { limit: 9 })).map(({ id }) => id)).toEqual([...ids].sort());
      });
    });

    test("reads many records with one statement", async () => {
      const statements: unknown[] = [];
      class ClientRecordingStatements extends Client {
        // oxlint-disable-next-line no-explicit-any -- one of many overloads
        override query(...args: any[]): any {
          statements.push(args[0]);
          return super.query(...(args as [string]));
        }
      }
      const ownPool = new Pool({ connectionString: url, Client: ClientRecordingStatements });
      const store: AnyStore = await postgresStore({ pool: ownPool, name: nextName() });
      const ids = Array.from({ length: 50 }, (_, index) => `r${index}`);
      await store.transact((tx) => ids.forEach((id) => tx.put("things", id, id)));
      statements.length = 0;
      expect((await store.getMany("things", ids)).map((stored) => stored?.value)).toEqual(ids);
      expect(statements).toHaveLength(1);
      await store.close();
      await ownPool.end();
    });

    test("reads a page of records without reading deleted ones", async () => {
      await withStores(1, async ([store]) => {
        const ids = Array.from({ length: 3000 }, (_, index) => `q${String(index).padStart(4, "0")}`);
        // In slices of 50, since one decision may write 99 records.
        const write = (each: (tx: AnyTx, id: string) => void) =>
          Promise.all(
            Array.from({ length: 60 }, (_, part) => ids.slice(part * 50, part * 50 + 50)).map((slice) =>
              store!.transact((tx) => slice.forEach((id) => each(tx, id))),
            ),
          );
        await write((tx, id) => tx.put("queue", id, 1));
        await write((tx, id) => id !== ids.at(-1) && tx.delete("queue", id));
        expect((await store!.list("queue", { limit: 1 })).map(({ id }) => id)).toEqual(["q2999"]);
        // The condition and the order of the statement that `list` sends; `countersign_live` is the index of live records.
        await pool.query("analyze countersign_rows");
        const { rows } = await pool.query(
          `explain (analyze, format json) select id from countersign_rows
           where store = $1 and collection = 'queue' and not deleted order by id limit 1`,
          [`store-${storeCount}`],
        );
        expect(JSON.stringify(rows)).toContain("countersign_live");
      });
    });
  });
}
