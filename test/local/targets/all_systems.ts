/** One program over all types of target systems: each value is set, read by other means, and restored. */
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect } from "vitest";
import { killServers, serve } from "../../e2e/server.ts";
import { client } from "../../support/client.ts";
import { encodeBase64, startEtcd } from "../../support/etcd_server.ts";
import { loadFlagdReader } from "../../support/flagd_core.ts";
import { makeGitServer } from "../../support/git_server.ts";
import { startPostgres } from "../../support/postgres_server.ts";
import { json } from "../../support/requests.ts";
import type { UnleashServer } from "../../support/unleash.ts";
import { startWebhookHost } from "../../support/webhook_host.ts";

const SECRET = "a-secret-of-the-webhook";
/** Text that another program wrote: parsing and rendering it would change every part of it. */
const FOREIGN = '{ "10": 1.0,\n\t"b": "\\u00e9" }\n';
const FLAGS = `{ "flags": {\n   "checkout": { "state":"ENABLED", "variants": { "on": true, "off": false }, "defaultVariant": "off" } } }\n`;

/** A target and the value to set. */
interface Case {
  target: string;
  value: unknown;
  /** Reads the target by the system's own means; `shown` is the result after the apply. */
  read(): Promise<unknown>;
  shown: unknown;
}

export async function runAllSystems(unleash: UnleashServer): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "countersign-all-"));
  const [git, host, etcd, postgres] = await Promise.all([
    makeGitServer({ "limits.json": FOREIGN }),
    startWebhookHost(SECRET),
    startEtcd(),
    startPostgres(),
  ]);
  try {
    const limitsKey = { key: encodeBase64("/app/t1/limits") };
    await etcd!.post("/v3/kv/put", { ...limitsKey, value: encodeBase64(FOREIGN) });
    await postgres!.pool.query("create table settings (key text primary key, value jsonb)");
    await writeFile(join(folder, "flags.json"), FLAGS);
    const intent = { product_id: "acme-crm", version: "1", approved_by: "ana", update_epoch: 1 };
    await writeFile(join(folder, "intent.json"), JSON.stringify(intent));
    const tenants = ["t1"];
    const systems = [
      { name: "flags", type: "flagd", match: ["flags/*"], tenants, file: "flags.json" },
      {
        name: "unleash",
        type: "unleash",
        match: ["unleash/*"],
        tenants,
        url: unleash.url,
        environment: "development",
        token_env: "TOKEN",
      },
      {
        name: "settings",
        type: "postgres",
        match: ["settings/*"],
        key: "{tenant}:{rest}",
        url_env: "DB",
        table: "settings",
        key_column: "key",
        value_column: "value",
      },
      { name: "edge", type: "etcd", match: ["edge/*"], key: "/app/{tenant}/{rest}", url: etcd!.url },
      { name: "repo", type: "git", match: ["repo/*"], tenants, url: git.bare, branch: "main", path: "{rest}.json" },
      { name: "crm", type: "webhook", match: ["crm/*"], url: host.url, secret_env: "SECRET" },
      { name: "product", type: "file", match: ["*"], path: "product.json" },
    ];
    await writeFile(join(folder, "targets.json"), JSON.stringify({ systems }));
    const env = { TOKEN: unleash.token, DB: postgres!.url, SECRET };
    const args = ["--product-intent", "intent.json", "--targets", "targets.json"];
    const { url } = await serve(folder, args, env);
    const { send, must } = client(fetch, url);

    const FlagdCore = await loadFlagdReader();
    const reader = await unleash.startClient();
    const parameters = { rollout: "100", stickiness: "userId", groupId: "all" };
    const cases: Case[] = [
      {
        target: "flags/checkout",
        value: true,
        async read() {
          const core = new FlagdCore();
          core.setConfigurations(await readFile(join(folder, "flags.json"), "utf8"));
          return core.resolveBooleanEvaluation("checkout", false).value;
        },
        shown: true,
      },
      {
        target: "unleash/all-systems",
        value: { enabled: true, strategies: [{ name: "flexibleRollout", parameters }] },
        read: async () => reader.isEnabled("all-systems", { userId: "1" }),
        shown: true,
      },
      {
        target: "settings/seats",
        value: { seats: 5 },
        read: async () => (await postgres!.pool.query("select key, value from settings")).rows,
        shown: [{ key: "t1:seats", value: { seats: 5 } }],
      },
      {
        target: "edge/limits",
        value: [1],
        async read() {
          const { kvs } = await etcd!.post("/v3/kv/range", limitsKey);
          return (kvs as { value: string }[]).map((pair) => pair.value);
        },
        shown: [encodeBase64("[1]")],
      },
      {
        target: "repo/limits",
        value: { seats: 5 },
        read: async () => JSON.parse(await git.show("limits.json")),
        shown: { seats: 5 },
      },
      {
        target: "crm/plan",
        value: "pro",
        read: async () => host.content({ change_id: "", tenant_id: "t1", target: "crm/plan" }),
        shown: '"pro"',
      },
      {
        target: "seats",
        value: 5,
        read: async () => JSON.parse(await readFile(join(folder, "product.json"), "utf8").catch(() => "{}")).values?.t1,
        shown: { seats: 5 },
      },
    ];
    const kind = "config";
    for (const { target, value, read, shown } of cases) {
      const before = await read();
      // Files of other programs, whose bytes a rollback restores.
      const filesBefore = await Promise.all([
        readFile(join(folder, "flags.json")),
        git.git("cat-file", "-p", "main^{tree}"),
      ]);
      const { body, status } = await send(
        json("propose", { tenant_id: "t1", kind, target, summary: "Set it", value }, {}, url),
      );
      expect([target, status]).toEqual([target, 201]);
      await must("approve", body.change_id);
      await must("apply", body.change_id);
      expect(before).not.toEqual(shown);
      await expect.poll(read, { timeout: 10_000 }).toEqual(shown);
      await must("rollback", body.change_id);
      await expect.poll(read, { timeout: 10_000 }).toEqual(before);
      expect(
        await Promise.all([readFile(join(folder, "flags.json")), git.git("cat-file", "-p", "main^{tree}")]),
      ).toEqual(filesBefore);
    }
    reader.destroy();
  } finally {
    await killServers(folder);
    await Promise.all([git.remove(), host.stop(), etcd?.stop(), postgres?.stop()]);
    await rm(folder, { recursive: true, force: true });
  }
}
