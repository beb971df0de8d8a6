/** A service whose target systems are all down: which capabilities fail, and that no message shows a secret. */
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, test } from "vitest";
import { countersign } from "../../../handlers/index.ts";
import type { Log } from "../../../lib/kit/platform.ts";
import type { Service } from "../../../lib/service.ts";
import { memoryStore } from "../../../lib/store/memory.ts";
import { processMetrics } from "../../../local/metrics.ts";
import { readTargets } from "../../../local/targets/config.ts";
import { client } from "../../support/client.ts";
import { freePort } from "../../support/free_port.ts";
import { manifest } from "../../support/intents.ts";
import { get } from "../../support/requests.ts";

/** A port on which no program listens. */
const PORT = await freePort();
const SECRETS = {
  UNLEASH_TOKEN: "user:s3cret-of-unleash",
  SETTINGS_DB: `postgres://app:s3cret-of-postgres@127.0.0.1:${PORT}/app`,
  ETCD_USER: "s3cret-user-of-etcd",
  ETCD_PASSWORD: "s3cret-of-etcd",
  GIT_TOKEN: "s3cret-of-git",
  CRM_SECRET: "s3cret-of-webhook",
};
const url = `http://127.0.0.1:${PORT}`;
const UNREACHABLE = [
  { name: "flags", type: "flagd", key: "{tenant}.{rest}", file: "missing.flagd.json" },
  {
    name: "toggles",
    type: "unleash",
    key: "{tenant}.{rest}",
    url,
    environment: "production",
    token_env: "UNLEASH_TOKEN",
  },
  {
    name: "settings",
    type: "postgres",
    key: "{tenant}:{rest}",
    url_env: "SETTINGS_DB",
    table: "settings",
    key_column: "key",
    value_column: "value",
  },
  { name: "edge", type: "etcd", key: "/{tenant}/{rest}", url, user_env: "ETCD_USER", password_env: "ETCD_PASSWORD" },
  {
    name: "repo",
    type: "git",
    url: `${url}/app.git`,
    branch: "main",
    path: "{tenant}/{rest}.json",
    token_env: "GIT_TOKEN",
  },
  { name: "crm", type: "webhook", url: `${url}/hooks/s3cret-path`, secret_env: "CRM_SECRET" },
];
const AVAILABLE = { name: "product", type: "file", match: ["*"], path: "product.json" };
const NAMES = [...UNREACHABLE, AVAILABLE].map(({ name }) => name);

const lines: Record<string, unknown>[] = [];
const recordLine = (message: string, fields = {}) => void lines.push({ message, ...fields });
const log: Log = { info: recordLine, warn: recordLine, error: recordLine };
const metrics = processMetrics("1.0.0");
let folder: string;
let service: Service;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "countersign-outages-"));
  const path = join(folder, "targets.json");
  const systems = [...UNREACHABLE.map((system) => ({ ...system, match: [`${system.name}/*`] })), AVAILABLE];
  await writeFile(path, JSON.stringify({ systems }));
  const targets = readTargets(path, SECRETS);
  const store = memoryStore();
  const reports = { observer: metrics.targets, log };
  const adapter = (identity: Parameters<typeof targets.open>[1]) => targets.open(store, identity, folder, reports);
  service = await countersign({ store, intent: manifest(), adapter, log, metrics });
});
afterAll(async () => {
  await service.close();
  await rm(folder, { recursive: true, force: true });
});

test("each unreachable system has a failing capability with its name, without secrets", async () => {
  const { propose, must, post, send, bring } = client(service.fetch);
  // Feature flags are boolean; the other systems take any JSON.
  const valueBySystem: Record<string, string> = { flags: "true", toggles: "true" };
  const results = await Promise.all(
    UNREACHABLE.map(async ({ name }) => {
      const { change_id } = await propose({ target: `${name}/checkout`, value: valueBySystem[name] ?? "5" });
      const dry = await post("apply", { change_id, dry_run: true });
      await must("approve", change_id);
      return { name, dry, applied: await post("apply", { change_id }) };
    }),
  );
  for (const { name, applied } of results)
    expect([name, applied.status, applied.body.code]).toEqual([name, 502, "adapter_failed"]);
  expect(await bring("applied", { target: "checkout", value: "5" })).toMatch(/^chg_/);
  await service.cycle();
  const [capabilities, text, audit, intent] = await Promise.all([
    send(get("/api/capabilities")),
    send(get("/api/metrics")),
    send(get("audit?limit=500")),
    send(get("intent")),
  ]);

  const states = capabilities.body.capabilities
    .filter(({ id }: { id: string }) => id.startsWith("target:"))
    .map(({ id, status }: { id: string; status: string }) => [id, status]);
  expect(Object.fromEntries(states)).toMatchObject({
    ...Object.fromEntries(UNREACHABLE.map(({ name }) => [`target:${name}`, "failing"])),
    "target:product": "available",
  });

  const labels = new Set(
    [...text.text.matchAll(/^countersign_target_\w+\{.*?system="([^"]*)"/gm)].map(([, name]) => name),
  );
  expect([...labels].sort()).toEqual([...NAMES].sort());
  expect(text.text).toMatch(/^countersign_target_calls_total\{system="edge",operation="read",outcome="failed"\} \d+$/m);
  expect(text.text).toMatch(/^countersign_target_retries_total\{system="edge"\} \d+$/m);
  expect(text.text).toMatch(/^countersign_target_calls_total\{system="product",operation="write",outcome="done"\} 1$/m);

  const reportedSystems = lines
    .filter(({ message }) => message === "a target system cannot be used")
    .map(({ system }) => system);
  expect(reportedSystems.sort()).toEqual(UNREACHABLE.map(({ name }) => name).sort());
  const allOutput = JSON.stringify([lines, capabilities.text, text.text, audit.text, intent.text, results]);
  expect(allOutput.match(/.{0,40}s3cret.{0,20}/g)).toBeNull();
});
