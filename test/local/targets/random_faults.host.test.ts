/** Random scenarios on each target system: nothing is applied twice, falsely reported, or overwritten without a report. */
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, describe, test } from "vitest";
import { systemClock } from "../../../lib/kit/platform.ts";
import { memoryStore } from "../../../lib/store/memory.ts";
import type { Entry } from "../../../lib/targets/port.ts";
import { etcdTarget } from "../../../local/targets/etcd.ts";
import { fileTarget } from "../../../local/targets/file.ts";
import { flagdTarget } from "../../../local/targets/flagd.ts";
import { postgresTarget } from "../../../local/targets/postgres.ts";
import { startProxy } from "../../support/cut_proxy.ts";
import { encodeBase64, startEtcd } from "../../support/etcd_server.ts";
import { startPostgres } from "../../support/postgres_server.ts";
import { gitScenario } from "../../support/git_scenario.ts";
import { unleashScenario } from "../../support/unleash_scenario.ts";
import { type EventCounts, scenarioSeeds, type TargetScenario, runScenarios } from "../../support/target_scenarios.ts";
import { startUnleash } from "../../support/unleash.ts";

const postgres = await startPostgres();
const etcd = await startEtcd(["--snapshot-count=100000"]);
const proxyTo = (url: string | undefined) =>
  url === undefined ? undefined : startProxy({ host: "127.0.0.1", port: Number(new URL(url).port) });
/** Unleash starts slowly, so its scenarios run only if `LIVES` is set. */
const unleash = process.env["LIVES"] === undefined ? undefined : await startUnleash();
const [postgresProxy, etcdProxy, unleashProxy] = await Promise.all([
  proxyTo(postgres?.url),
  proxyTo(etcd?.url),
  proxyTo(unleash?.url),
]);
afterAll(() =>
  Promise.all([postgresProxy, etcdProxy, unleashProxy, postgres, etcd, unleash].map((running) => running?.stop())),
);

let scenarioCount = 0;
const makeEntries = (value: unknown = null): Entry[] => {
  const tenant_id = `t${++scenarioCount}`;
  return ["seats", "rooms"].map((target) => ({ tenant_id, target, kind: "config", value }));
};
const keyOf = ({ tenant_id, target }: Entry) => `/app/${tenant_id}/${target}`;
const toObject = (number: number): unknown => ({ limit: number });

async function writeToFolder(name: string, text: string) {
  const folder = await mkdtemp(join(tmpdir(), "countersign-life-"));
  const path = join(folder, name);
  await writeFile(path, text);
  return {
    path,
    content: async () => JSON.parse(await readFile(path, "utf8")),
    write: (content: unknown) => writeFile(path, JSON.stringify(content, null, 2)),
    dispose: () => rm(folder, { recursive: true, force: true }),
  };
}

async function makeFileScenario(): Promise<TargetScenario> {
  const { path, content, write, dispose } = await writeToFolder("config.json", "{}");
  const store = memoryStore();
  const common = { product_id: "acme-crm", instance_id: "acme-crm@local", clock: systemClock };
  return {
    open: () => fileTarget({ path, store, ...common }),
    entries: makeEntries(),
    value: toObject,
    read: async ({ tenant_id, target }) => (await content()).values?.[tenant_id]?.[target],
    async edit({ tenant_id, target }, value) {
      const config = await content();
      const values = { ...config.values?.[tenant_id], [target]: value };
      await write({ ...config, values: { ...config.values, [tenant_id]: values } });
    },
    dispose,
  };
}

async function makeFlagdScenario(): Promise<TargetScenario> {
  const { path, content, write, dispose } = await writeToFolder("flags.json", '{ "flags": { } }');
  const value = (number: number) => ({ state: "ENABLED", variants: { set: number }, defaultVariant: "set" });
  return {
    open: () => flagdTarget({ path, clock: systemClock }),
    entries: makeEntries(value(0)),
    value,
    async read({ target }) {
      const { metadata: _, ...flag } = (await content()).flags[target] ?? {};
      return Object.keys(flag).length === 0 ? undefined : flag;
    },
    async edit({ target }, flag) {
      const { flags } = await content();
      await write({ flags: { ...flags, [target]: flag } });
    },
    isResolvedByValue: true,
    dispose,
  };
}

/** Returns a function that makes a proxy lose the next message with a text, and returns a function that cancels the loss. */
const makeLoss = (proxy: typeof postgresProxy, text: string) => (loss: "request" | "answer") => {
  void proxy!.lose(loss, text);
  return () => void proxy!.lose(loss, "a text that is never sent");
};

async function makePostgresScenario(): Promise<TargetScenario> {
  const query = async (text: string, values: unknown[]) => (await postgres!.pool.query(text, values)).rows;
  const url = postgres!.url.replace(/127.0.0.1:\d+/, postgresProxy!.host);
  const options = { name: "settings", url, table: "settings", keyColumn: "key", valueColumn: "value", key: keyOf };
  await query("create table if not exists settings (key text primary key, value jsonb)", []);
  const system = postgresTarget(options);
  return {
    open: () => system,
    entries: makeEntries(),
    value: toObject,
    read: async (entry) => (await query("select value from settings where key = $1", [keyOf(entry)]))[0]?.value,
    async edit(entry, value) {
      if (value === undefined) await query("delete from settings where key = $1", [keyOf(entry)]);
      else
        await query("insert into settings values ($1, $2) on conflict (key) do update set value = excluded.value", [
          keyOf(entry),
          JSON.stringify(value),
        ]);
    },
    lose: makeLoss(postgresProxy, "commit"),
    isResolvedByValue: true,
  };
}

async function makeEtcdScenario(): Promise<TargetScenario> {
  const url = `http://${etcdProxy!.host}`;
  const encodeKey = (entry: Entry) => ({ key: encodeBase64(keyOf(entry)) });
  return {
    open: () => etcdTarget({ name: "edge", url, prefix: "/app/", key: keyOf }),
    entries: makeEntries(),
    value: toObject,
    async read(entry) {
      const { kvs } = (await etcd!.post("/v3/kv/range", encodeKey(entry))) as { kvs?: { value: string }[] };
      return kvs && JSON.parse(String(Buffer.from(kvs[0]!.value, "base64")));
    },
    async edit(entry, value) {
      if (value === undefined) await etcd!.post("/v3/kv/deleterange", encodeKey(entry));
      else await etcd!.post("/v3/kv/put", { ...encodeKey(entry), value: encodeBase64(JSON.stringify(value)) });
    },
    lose: makeLoss(etcdProxy, "/v3/kv/txn"),
    isFenced: true,
  };
}

/** Number of scenarios for slow systems: in the short run, at most, and in one test. */
const SLOW_SYSTEMS = { few: 1, most: 100, slice: 5 };

const SYSTEMS = {
  file: makeFileScenario,
  flagd: makeFlagdScenario,
  ...(postgres && { postgres: makePostgresScenario }),
  ...(etcd && { etcd: makeEtcdScenario }),
  git: () => gitScenario(makeEntries(), toObject),
  ...(unleash && { unleash: () => unleashScenario(unleash, unleashProxy!, makeEntries()) }),
};

const listSeeds = (name: string) =>
  name === "git" || name === "unleash" ? scenarioSeeds(SLOW_SYSTEMS) : scenarioSeeds();

describe.each(Object.entries(SYSTEMS))("targets of %s", (name, makeScenario) => {
  const counts: EventCounts = {};
  test.each(listSeeds(name))("scenarios %i to %i match the model", async (...seeds) => {
    await runScenarios(seeds, makeScenario, counts);
  });
  afterAll(() => void process.stdout.write(`scenarios of ${name}: ${JSON.stringify(counts)}\n`));
});
