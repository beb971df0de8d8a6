/** The store in Postgres under faults: held locks, broken connections, lost responses, a halted process, a server crash. */
import { once } from "node:events";
import { type AddressInfo, connect, createServer } from "node:net";
import { Client, Pool } from "pg";
import { afterAll, afterEach, expect, test } from "vitest";
import { postgresStore, type PostgresOptions } from "../../../lib/store/postgres/store.ts";
import { OutcomeUnknown, StoreBusy, StoreUnavailable } from "../../../lib/store/store.ts";
import type { AnyStore } from "../../contract/any_store.ts";
import { put } from "../../contract/store_records.ts";
import { type CutProxy, startProxy } from "../../support/cut_proxy.ts";
import { lockHead, type PostgresServer, startPostgres } from "../../support/postgres_server.ts";
import { recordedPacing } from "../../support/recorded_pacing.ts";
import { makeBarrier } from "../../support/scripted_adapter.ts";

const server = await startPostgres();
const cleanups: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const cleanUp of cleanups.splice(0).reverse()) await cleanUp();
});
afterAll(() => server?.stop());
const testFault = server ? test : test.skip;
const { url, pool } = (server ?? {}) as PostgresServer;

/** A long timeout, for slow machines. */
const TIME = { timeout: 20_000 };

/** The commit statement as it is sent. */
const COMMIT = "commit\u0000";

let storeCount = 0;
async function open(options: Partial<PostgresOptions> = {}): Promise<AnyStore> {
  const store = await postgresStore({ name: `faults-${++storeCount}`, ...(options.pool ? {} : { url }), ...options });
  cleanups.push(() => store.close());
  return store;
}

/** A store whose connections go through a proxy. */
async function openThroughProxy(options: Partial<PostgresOptions> = {}): Promise<{ store: AnyStore; proxy: CutProxy }> {
  const { hostname: host, port } = new URL(url);
  const proxy = await startProxy({ host, port: Number(port) });
  cleanups.push(proxy.stop);
  return { store: await open({ url: url.replace(`${host}:${port}`, proxy.host), ...options }), proxy };
}

/** Appends the next number to a log record, and counts the runs of the decision. */
const append = (store: AnyStore, runs: { count: number } = { count: 0 }) =>
  store.transact(async (tx) => {
    runs.count++;
    const log = (await tx.get("log", "all"))?.value ?? [];
    tx.put("log", "all", [...log, log.length + 1]);
  });
const readLog = async (store: AnyStore) => (await store.get("log", "all"))?.value;

const terminate = (application = "countersign") =>
  pool.query("select pg_terminate_backend(pid) from pg_stat_activity where application_name = $1", [application]);

testFault("a store whose lock is held fails as busy after 8 attempts, and works after the release", async () => {
  const pacing = recordedPacing();
  const name = "held";
  const store = await open({ name, ...pacing, limits: { lock: 20 } });
  const releaseLock = await lockHead(pool, name);
  await expect(put(store, "things", "a", 1)).rejects.toThrow(StoreBusy);
  // Half (the recorded pacing's random number) of 25 ms, which doubles with each attempt up to 1 s.
  expect(pacing.pauses).toEqual([12, 25, 50, 100, 200, 400, 500]);
  await releaseLock();
  expect(await store.get("things", "a")).toBeUndefined();
  await put(store, "things", "a", 2);
  expect((await store.list("things", { limit: 9 })).map(({ id }) => id)).toEqual(["a"]);
});

/** Creates a pool on which a statement waits until `release` is called. */
function openHaltingPool(statement: string) {
  const [statementReached, gate] = [makeBarrier(), makeBarrier()];
  class Halting extends Client {
    // oxlint-disable-next-line no-explicit-any -- one of many overloads
    override query(...args: any[]): any {
      const sent = () => super.query(...(args as [string]));
      if (typeof args[0] !== "string" || !args[0].startsWith(statement)) return sent();
      statementReached.open();
      return gate.opened.then(sent);
    }
  }
  const halted = new Pool({ connectionString: url, Client: Halting });
  halted.on("error", () => undefined);
  cleanups.push(() => halted.end());
  return { pool: halted, statementReached: statementReached.opened, release: gate.open };
}

/** The writes of a commit. */
const WRITE = "with put as";

testFault("a connection that breaks between lock and writes is replaced, and the commit succeeds", async () => {
  const { pool: halted, statementReached, release } = openHaltingPool(WRITE);
  const pacing = recordedPacing();
  const store = await open({ pool: halted, ...pacing });
  const appended = append(store);
  await statementReached;
  const [{ pid }] = (await pool.query("select pid from pg_stat_activity where state = 'idle in transaction'")).rows;
  await pool.query("select pg_terminate_backend($1)", [pid]);
  release();
  await appended;
  expect(pacing.pauses).toHaveLength(1);
  expect(await readLog(store)).toEqual([1]);
});

testFault("an idle connection that breaks is logged", async () => {
  const warnings: string[] = [];
  const store = await open({ log: { warn: (message) => void warnings.push(message) } });
  await append(store);
  await terminate();
  await expect.poll(() => warnings.length, TIME).toBeGreaterThan(0);
  expect(warnings[0]).toMatch(/^postgres:\/\/127\.0\.0\.1:\d+\/postgres: ./);
  await append(store);
  expect(await readLog(store)).toEqual([1, 2]);
});

testFault("a stored commit with a lost response is reported as stored, and not repeated", async () => {
  const { store, proxy } = await openThroughProxy();
  await append(store);
  const runs = { count: 0 };
  const lost = proxy.lose("answer", COMMIT);
  await append(store, runs);
  await lost;
  expect(runs.count).toBe(1);
  expect(await readLog(store)).toEqual([1, 2]);
});

testFault("a commit that never arrived is decided again and stored once", async () => {
  const { store, proxy } = await openThroughProxy({ ...recordedPacing() });
  await append(store);
  const runs = { count: 0 };
  const lost = proxy.lose("request", COMMIT);
  await append(store, runs);
  await lost;
  expect(runs.count).toBe(2);
  expect(await readLog(store)).toEqual([1, 2]);
});

testFault("a commit with a lost response is recognised as stored after other writes", async () => {
  const name = "conflict";
  const { store, proxy } = await openThroughProxy({ name, ...recordedPacing() });
  const other = await open({ name });
  await append(store);
  const lost = proxy.lose("answer", COMMIT);
  const appended = append(store);
  await lost;
  await append(other);
  await appended;
  expect(await readLog(other)).toEqual([1, 2, 3]);
});

testFault("a commit whose result cannot be read is reported as OutcomeUnknown", async () => {
  const { store, proxy } = await openThroughProxy({ ...recordedPacing(), limits: { findOut: 300 } });
  await append(store);
  const lost = proxy.lose("answer", COMMIT);
  const appended = append(store).catch((error: unknown) => error);
  await lost;
  proxy.refuse();
  const error = await appended;
  expect(error).toBeInstanceOf(OutcomeUnknown);
  expect(String(error)).toMatch(/may have been kept/);
  await expect(append(store)).rejects.toThrow(StoreUnavailable);
  proxy.admit();
  await append(store);
  expect(await readLog(store)).toEqual([1, 2, 3]);
});

testFault("a commit that the server answers with a rollback is decided again", async () => {
  let failures = 0;
  class Failing extends Client {
    // oxlint-disable-next-line no-explicit-any -- one of many overloads
    override query(...args: any[]): any {
      if (args[0] !== "commit" || failures-- <= 0) return super.query(...(args as [string]));
      return super.query("select 1 / 0").then(
        () => undefined,
        () => super.query("commit"),
      );
    }
  }
  const failingPool = new Pool({ connectionString: url, Client: Failing });
  cleanups.push(() => failingPool.end());
  const store = await open({ pool: failingPool, ...recordedPacing() });
  failures = 1;
  const runs = { count: 0 };
  await append(store, runs);
  expect(runs.count).toBe(2);
  expect(await readLog(store)).toEqual([1]);
});

testFault("a process halted within a transaction blocks others only until the idle limit", async () => {
  const name = "halted";
  const { pool: haltingPool, statementReached, release } = openHaltingPool(WRITE);
  const halted = await open({ name, pool: haltingPool, limits: { idle: 100 }, ...recordedPacing() });
  const other = await open({ name });
  const appended = append(halted);
  await statementReached;
  await append(other);
  expect(await readLog(other)).toEqual([1]);
  release();
  await appended;
  expect(await readLog(other)).toEqual([1, 2]);
});

testFault("a server crash loses no acknowledged commit and stores no rejected one", async () => {
  const store = await open();
  const errors: unknown[] = [];
  let acknowledged = 0;
  let isWriting = true;
  const appended = (async () => {
    while (isWriting)
      await append(store).then(
        () => acknowledged++,
        (error: unknown) => errors.push(error),
      );
  })();
  await expect.poll(() => acknowledged, TIME).toBeGreaterThan(20);
  await server!.crash();
  const before = acknowledged;
  await expect.poll(() => acknowledged, TIME).toBeGreaterThan(before + 5);
  isWriting = false;
  await appended;
  for (const error of errors) expect(error).toBeInstanceOf(StoreUnavailable);
  expect(await readLog(store)).toEqual(Array.from({ length: acknowledged }, (_, index) => index + 1));
});

testFault("broken idle connections cause no errors", async () => {
  const store = await open({ ...recordedPacing() });
  await append(store);
  for (let round = 0; round < 5; round++) {
    await Promise.all([1, 2, 3].map(() => store.get("log", "all")));
    await terminate();
    if (round % 2 === 0) await append(store);
    else await store.get("log", "all");
  }
  expect(await readLog(store)).toEqual([1, 2, 3, 4]);
});

/** The message that a server sends before it closes a connection. */
const TERMINATION_MESSAGE = (() => {
  const fields = ["SFATAL", "VFATAL", "C57P01", "Mterminating connection due to administrator command"];
  const body = Buffer.from(`${fields.join("\0")}\0\0`);
  const head = Buffer.from("E\0\0\0\0", "latin1");
  head.writeUInt32BE(body.length + 4, 1);
  return Buffer.concat([head, body]);
})();
/** The message at the end of a connection's start: ready for a query. */
const READY = Buffer.from("Z\0\0\0\x05I", "latin1");

testFault("a connection that is terminated in its first packet does not end the process", async () => {
  const { hostname, port } = new URL(url);
  let ended = 0;
  const proxy = createServer((client) => {
    const upstream = connect(Number(port), hostname).on("error", () => undefined);
    client.on("error", () => undefined).pipe(upstream);
    upstream.on("data", (chunk) => {
      // The first three connections are terminated when they are ready.
      const isReady = chunk.subarray(-READY.length).equals(READY);
      if (!isReady || ended === 3) return client.write(chunk);
      ended++;
      client.end(Buffer.concat([chunk, TERMINATION_MESSAGE]));
      upstream.destroy();
    });
    client.on("close", () => upstream.destroy());
  }).listen(0, "127.0.0.1");
  await once(proxy, "listening");
  cleanups.push(async () => void proxy.close());
  const { port: proxyPort } = proxy.address() as AddressInfo;
  const store = await open({
    url: url.replace(`${hostname}:${port}`, `127.0.0.1:${proxyPort}`),
    ...recordedPacing(),
  });
  await append(store);
  expect(await readLog(store)).toEqual([1]);
  expect(ended).toBe(3);
});
