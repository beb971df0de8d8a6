/** Tests the file of `--targets`: the error for each mistake, and a program that applies changes to several systems. */
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterEach, beforeEach, expect, test } from "vitest";
import type { Identity } from "../../../lib/changes/runtime.ts";
import type { Log } from "../../../lib/kit/platform.ts";
import { memoryStore } from "../../../lib/store/memory.ts";
import { parseOptions } from "../../../local/options.ts";
import { start } from "../../../local/start.ts";
import { readTargets } from "../../../local/targets/config.ts";
import { client } from "../../support/client.ts";
import { appKeyPem } from "../../support/github_stub.ts";

let folder: string;
const stops: (() => Promise<void>)[] = [];
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "targets-"));
});
afterEach(async () => {
  for (const stop of stops.splice(0)) await stop();
  await rm(folder, { recursive: true });
});

const FLAGS = { name: "flags", type: "flagd", match: ["flags/*"], tenants: ["*"], file: "flags.flagd.json" };
const FILE = { name: "product", type: "file", match: ["*"], path: "product_config.json" };
const HOOK = {
  name: "crm",
  type: "webhook",
  match: ["crm.*"],
  url: "https://crm.example/hooks/x",
  secret_env: "CRM_SECRET",
};
const SETTINGS = {
  name: "settings",
  type: "postgres",
  match: ["settings/*"],
  key: "{tenant}:{rest}",
  url_env: "SETTINGS_DB",
  table: "app.settings",
  key_column: "key",
  value_column: "value",
};
const UNLEASH = {
  name: "unleash",
  type: "unleash",
  match: ["unleash/*"],
  tenants: ["acme"],
  url: "https://unleash.example",
  environment: "production",
  token_env: "CRM_SECRET",
};
const GATE = {
  name: "deploys",
  type: "gate",
  match: ["deploy/*"],
  tenants: ["acme"],
  github: { app_id: 1, key_file: "app.pem", secret_env: "CRM_SECRET" },
};
const github = (overrides: object) => ({ systems: [{ ...GATE, github: { ...GATE.github, ...overrides } }] });
// Nothing listens on port 1, so this database is down.
const ENV = { CRM_SECRET: "0123456789abcdef", SETTINGS_DB: "postgres://app:secret@127.0.0.1:1/app" };

async function writeTargets(content: unknown): Promise<string> {
  const path = join(folder, "targets.json");
  await writeFile(path, typeof content === "string" ? content : JSON.stringify(content));
  return path;
}

const MISTAKES: Record<string, [content: unknown, message: string]> = {
  "no JSON": ["{", "is not valid JSON"],
  "no systems": [{}, "systems is required"],
  "an empty list": [{ systems: [] }, "systems must list a system"],
  "a misspelt top field": [{ system: [] }, "has no field system: did you mean systems?"],
  "an unknown type": [
    { systems: [{ ...FILE, type: "fil" }] },
    "systems[0] (product): type must be one of file, flagd,",
  ],
  "a misspelt field": [
    { systems: [{ ...FLAGS, tenant: ["*"] }] },
    "systems[0] (flags): it has no field tenant: did you mean tenants?",
  ],
  "a missing field": [{ systems: [{ ...FILE, path: undefined }] }, "systems[0] (product): path is required"],
  "a missing secret": [
    { systems: [{ ...HOOK, secret_env: "OTHER" }] },
    "systems[0] (crm): secret_env names OTHER, which is not set",
  ],
  "a short secret": [{ systems: [{ ...HOOK, secret_env: "SHORT" }] }, "systems[0] (crm): secret_env must"],
  "an address without https": [
    { systems: [{ ...HOOK, url: "http://crm.example/" }] },
    "systems[0] (crm): url must be an https URL",
  ],
  "an address with a password": [
    { systems: [{ ...UNLEASH, url: "https://user:secret@unleash.example" }] },
    "systems[0] (unleash): url must have no user, password or query",
  ],
  "an address of etcd with a password": [
    {
      systems: [
        {
          ...UNLEASH,
          type: "etcd",
          url: "http://user:secret@127.0.0.1:2379",
          environment: undefined,
          token_env: undefined,
        },
      ],
    },
    "systems[0] (unleash): url must read http://host:port",
  ],
  "a key that two tenants share": [
    { systems: [{ ...FLAGS, tenants: undefined }] },
    "tenants must name exactly one tenant",
  ],
  "an ambiguous template": [
    { systems: [{ ...SETTINGS, key: "{tenant}{rest}" }] },
    "key has two placeholders with nothing between them",
  ],
  "one name twice": [{ systems: [FILE, { ...FLAGS, name: "product" }] }, "two systems have the name product"],
  "one system twice": [{ systems: [FLAGS, { ...FLAGS, name: "again" }] }, "again is the same as flags"],
  "a GitHub App of two tenants": [
    { systems: [{ ...GATE, tenants: ["a", "b"] }] },
    "systems[0] (deploys): tenants must name exactly one tenant, since GitHub names none",
  ],
  "a GitHub App of every tenant": [{ systems: [{ ...GATE, tenants: undefined }] }, "tenants must name exactly one"],
  "a GitHub App without deployments": [{ systems: [{ ...GATE, match: ["tf/*"] }] }, "match must cover deploy/…"],
  "a GitHub App without its secret": [
    github({ secret_env: "OTHER" }),
    "systems[0] (deploys): github.secret_env names OTHER, which is not set",
  ],
  "a GitHub App with a short secret": [github({ secret_env: "SHORT" }), "github.secret_env names a secret that must"],
  "a GitHub App without its key": [github({}), "systems[0] (deploys): github.key_file cannot be read (ENOENT)"],
  "a GitHub App with another file": [github({ key_file: "targets.json" }), "github.key_file must be a private key"],
  "a misspelt field of a GitHub App": [github({ appid: 1 }), "github has no field appid: did you mean app_id?"],
  "an address of GitHub without https": [github({ api: "http://ghe.example/api/v3" }), "github.api must be an https"],
  "an address of GitHub with a slash": [github({ api: "https://ghe.example/api/v3/" }), "github.api must be an https"],
  "a pattern that matches nothing": [{ systems: [{ ...FILE, match: ["/x"] }] }, "match.0 matches no target"],
};

test.each(Object.entries(MISTAKES))("%s is rejected with an error of one line", async (_, [content, message]) => {
  const path = await writeTargets(content);
  const read = (): unknown => readTargets(path, { ...ENV, SHORT: "short" });
  expect(read).toThrow(message);
  expect(read).toThrow(/^--targets [^\n]+$/);
});

test("the log gets every system without a secret", async () => {
  const file = readTargets(await writeTargets({ systems: [FLAGS, HOOK, SETTINGS, FILE] }), ENV);
  expect(file.hash).toMatch(/^[0-9a-f]{64}$/);
  expect(file.systems).toMatchObject([FLAGS, { ...HOOK, url: "https://crm.example" }, SETTINGS, FILE]);
  expect(JSON.stringify(file.systems)).not.toMatch(/0123456789abcdef|app:secret|hooks/);
});

const ETCD = {
  name: "edge",
  type: "etcd",
  match: ["edge/*"],
  key: "/{tenant}/{rest}",
  url: "https://etcd.example:2379",
};
const GIT = {
  name: "repo",
  type: "git",
  match: ["repo/*"],
  tenants: ["a"],
  url: "u@h:r.git",
  branch: "main",
  path: "{rest}",
};

test.each([
  ["the host of a database", SETTINGS, {}, { SETTINGS_DB: "postgres://app:secret@127.0.0.2:1/app" }],
  ["the name of a database", SETTINGS, {}, { SETTINGS_DB: "postgres://app:secret@127.0.0.1:1/other" }],
  ["a table", SETTINGS, { table: "app.other" }],
  ["the path of a webhook", HOOK, { url: "https://crm.example/hooks/y" }],
  ["the query of a webhook", HOOK, { url: "https://crm.example/hooks/x?y" }],
  ["the environment of Unleash", UNLEASH, { environment: "development" }],
  ["the project of Unleash", UNLEASH, { project: "other" }],
  ["the file of flagd", FLAGS, { file: "other.flagd.json" }],
  ["a product file", FILE, { path: "other.json" }],
  ["the server of etcd", ETCD, { url: "https://other.example:2379" }],
  ["the key in etcd", ETCD, { key: "/other/{tenant}/{rest}" }],
  ["the remote of git", GIT, { url: "u@other:r.git" }],
  ["the branch of git", GIT, { branch: "other" }],
  ["the path in git", GIT, { path: "other/{rest}" }],
])(
  "the systems shown to signers of a mandate differ for another address: %s",
  async (_, system, overrides, env: object = {}) => {
    const readSystems = async (each: object, envOverrides: object) =>
      readTargets(await writeTargets({ systems: [each] }), { ...ENV, ...envOverrides }).systems;
    // Other credentials are no other address.
    expect(
      await readSystems(system, { CRM_SECRET: "another secret..", SETTINGS_DB: "postgres://b:c@127.0.0.1:1/app" }),
    ).toEqual(await readSystems(system, {}));
    expect(await readSystems({ ...system, ...overrides }, env)).not.toEqual(await readSystems(system, {}));
  },
);

test.each(["--product-config=config.json", "--product-adapter=https://crm.example/hook"])(
  "--targets replaces %s and says so",
  async (other) => {
    const path = await writeTargets({ systems: [FILE] });
    const parsed = parseOptions([other, `--targets=${path}`, "--product-intent=intent.json"], {});
    expect(parsed).toMatchObject({
      options: {
        targets: path,
        productConfig: undefined,
        productAdapter: undefined,
        warnings: [`${other.split("=")[0]} has no effect with --targets: list it among its systems`],
      },
    });
  },
);

const FLAG =
  '{"flags": {"checkout": {"state": "ENABLED", "variants": {"on": true, "off": false}, "defaultVariant": "off"}}}';

/** Starts a program with three systems; `systemDown` resolves with the name of the first one that cannot be used. */
async function startProgram() {
  await writeFile(join(folder, "flags.flagd.json"), FLAG);
  await writeFile(
    join(folder, "intent.json"),
    JSON.stringify({ product_id: "acme", version: "1", approved_by: "ana", update_epoch: 1 }),
  );
  const targets = await writeTargets({ systems: [FLAGS, SETTINGS, FILE] });
  let reportDown: (system: unknown) => void;
  const systemDown = new Promise<unknown>((resolve) => (reportDown = resolve));
  const logMessage: Log["warn"] = (message, facts) => {
    if (message === "a target system cannot be used") reportDown(facts?.["system"]);
  };
  const log: Log = { info: logMessage, warn: logMessage, error: logMessage };
  const files = [`--state=${join(folder, "state.json")}`, `--product-intent=${join(folder, "intent.json")}`];
  const parsed = parseOptions(["--port=0", "--cycle-interval=0", ...files, `--targets=${targets}`], ENV);
  if (parsed.kind !== "run") throw new Error("expected options");
  const { url, stop } = await start(parsed.options, log);
  stops.push(stop);
  return { api: client(fetch, url), systemDown };
}

test("one program applies changes to a flagd file and a config file, and rolls both back", async () => {
  const { api } = await startProgram();
  const flag = { tenant_id: "*", kind: "feature_flag", target: "flags/checkout", value: "true", reversible: true };
  const flagChange = await api.bring("applied", flag);
  const limitChange = await api.bring("applied", {
    tenant_id: "t1",
    target: "limits.seats",
    value: "50",
    reversible: true,
  });
  const readFlags = (): Promise<string> => readFile(join(folder, "flags.flagd.json"), "utf8");
  expect(JSON.parse(await readFlags()).flags.checkout.defaultVariant).toBe("on");
  const config = JSON.parse(await readFile(join(folder, "product_config.json"), "utf8"));
  expect(config.values).toEqual({ t1: { "limits.seats": 50 } });
  const { places } = (await api.get(`changes/${flagChange}`)).body;
  expect(places).toMatchObject([{ system: "flags", place: 'flagd flags.flagd.json "checkout"' }]);
  await api.must("rollback", flagChange);
  await api.must("rollback", limitChange);
  expect(await readFlags()).toBe(FLAG);
});

test("a system that is down makes only its own capability failing", async () => {
  const { api, systemDown } = await startProgram();
  expect(await systemDown).toBe("settings");
  const { body } = await api.get("/api/capabilities");
  const status = Object.fromEntries(
    body.capabilities.map((each: { id: string; status: string }) => [each.id, each.status]),
  );
  expect(status).toMatchObject({
    "target:settings": "failing",
    "target:flags": "available",
    "target:product": "available",
    product_adapter: "available",
  });
  expect((await api.get("/readyz")).status).toBe(200);
  const { adapter } = (await api.get("intent")).body;
  expect(adapter).toMatchObject({
    name: "targets",
    systems: [{ status: "ready" }, { status: "failing" }, { status: "ready" }],
  });
  const id = await api.bring("approved", { tenant_id: "t1", target: "settings/a", value: "1" });
  expect((await api.post("apply", { change_id: id })).status).toBe(502);
});

test("a gate opens its GitHub App with a PKCS#1 key, as GitHub has it; the log gets no secret", async () => {
  await writeFile(join(folder, "app.pem"), appKeyPem("pkcs1"));
  const file = readTargets(await writeTargets({ systems: [GATE] }), ENV);
  expect(file.systems).toEqual([GATE]);
  const adapter = file.open(memoryStore(), { product_id: "p", instance_id: "i" } as Identity, folder);
  const [gate] = adapter.githubGates!;
  expect(gate).toMatchObject({ name: "deploys", tenant_id: "acme", secret: ENV.CRM_SECRET });
  expect(gate!.app.api).toBe("https://api.github.com");
});
