/** Tests the commands that move stores used by several processes, and a command that is killed during a move. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { text } from "node:stream/consumers";
import { Client } from "pg";
import { dirname, join } from "node:path";
import { afterAll, expect, onTestFinished, test } from "vitest";
import { readHead } from "../../../lib/audit/chain.ts";
import { json } from "../../../lib/store/json.ts";
import type { Store } from "../../../lib/store/store.ts";
import { createTable, dynamoDbStore } from "../../../lib/store/dynamodb/store.ts";
import { postgresStore } from "../../../lib/store/postgres/store.ts";
import { openFile } from "../../../local/open_store.ts";
import { program } from "../../e2e/server.ts";
import { startDynamoDb } from "../../support/dynamodb_server.ts";
import { startPostgres } from "../../support/postgres_server.ts";
import { runCommand, expectEntriesStored, runFailingCommand, startService, proposeUntilMoved } from "./commands.ts";
import { silentLog } from "../../support/silent_log.ts";

const [postgres, dynamoDb] = await Promise.all([startPostgres(), startDynamoDb()]);
afterAll(() => Promise.all([postgres?.stop(), dynamoDb?.stop()]));
const KEYS = { AWS_ACCESS_KEY_ID: "test", AWS_SECRET_ACCESS_KEY: "test" };
let databases = 0;

/** A store that does not exist yet: its address, its name, and how a process opens it. */
interface StoreAddress {
  address: string;
  name: string;
  open(): Promise<Store>;
}

async function addressInPostgres(): Promise<StoreAddress> {
  const database = `product_${++databases}`;
  await postgres!.pool.query(`create database ${database}`);
  const address = Object.assign(new URL(postgres!.url), { pathname: `/${database}` }).href;
  return {
    address,
    name: `postgres://${new URL(address).host}/${database}`,
    open: () => postgresStore({ url: address }),
  };
}

async function addressInDynamoDb(): Promise<StoreAddress> {
  const access = dynamoDb!.access(`product-${++databases}`);
  await createTable(access);
  const name = `dynamodb://${access.table}?region=eu-central-1`;
  const address = `${name}&endpoint=${encodeURIComponent(access.endpoint!)}`;
  return { address, name, open: async () => dynamoDbStore(access) };
}

const open = async (location: StoreAddress): Promise<Store> => {
  const store = await location.open();
  onTestFinished(() => store.close());
  return store;
};

const createFolder = (): string => {
  const folder = mkdtempSync(join(tmpdir(), "moving-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
};

if (postgres && dynamoDb) {
  test.each([
    ["Postgres", "DynamoDB", addressInPostgres, addressInDynamoDb],
    ["DynamoDB", "Postgres", addressInDynamoDb, addressInPostgres],
  ])(
    "from %s to %s while two processes write: each acknowledged entry is moved",
    async (_a, _b, createSource, createDestination) => {
      const [from, to] = [await createSource(), await createDestination()];
      const services = [
        await startService(await open(from), { exclusive: false }),
        await startService(await open(from), { exclusive: false }),
      ];
      for (let count = 0; count < 20; count++) await services[0]!.api.propose();
      const writers = proposeUntilMoved(services.map(({ api }) => api));
      const env = { ...KEYS, FROM: from.address, TO: to.address };
      const output = await runCommand(env, "migrate", "env:FROM", "env:TO", "--actor", "ana");
      const acknowledged = await writers;
      const { store, api } = await startService(await open(to), { exclusive: false });
      await expectEntriesStored(store, acknowledged);

      for (const { api: fenced } of services) {
        const reply = await fenced.json("propose", { tenant_id: "t", kind: "config", target: "a.b", summary: "late" });
        expect([reply.status, reply.body.code]).toEqual([503, "store_moved"]);
        expect(reply.body.error).toMatch(/it moved to .*, where its log goes on/);
        expect((await fenced.get("runtime")).status).toBe(200);
      }
      await expect(startService(await open(from), { exclusive: false })).rejects.toThrow(/where its log goes on/);
      const log = (await api.get("audit?event_type=store_moved")).body.entries;
      expect(JSON.parse(log[0].detail)).toMatchObject({ from: from.name, to: to.name, actor: "ana" });
      for (const text of [output, JSON.stringify(log)]) expect(text).not.toMatch(/password|test:/);
      await api.propose();
      const { length } = (await readHead(store))!;
      expect(await runCommand(env, "migrate", "env:FROM", "env:TO")).toContain(to.name);
      expect((await readHead(store))!.length).toBe(length);
    },
  );

  test.each([
    ["Postgres", addressInPostgres],
    ["DynamoDB", addressInDynamoDb],
  ])(
    "a backup of %s, taken while it is written to, is complete, and the store stays in use",
    async (_, createAddress) => {
      const location = await createAddress();
      const { api, store } = await startService(await open(location), { exclusive: false });
      for (let count = 0; count < 20; count++) await api.propose();
      const { length } = (await readHead(store))!;
      const file = join(createFolder(), "b.jsonl");
      let isOver = false;
      const load = (async () => {
        while (!isOver)
          await api.json("propose", {
            tenant_id: "t",
            kind: "config",
            target: `b.${Math.random()}`,
            summary: "meanwhile",
          });
      })();
      expect(await runCommand({ ...KEYS, SVC_STATE: location.address }, "backup", file)).toContain("stays in use");
      isOver = true;
      await load;
      await api.propose();
      expect(await store.bulk!.moveState()).toBeUndefined();
      const path = join(dirname(file), "restored/state.json");
      await runCommand({}, "restore", file, "--state", path);
      const restored = await startService(await openFile(path, silentLog));
      expect((await readHead(restored.store))!.length).toBeGreaterThan(length);
      const { body } = await restored.api.get("audit/verify");
      expect(body).toMatchObject({ valid: true, state: { mismatched: 0 } });
      expect(readFileSync(file, "utf8").split("\n", 1)[0]).toContain('"kind":"backup"');
    },
  );

  test.each([
    ["Postgres", addressInPostgres],
    ["DynamoDB", addressInDynamoDb],
  ])("in %s a hold that is not renewed ends, and its holder gets an error", async (_, createAddress) => {
    const store = await open(await createAddress());
    const { bulk } = store;
    const held = { state: "held", move: "gone", until: new Date(Date.now() + 600_000).toISOString() } as const;
    const write = (id: string) => store.transact((tx) => tx.put("review_due", id, true));
    await bulk!.commit([], { from: undefined, to: held });
    await expect(write("a")).rejects.toThrow(/the store is being copied/);
    await bulk!.commit([], { from: held, to: { ...held, until: new Date(Date.now() - 1).toISOString() } });
    await write("b");
    const moved = { state: "moved", move: "gone", to: "b", at: held.until } as const;
    await expect(bulk!.commit([], { from: held, to: moved })).rejects.toThrow(/the hold on the store ended/);
    await write("c");
  });

  test("only the named product of a shared database moves; a missing one is not created", async () => {
    const { address, name } = await addressInPostgres();
    const listTables = async (url: string): Promise<string[]> => {
      const client = new Client({ connectionString: url });
      await client.connect();
      const { rows } = await client.query("select tablename from pg_tables where tablename like 'countersign%'");
      await client.end();
      return rows.map(({ tablename }) => tablename);
    };
    const env = { SVC_STATE: address, SVC_STORE_NAME: "shop", TO: (await addressInPostgres()).address };
    const file = (one: string): string => join(folder, one);
    const folder = createFolder();
    expect(await runFailingCommand(env, "backup", file("none.jsonl"))).toContain(
      `${name} has no store shop: it has none`,
    );
    expect(await listTables(address)).toEqual([]);

    const named = (store: string) => postgresStore({ url: address, name: store });
    const shop = await named("shop");
    await (await startService(shop, { exclusive: false })).api.propose();
    const { origin, length } = (await readHead(shop))!;
    // Without SVC_STORE_NAME the name of the store is `countersign`.
    for (const verb of ["backup", "export"])
      expect(await runFailingCommand({ SVC_STATE: address }, verb, file(verb))).toContain(
        `${name} has no store countersign: it has shop`,
      );
    expect(await runFailingCommand(env, "migrate", address, "env:TO", "--to-name", "shop")).toContain(
      "no store countersign",
    );
    expect(await listTables(env.TO)).toEqual([]);

    expect(await runCommand(env, "backup", file("b.jsonl"))).toContain(origin);
    expect(JSON.parse(readFileSync(file("b.jsonl"), "utf8").split("\n", 1)[0]!)).toMatchObject({
      from: `${name}, store shop`,
    });
    await runCommand(env, "restore", file("b.jsonl"), "--store-name", "drill");
    const drill = await named("drill");
    onTestFinished(() => drill.close());
    // The restore itself adds an entry.
    expect(await readHead(drill)).toMatchObject({ origin, length: length + 1 });

    expect(await runCommand(env, "migrate", "env:SVC_STATE", "env:TO", "--to-name", "corner")).toContain(
      ", store corner",
    );
    const corner = await postgresStore({ url: env.TO, name: "corner" });
    onTestFinished(() => corner.close());
    // The entry of the move, the first one after those that were moved; the key of an entry is its id with 16 digits.
    const moved = await corner.get("audit", String(length + 1).padStart(16, "0"));
    expect(JSON.parse(moved!.value.detail as string)).toMatchObject({
      from: `${name}, store shop`,
      to: expect.stringContaining(", store corner"),
    });
    expect([(await shop.bulk!.moveState())?.state, await drill.bulk!.moveState()]).toEqual(["moved", undefined]);
  });

  test("a record that the destination cannot store fails the move, which can be cancelled", async () => {
    const [from, to] = [await addressInPostgres(), await addressInDynamoDb()];
    const { api, store } = await startService(await open(from), { exclusive: false });
    await api.propose();
    // An intent is a text; any JSON of this size does for the store.
    await store.transact((tx) => tx.put("manifests", "large", { text: "x".repeat(500_000) } as never));
    const env = { ...KEYS, FROM: from.address, TO: to.address };
    const output = await runFailingCommand(env, "migrate", "env:FROM", "env:TO");
    expect(output).toContain("manifests/large has 500011 bytes as JSON; a record in DynamoDB may have 405504");
    expect(output).toContain(
      "takes no writes now. Give the same command again, or give the move up: countersign unfence",
    );
    expect((await api.json("propose", { tenant_id: "t", kind: "config", target: "a.b", summary: "x" })).status).toBe(
      503,
    );
    await runCommand({ ...KEYS, SVC_STATE: from.address }, "unfence");
    await api.propose();
    await store.transact((tx) => tx.delete("manifests", "large"));
    await runCommand(env, "migrate", "env:FROM", "env:TO");
  });

  test.each([
    ["Postgres", addressInPostgres],
    ["DynamoDB", addressInDynamoDb],
  ])(
    "of two concurrent runs of one restore into %s one fails, and the other restores all",
    async (_, createAddress) => {
      const file = join(createFolder(), "b.jsonl");
      const state = join(createFolder(), "state.json");
      const { api, store } = await startService(await openFile(state, silentLog));
      await api.propose();
      for (let page = 0; page < 30; page++)
        await store.transact((tx) => {
          for (let one = 0; one < 50; one++)
            tx.put("manifests", `m-${page}-${one}`, { text: "x".repeat(200) } as never);
        });
      await runCommand({ SVC_STATE: state }, "backup", file);
      const location = await createAddress();
      const to = await open(location);
      const env = { ...KEYS, SVC_STATE: location.address };
      const main = join(dirname(await program()), "command_line/main.js");
      const first = spawn(process.execPath, [main, "restore", file], { env: { ...process.env, ...env } });
      const reported = text(first.stderr);
      const ended = once(first, "exit");
      await expect
        .poll(async () => (await to.list("manifests", { limit: 1 })).length, { timeout: 60_000, interval: 1 })
        .toBe(1);
      // The first run is halted in the middle, so that the second ends before it.
      first.kill("SIGSTOP");
      await runCommand(env, "restore", file);
      first.kill("SIGCONT");
      expect(await ended).toEqual([1, null]);
      expect(await reported).toContain("another move has taken over the store that this one loads");
      expect(await to.bulk!.moveState()).toBeUndefined();
      const manifests = { limit: 5000 };
      expect((await to.list("manifests", manifests)).length).toBe((await store.list("manifests", manifests)).length);
      expect(await readHead(to)).toMatchObject({ length: (await readHead(store))!.length + 1 });
    },
  );

  test("a command killed while it loads leaves a fenced source and can be run again", async () => {
    const main = join(dirname(await program()), "command_line/main.js");
    const state = join(createFolder(), "state.json");
    const { api, store } = await startService(await openFile(state, silentLog));
    await api.propose();
    const value = json({ text: "x".repeat(200) });
    for (let page = 0; page < 60; page++)
      await store.transact((tx) => {
        for (let one = 0; one < 50; one++) tx.put("manifests", `m-${page}-${one}`, value as never);
      });
    const to = await addressInDynamoDb();
    const loading = await open(to);
    const env = { ...process.env, ...KEYS };
    const child = spawn(process.execPath, [main, "migrate", state, to.address], { env, stdio: "ignore" });
    const ended = once(child, "exit");
    await expect
      .poll(() => loading.bulk!.moveState(), { timeout: 60_000, interval: 5 })
      .toMatchObject({ state: "loading" });
    child.kill("SIGKILL");
    expect(await ended).toEqual([null, "SIGKILL"]);

    await expect(startService(await open(to), { exclusive: false })).rejects.toThrow(/a move into it has not ended/);
    const head = (await readHead(store))!;
    await runCommand(KEYS, "migrate", state, to.address);
    expect(await readHead(loading)).toMatchObject({ origin: head.origin, length: head.length + 1 });
    expect((await api.json("propose", { tenant_id: "t", kind: "config", target: "a.b", summary: "late" })).status).toBe(
      503,
    );
  });
}
