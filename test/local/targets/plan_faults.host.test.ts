/** Plans over five real systems, with a fault at a random step; a plan's entries in one system are written atomically. */
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, expect, test } from "vitest";
import { memoryStore } from "../../../lib/store/memory.ts";
import { targetAdapter } from "../../../lib/targets/adapter.ts";
import { routingAdapter } from "../../../lib/targets/routing.ts";
import { webhookAdapter } from "../../../lib/targets/webhook.ts";
import { fileTarget } from "../../../local/targets/file.ts";
import { flagdTarget } from "../../../local/targets/flagd.ts";
import { gitTarget } from "../../../local/targets/git.ts";
import { postgresTarget } from "../../../local/targets/postgres.ts";
import { testClock } from "../../support/clock.ts";
import { core } from "../../support/core.ts";
import { makeGitServer, git } from "../../support/git_server.ts";
import { rounds } from "../../support/run_length.ts";
import { bringPlan, planEntry } from "../../support/plan_bench.ts";
import { type ScenarioSystem, openFaulty, runPlanScenarios } from "../../support/plan_scenarios.ts";
import { startPostgres } from "../../support/postgres_server.ts";
import { judgeExports } from "../verify/judge_export.ts";
import { startWebhookHost } from "../../support/webhook_host.ts";

const SECRET = "a-secret-of-the-webhook";
const [folder, postgres, repository, host] = await Promise.all([
  mkdtemp(join(tmpdir(), "countersign-plans-")),
  startPostgres(),
  makeGitServer({ "README.md": "A product.\n" }),
  startWebhookHost(SECRET),
]);
afterAll(async () => {
  await Promise.all([postgres?.stop(), host.stop(), repository.remove()]);
  await rm(folder, { recursive: true, force: true });
});
await postgres?.pool.query("create table settings (key text primary key, value jsonb)");

const readText = (path: string): Promise<string> => readFile(path, "utf8").catch(() => "");
const product = { product_id: "acme-crm", instance_id: "acme-crm@local" };

function makeFileSystem(): ScenarioSystem {
  const path = join(folder, "product.json");
  return {
    name: "file",
    open: (store, clock, faults) =>
      openFaulty(fileTarget({ ...product, path, store, clock, name: "file" }), store, clock, faults),
    value: (number) => ({ number }),
    async content(key) {
      const { values = {} } = JSON.parse((await readText(path)) || "{}") as { values?: Record<string, object> };
      return JSON.stringify((values["t1"] as Record<string, unknown> | undefined)?.[`file/${key}`]) ?? "nothing";
    },
  };
}

async function makeFlagdSystem(): Promise<ScenarioSystem> {
  const path = join(folder, "flags.json");
  await writeFile(path, '{ "flags": {} }\n');
  const flagKey = ({ target }: { target: string }) => target.slice("flags/".length);
  return {
    name: "flags",
    open: (store, clock, faults) =>
      openFaulty(flagdTarget({ path, clock, name: "flags", flagKey }), store, clock, faults),
    value: (number) => ({ state: "ENABLED", variants: { v: number }, defaultVariant: "v" }),
    async content(name) {
      const { flags } = JSON.parse(await readText(path)) as { flags: Record<string, { variants: unknown }> };
      return JSON.stringify(flags[name]?.variants) ?? "nothing";
    },
  };
}

/** Two clones alternate, so that a clone often lacks the newest commits. */
let cloneCount = 0;
function makeGitSystem(): ScenarioSystem {
  return {
    name: "repo",
    open: (store, clock, faults) =>
      openFaulty(
        gitTarget({
          name: "repo",
          url: repository.bare,
          branch: "main",
          path: ({ target }) => `${target}.json`,
          folder: join(folder, `clone-${++cloneCount % 2}`),
          clock,
        }),
        store,
        clock,
        faults,
      ),
    value: (number) => ({ number }),
    content: (key) => git(repository.bare, "show", `main:repo/${key}.json`).catch(() => "nothing"),
  };
}

function makePostgresSystem({ pool, url }: NonNullable<typeof postgres>): ScenarioSystem {
  const system = postgresTarget({
    name: "settings",
    url,
    table: "settings",
    keyColumn: "key",
    valueColumn: "value",
    key: ({ target }) => target,
  });
  const find = async (key: string) =>
    (await pool.query<{ text: string }>("select value::text as text from settings where key = $1", [`settings/${key}`]))
      .rows[0];
  return {
    name: "settings",
    open: (store, clock, faults) => openFaulty(system, store, clock, faults),
    value: (number) => ({ number }),
    // jsonb stores the final zero of 1.50, which a rollback must restore too.
    prepare: async (key) =>
      void (await pool.query("insert into settings values ($1, $2)", [`settings/${key}`, "1.50"])),
    content: async (key) => (await find(key))?.text ?? "nothing",
  };
}

function makeWebhookSystem(): ScenarioSystem {
  return {
    name: "crm",
    open: (_, clock, faults) =>
      webhookAdapter({
        ...product,
        name: "crm",
        url: host.url,
        secret: SECRET,
        clock,
        sleep: async () => undefined,
        fetch: (url, init) => {
          const { operation } = JSON.parse((init?.body as string | undefined) ?? "{}") as { operation?: string };
          const isWrite = operation === "apply" || operation === "rollback";
          return faults.call(
            "crm",
            isWrite,
            () => fetch(url, init),
            // The answer to a rejected write.
            () => Response.json({ error: "not now" }, { status: 409 }),
          );
        },
      }),
    value: (number) => ({ number }),
    content: async (key) => host.content({ change_id: "", tenant_id: "t1", target: `crm/${key}` }) ?? "nothing",
  };
}

test.skipIf(!postgres)(
  "a plan over five real systems ends with all entries set or none",
  { timeout: 3_600_000 },
  async () => {
    const systems = [
      makeFileSystem(),
      await makeFlagdSystem(),
      makeGitSystem(),
      makePostgresSystem(postgres!),
      makeWebhookSystem(),
    ];
    // `PLANS=7-9` runs the scenarios of these seeds only.
    const [first = 1, last = rounds(5, 10, 1000)] = process.env["PLANS"]?.split("-").map(Number) ?? [];
    const { exports, ...counts } = await runPlanScenarios(systems, [first, last]);
    process.stderr.write(`plans: ${JSON.stringify(counts)}\n`);
    expect(counts.scenarios).toBe(last - first + 1);
    for (const findings of await judgeExports(exports)) expect(findings).toEqual({ typescript: [], python: [] });
  },
);

test.skipIf(!postgres)("a plan of 20 entries is one transaction of Postgres and one commit of git", async () => {
  const [store, clock] = [memoryStore(), testClock()];
  const system = postgresTarget({
    name: "rows",
    url: postgres!.url,
    table: "settings",
    keyColumn: "key",
    valueColumn: "value",
    key: ({ target }) => target,
  });
  const files = gitTarget({
    name: "files",
    url: repository.bare,
    branch: "main",
    path: ({ target }) => `${target}.json`,
    folder: join(folder, "clone-of-one-plan"),
    clock,
  });
  const adapter = routingAdapter([
    { name: "rows", match: ["rows/*"], adapter: targetAdapter(system, { store, clock }) },
    { name: "files", match: ["files/*"], tenants: ["t1"], adapter: targetAdapter(files, { store, clock }) },
  ]);
  const api = await core({ store, clock, adapter });
  const entries = Array.from({ length: 20 }, (_, index) => planEntry(index % 2 === 0 ? "rows" : "files", index));
  const listTransactions = async (): Promise<string[]> =>
    (
      await postgres!.pool.query<{ xmin: string }>("select distinct xmin::text from settings where key like 'rows/%'")
    ).rows.map(({ xmin }) => xmin);
  const countCommits = async () => Number(await git(repository.bare, "rev-list", "--count", "main"));
  const before = await countCommits();
  const id = await bringPlan(api, "applied", entries);
  expect(await listTransactions()).toHaveLength(1);
  expect(await countCommits()).toBe(before + 1);
  expect(await git(repository.bare, "log", "-1", "--format=%B", "main")).toContain(`Countersign-Change: ${id}\n`);
  // Every second of the 20 entries is a file.
  expect((await git(repository.bare, "show", "--name-only", "--format=", "main")).split("\n")).toHaveLength(10);
  await api.must("rollback", id);
  expect(await listTransactions()).toEqual([]);
  expect(await countCommits()).toBe(before + 2);
  expect(await git(repository.bare, "diff", "--name-only", "main~2", "main")).toBe("");
});
