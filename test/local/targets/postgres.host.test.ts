/** A Postgres column as a target system, on a real server: lost connections, crashes, locks, rights, triggers. */
import { Client } from "pg";
import { afterAll, describe, expect, onTestFinished, test } from "vitest";
import type { Change } from "../../../lib/changes/rules/change.ts";
import { systemClock } from "../../../lib/kit/platform.ts";
import { Unanswered } from "../../../lib/kit/time_limit.ts";
import { memoryStore } from "../../../lib/store/memory.ts";
import { targetAdapter } from "../../../lib/targets/adapter.ts";
import type { AttemptContext, Entry, TargetValue } from "../../../lib/targets/port.ts";
import { postgresTarget, type PostgresTargetOptions } from "../../../local/targets/postgres.ts";
import { explainMissingDriver } from "../../../local/open_store.ts";
import { adapterCases } from "../../contract/adapter_cases.ts";
import { targetCases } from "../../contract/target_system_cases.ts";
import { startProxy } from "../../support/cut_proxy.ts";
import { startPostgres } from "../../support/postgres_server.ts";

const server = await startPostgres();
afterAll(() => server?.stop());

const neverAborted = new AbortController().signal;
const query = async (text: string, values: unknown[] = []) => (await server!.pool.query(text, values)).rows;

const CREATE = `create schema if not exists app;
  drop table if exists app.settings, app.texts, app.many cascade;
  drop function if exists app.edit cascade;
  create table app.settings (key text primary key, value jsonb);
  create table app.texts (key text primary key, value json);
  create table app.many (key text, value jsonb)`;

const common = { table: "app.settings", keyColumn: "key", valueColumn: "value" };
const key = ({ tenant_id, target }: Entry) => `${tenant_id}:${target}`;
const open = (overrides: Partial<PostgresTargetOptions> = {}) =>
  postgresTarget({ name: "settings", url: server!.url, ...common, key, ...overrides });
// Shared by all tests, since each system opens its own connections.
const jsonb = server && open();
const json = server && open({ table: "app.texts" });

const entry: Entry = { tenant_id: "t1", target: "seats", kind: "config", value: { limit: 1 } };
const change = { change_id: "chg_a", ...entry } as Change;
const next: TargetValue = { value: entry.value, version: "" };
const POLL = { timeout: 20_000, interval: 50 };
let attempts = 0;
const attempt = (): AttemptContext => ({
  change_id: "chg_a",
  operation: "apply",
  attempt: `of-this-file-${++attempts}`,
  at: "2026-01-02T03:04:05.678Z",
});

/** Creates the tables again, one of them with a row. */
async function createTables(text: string | null = '{"limit": 0}') {
  await query(CREATE);
  await query("insert into app.settings values ($1, $2)", [key(entry), text]);
  return {
    system: jsonb!,
    before: await jsonb!.read(entry, neverAborted),
    value: async () => (await query("select value::text from app.settings"))[0]?.value,
  };
}

/** Opens a connection, as another program does. */
async function connect(url = server!.url) {
  const client = new Client({ connectionString: url });
  client.on("error", () => undefined);
  await client.connect();
  onTestFinished(() => client.end());
  return client;
}

/** Resolves when the server shows a connection that waits for a lock; returns its process id. */
async function waitForLock(): Promise<number> {
  for (;;) {
    const [row] = await query("select pid from pg_locks where not granted");
    if (row) return row.pid;
  }
}

/** Creates a trigger that runs a body before each write of a row. */
const createTrigger = (body: string) =>
  query(`create function app.edit() returns trigger language plpgsql as $$ begin ${body} end $$;
    create trigger edit before insert or update or delete on app.settings for each row execute function app.edit()`);

/** Resumes a stopped process; a process that has ended is ignored. */
function resumeProcess(pid: number): void {
  try {
    process.kill(pid, "SIGCONT");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ESRCH") throw error;
  }
}

/** Opens a target system behind a proxy. Its `lose` cuts the connection at the next request that contains a text. */
async function openBehindProxy(overrides: Partial<PostgresTargetOptions> = {}) {
  const { hostname: host, port } = new URL(server!.url);
  const proxy = await startProxy({ host, port: Number(port) });
  onTestFinished(proxy.stop);
  return { ...proxy, system: open({ url: `postgres://postgres:password@${proxy.host}/postgres`, ...overrides }) };
}

describe.skipIf(!server)("a Postgres column", () => {
  describe.each(["settings", "texts"] as const)("target system contract, table app.%s", (table) => {
    test.each(targetCases)("$name", ({ run }) =>
      run(async () => {
        await query(CREATE);
        const { lose, system } = await openBehindProxy({ table: `app.${table}` });
        return {
          system,
          interrupt: () => void lose("request", "commit"),
          overwrite: async (one) => {
            const text = '{ "limit": 1.50,  "by": "another program", "10": 1e2 }';
            await query(`update app.${table} set value = $2 where key = $1`, [key(one), text]);
          },
        };
      }),
    );
  });

  test.each(adapterCases)("adapter contract: $name", ({ run }) =>
    run(async () => {
      await query(CREATE);
      return {
        adapter: targetAdapter(jsonb!, { store: memoryStore(), clock: systemClock }),
        overwrite: async (change, value) =>
          void (await query("update app.settings set value = $2 where key = $1", [
            key(change as Entry),
            JSON.stringify(value),
          ])),
      };
    }),
  );

  test.each([
    ["request", "absent", { limit: 0 }],
    ["answer", "applied", { limit: 1 }],
  ] as const)("a lost %s of the commit is unanswered, and then %s for another process", async (loss, state, value) => {
    const { system, before } = await createTables();
    const { lose, system: proxiedSystem } = await openBehindProxy();
    const store = memoryStore();
    const [adapter, later] = [proxiedSystem, system].map((one) => targetAdapter(one, { store, clock: systemClock }));
    const lost = lose(loss, "commit");
    await expect(adapter!.apply(change, neverAborted)).rejects.toBeInstanceOf(Unanswered);
    await lost;
    await expect.poll(() => later!.verify(change, neverAborted)).toBe(state);
    expect((await system.read(entry, neverAborted)).value).toEqual(value);
    await later!.apply(change, neverAborted);
    await later!.rollback({ ...change, status: "applied" } as Change, neverAborted);
    expect((await system.read(entry, neverAborted)).raw).toBe(before.raw);
  });

  test.each(["begin", "update", "countersign.change_id"])(
    "a connection lost at %s has a certain result: nothing was set",
    async (text) => {
      const { before, value } = await createTables();
      const { lose, system } = await openBehindProxy();
      for (const loss of ["request", "answer"] as const) {
        void lose(loss, text);
        const failed = await system.compareAndSet(entry, next, before, attempt(), neverAborted).catch((error) => error);
        expect([failed.name, failed.message]).toEqual(["Error", expect.stringContaining("Postgres: ")]);
      }
      expect(await value()).toBe('{"limit": 0}');
    },
  );

  describe("a commit that is still running", () => {
    async function commitLate() {
      const { before, value } = await createTables();
      // A deferred trigger runs during the commit, which waits there until the other connection releases its lock.
      await query(`create function app.edit() returns trigger language plpgsql as
        $$ begin perform pg_advisory_xact_lock(1); return null; end $$;
        create constraint trigger edit after update on app.settings deferrable initially deferred
          for each row execute function app.edit()`);
      const other = await connect();
      await other.query("select pg_advisory_lock(1)");
      const stop = new AbortController();
      const one = attempt();
      const written = jsonb!.compareAndSet(entry, next, before, one, stop.signal).catch((error) => error);
      const pid = await waitForLock();
      return { one, pid, value, release: () => other.query("select pg_advisory_unlock(1)"), stop, written };
    }

    test.each(["goes on", "is stopped and goes on"])(
      "is open until it ends, also where its process %s",
      async (how) => {
        const { one, pid, value, release, stop, written } = await commitLate();
        onTestFinished(() => void resumeProcess(pid));
        if (how !== "goes on") process.kill(pid, "SIGSTOP");
        stop.abort(new Error("time is up"));
        expect(await written).toBeInstanceOf(Unanswered);
        expect(await jsonb!.resolve!(entry, one, neverAborted)).toBe("open");
        await release();
        resumeProcess(pid);
        // Undefined: the attempt has ended, and the value shows its outcome.
        await expect.poll(() => jsonb!.resolve!(entry, one, neverAborted)).toBeUndefined();
        expect(await value()).toBe('{"limit": 1}');
      },
    );

    test("is undone if its process is killed, and the system works after the recovery", async () => {
      const { one, pid, value, written } = await commitLate();
      process.kill(pid, "SIGKILL");
      expect(await written).toBeInstanceOf(Unanswered);
      await expect
        .poll(() => jsonb!.resolve!(entry, one, neverAborted).catch(() => "recovering"), POLL)
        .toBeUndefined();
      expect(await value()).toBe('{"limit": 0}');
      await createTables();
    });
  });

  test("a crash of the server between read and write leaves the value, which can be set afterwards", async () => {
    const { before, system, value } = await createTables();
    await server!.crash();
    const set = () => system.compareAndSet(entry, next, before, attempt(), neverAborted);
    expect(await set().catch(set)).toMatchObject({ done: true });
    expect(await value()).toBe('{"limit": 1}');
  });

  test("an apply waits for a row locked by another transaction, and compares its new value", async () => {
    const { system, value } = await createTables();
    const other = await connect();
    for (const end of ["rollback", "commit"]) {
      await query("update app.settings set value = $1", ['{"limit": 0}']);
      const expected = await system.read(entry, neverAborted);
      await other.query(`begin; update app.settings set value = '"theirs"'`);
      const written = system.compareAndSet(entry, next, expected, attempt(), neverAborted);
      await waitForLock();
      await other.query(end);
      if (end === "rollback") expect(await written).toMatchObject({ done: true });
      else expect(await written).toMatchObject({ done: false, conflict: { value: "theirs" } });
    }
    expect(await value()).toBe('"theirs"');
    await other.query("begin; select from app.settings for update");
    const withShortLimit = open({ statementMs: 50 });
    const expected = await system.read(entry, neverAborted);
    const rejected = await withShortLimit.compareAndSet(entry, next, expected, attempt(), neverAborted);
    // 55P03: the lock is not available in time; 57014: the statement took too long.
    expect(rejected).toMatchObject({ done: false, rejected: expect.stringMatching(/55P03|57014/) });
    const stop = new AbortController();
    const stopped = system.compareAndSet(entry, next, expected, attempt(), stop.signal);
    await waitForLock();
    stop.abort(new Error("time is up"));
    await expect(stopped).rejects.toThrow("time is up");
    await other.query("rollback");
    expect(await value()).toBe('"theirs"');
  });

  test("every part of the comparison counts: version, text and absence", async () => {
    const { before, system } = await createTables();
    // A version is the id of the transaction that wrote the row, and a hash of its text.
    const [xmin, hash] = before.version.split(" ");
    const older = { ...before, version: `${Number(xmin) - 1} ${hash}` };
    const restored = { version: `${xmin} another-hash`, value: 1, raw: "1" };
    for (const expected of [older, restored, { version: "absent" }])
      for (const value of [next, undefined])
        expect(await system.compareAndSet(entry, value, expected, attempt(), neverAborted)).toEqual({
          done: false,
          conflict: before,
        });
    expect(await system.compareAndSet(entry, next, before, attempt(), neverAborted)).toMatchObject({ done: true });
  });

  test("after a rewrite of the table an apply is done, or reports the same value as a conflict", async () => {
    const { before, system } = await createTables();
    await query("vacuum full app.settings");
    expect(await system.compareAndSet(entry, next, before, attempt(), neverAborted)).toMatchObject({ done: true });
    const expected = await system.read(entry, neverAborted);
    // Unlike `vacuum full`, this writes each row by a new transaction, so that its version changes.
    await query("alter table app.settings add column note text default random()::text");
    const other = { value: 2, version: "" };
    const result = await system.compareAndSet(entry, other, expected, attempt(), neverAborted);
    expect(result).toMatchObject({ done: false, conflict: { value: entry.value } });
  });

  test.each([
    ["a trigger that skips the row", "return null;"],
    ["a trigger that keeps the old value", "if tg_op = 'UPDATE' then return old; end if; return null;"],
    [
      "a trigger that changes the value",
      `if tg_op = 'DELETE' then return null; end if; new.value = '"x"'; return new;`,
    ],
  ])("%s is a rejection, not a conflict and not done", async (_, body) => {
    const { before, system, value } = await createTables();
    await createTrigger(body);
    const rejected = { done: false, rejected: expect.stringContaining("row security or a trigger") };
    const fresh = { ...entry, target: "new" };
    expect(await system.compareAndSet(entry, next, before, attempt(), neverAborted)).toEqual(rejected);
    expect(await system.compareAndSet(entry, undefined, before, attempt(), neverAborted)).toEqual(rejected);
    expect(
      await system.compareAndSet(fresh, next, await system.read(fresh, neverAborted), attempt(), neverAborted),
    ).toEqual(rejected);
    expect(await query("select value::text from app.settings")).toEqual([{ value: await value() }]);
    expect(await value()).toBe('{"limit": 0}');
  });

  test("a trigger's rejection is reported, and a trigger can record the change's id", async () => {
    const { before, system, value } = await createTables();
    await createTrigger("raise exception 'closed on Fridays';");
    expect(await system.compareAndSet(entry, next, before, attempt(), neverAborted)).toEqual({
      done: false,
      rejected: "Postgres: closed on Fridays (P0001)",
    });
    await query(`create or replace function app.edit() returns trigger language plpgsql as $$ begin
      insert into app.many values (new.key, to_jsonb(current_setting('countersign.change_id', true))); return new; end $$`);
    expect(await system.compareAndSet(entry, next, before, attempt(), neverAborted)).toMatchObject({ done: true });
    await query("update app.settings set value = '1'");
    expect((await query("select value from app.many")).map((row) => row.value)).toEqual(["chg_a", null]);
    expect(await value()).toBe("1");
  });

  describe("a role", () => {
    async function openAsRole(grants: string) {
      const { before, value } = await createTables();
      await query(`drop owned by limited; drop role limited`).catch(() => undefined);
      await query(`create role limited login password 'word'; grant usage on schema app to limited; ${grants}`);
      const url = server!.url.replace("postgres:password", "limited:word");
      return { before, value, system: open({ url }) };
    }

    test.each([
      ["without a right to write", "grant select on app.settings to limited", "permission denied"],
      ["without a right to read", "grant insert, update on app.settings to limited", "permission denied"],
    ])("%s fails a ping, and its write is rejected", async (_, grants, reason) => {
      const { before, value, system } = await openAsRole(grants);
      await expect(system.ping!(neverAborted)).rejects.toThrow(reason);
      expect(await system.compareAndSet(entry, next, before, attempt(), neverAborted)).toEqual({
        done: false,
        // SQLSTATE of missing rights.
        rejected: expect.stringContaining("42501"),
      });
      expect(await value()).toBe('{"limit": 0}');
    });

    test("that may only read and write rows can set, remove and add a value", async () => {
      const { before, system } = await openAsRole("grant select, insert, update, delete on app.settings to limited");
      await system.ping!(neverAborted);
      await system.compareAndSet(entry, next, before, attempt(), neverAborted);
      await system.compareAndSet(entry, undefined, await system.read(entry, neverAborted), attempt(), neverAborted);
      await system.compareAndSet(entry, next, await system.read(entry, neverAborted), attempt(), neverAborted);
      expect((await system.read(entry, neverAborted)).value).toEqual(entry.value);
    });

    test("that row security keeps from writing is rejected; so is a write to a hidden row", async () => {
      const { before, value, system } = await openAsRole(`grant all on app.settings to limited;
        alter table app.settings enable row level security;
        create policy readable on app.settings for select to limited using (true);
        create policy writable on app.settings for update to limited using (false)`);
      const rejected = { done: false, rejected: expect.stringContaining("row security or a trigger") };
      expect(await system.compareAndSet(entry, next, before, attempt(), neverAborted)).toEqual(rejected);
      await query(`drop policy readable on app.settings;
        create policy addable on app.settings for insert to limited with check (true)`);
      const absent = await system.read(entry, neverAborted);
      expect(absent.value).toBeUndefined();
      const hidden = await system.compareAndSet(entry, next, absent, attempt(), neverAborted);
      expect(hidden).toEqual({ done: false, rejected: expect.any(String) });
      expect(await value()).toBe('{"limit": 0}');
    });

    test("with a wrong password is rejected, and no message has an address or a password", async () => {
      const { before, value } = await createTables();
      const system = open({ url: server!.url.replace("password", "secret-word") });
      const calls = [
        () => system.ping!(neverAborted),
        () => system.read(entry, neverAborted),
        () => system.resolve!(entry, attempt(), neverAborted),
        () => system.compareAndSet(entry, next, before, attempt(), neverAborted),
      ];
      for (const call of calls) {
        const error = await call().catch((failed: Error) => failed);
        expect(error).toMatchObject({ message: expect.stringContaining("password authentication failed") });
        expect(String(error)).not.toMatch(/secret-word|@/);
      }
      expect(await value()).toBe('{"limit": 0}');
    });
  });

  test.each([
    ["no such table", { table: "app.no" }, 'relation "app.no" does not exist'],
    ["no such column", { valueColumn: "no" }, 'column "no" does not exist'],
    ["a text column", { valueColumn: "key" }, "neither jsonb nor json"],
    ["no unique key", { table: "app.many" }, "no unique or exclusion constraint"],
    ["a read-only database", { url: `${server?.url}?options=-c%20default_transaction_read_only%3Don` }, "is read-only"],
    ["an unreachable server", { url: "postgres://127.0.0.1:1/no" }, "ECONNREFUSED"],
  ])("a ping notices %s", async (_, overrides, reason) => {
    await createTables();
    await expect(open(overrides).ping!(neverAborted)).rejects.toThrow(reason);
  });

  test("a ping changes nothing, and succeeds with all rights", async () => {
    const { system, value } = await createTables();
    await system.ping!(neverAborted);
    await json!.ping!(neverAborted);
    await system.probe!();
    expect(await value()).toBe('{"limit": 0}');
  });

  test("an insert needs the unique key, and several rows with one key are rejected", async () => {
    await createTables();
    const system = open({ table: "app.many" });
    const result = await system.compareAndSet(
      entry,
      next,
      await system.read(entry, neverAborted),
      attempt(),
      neverAborted,
    );
    // SQLSTATE of an `on conflict` without a unique constraint.
    expect(result).toEqual({ done: false, rejected: expect.stringContaining("42P10") });
    await query(`insert into app.many values ($1, '1'), ($1, '2')`, [key(entry)]);
    await expect(system.read(entry, neverAborted)).rejects.toThrow("2 rows have the key");
  });

  test("names of tables and columns are quoted", async () => {
    await createTables();
    await query(`create schema if not exists "Odd""; drop"; drop table if exists "Odd""; drop"."t""1";
      create table "Odd""; drop"."t""1" ("the ""key" text primary key, "v" json)`);
    const system = open({ table: 'Odd"; drop.t"1', keyColumn: 'the "key', valueColumn: "v" });
    await system.ping!(neverAborted);
    await system.compareAndSet(entry, next, await system.read(entry, neverAborted), attempt(), neverAborted);
    expect((await system.read(entry, neverAborted)).value).toEqual(entry.value);
  });

  test.each([
    ["app.texts", '{ "b" : 1.0, "a":1e2, "b": 12345678901234567890 }'],
    ["app.texts", '"\\ud800"'],
    ["app.settings", '{"id": 12345678901234567890}'],
    ["app.settings", null],
  ])("a rollback restores the text of a row of %s: %s", async (table, text) => {
    await createTables();
    await query("delete from app.settings");
    await query(`insert into ${table} values ($1, $2)`, [key(entry), text]);
    const system = table === "app.texts" ? json! : jsonb!;
    const adapter = targetAdapter(system, { store: memoryStore(), clock: systemClock });
    await adapter.apply(change, neverAborted);
    expect(await adapter.verify(change, neverAborted)).toBe("applied");
    await adapter.rollback({ ...change, status: "applied" } as Change, neverAborted);
    expect((await query(`select value::text from ${table}`))[0]!.value).toBe(text);
  });
});

const makeOffline = (overrides: Partial<PostgresTargetOptions> = {}) =>
  postgresTarget({ name: "settings", url: "postgres://u:secret@DB.acme.example/a%20b", ...common, key, ...overrides });

test("the target's description has address, table, columns and key, and no credentials", () => {
  expect(makeOffline().place(entry)).toBe('postgres db.acme.example:5432/a b app.settings(key,value) "t1:seats"');
  const socket = makeOffline({ url: "postgres:///db?host=/run/pg&port=6000", table: "settings" });
  expect(socket.place(entry)).toBe('postgres /run/pg:6000/db public.settings(key,value) "t1:seats"');
});

test.each([
  { url: "secret-word" },
  { url: "https://u:secret-word@h/d" },
  { url: "postgres://u:secret-word@h/%zz" },
  { table: "a.b.c" },
  { table: "a." },
])("malformed options are an error that quotes no address: %o", (overrides) => {
  expect(() => makeOffline(overrides)).toThrow(/must read/);
  expect(() => makeOffline(overrides)).not.toThrow("secret-word");
});

test.each([["a\0b"], [{ a: ["\ud800"] }], [{ "\0": 1 }], [{ unparsed: "x" }]])(
  "a value that Postgres cannot store is rejected without a request: %o",
  (value) => {
    expect(makeOffline().check({ ...entry, value })).toBeTypeOf("string");
    expect(
      makeOffline().check({ ...entry, value: ["\u{1F980}", "\\u0000", 1e300, { unparsed: 1, a: 2 }] }),
    ).toBeUndefined();
  },
);

test("a driver that is not installed is named with the command that installs it", () => {
  const missing = Object.assign(new Error("Cannot find package 'pg'"), { code: "ERR_MODULE_NOT_FOUND" });
  expect(() => explainMissingDriver(missing, "the target system settings")).toThrow(
    "the target system settings needs the driver of Postgres in addition to this package: npm install pg",
  );
});
