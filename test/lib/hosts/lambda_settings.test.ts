/** Settings of serverless hosts from environment variables, and the capabilities that follow from them. */
import { describe, expect, test } from "vitest";
import { createDeps } from "../../../lib/deps.ts";
import type { ProductAdapter } from "../../../lib/changes/operations/adapter_port.ts";
import { functionCapabilities, tokenCapability } from "../../../lib/hosts/capabilities.ts";
import { readBasePath } from "../../../lib/hosts/lambda/environment.ts";
import { SettingInvalid, parseSettings } from "../../../lib/hosts/settings.ts";
import { memoryStore } from "../../../lib/store/memory.ts";
import { testClock } from "../../support/clock.ts";
import { manifest } from "../../support/intents.ts";
import { scriptedAdapter } from "../../support/scripted_adapter.ts";

const clock = testClock();
const readSettings = (env: Record<string, unknown>) => parseSettings(env, { clock });
/** Returns the product runtime of a service with these settings. */
const createProduct = (env: Record<string, string>, adapter?: ProductAdapter) =>
  createDeps({ ...parseSettings(env, { clock, adapter }), store: memoryStore() }).product;
const INTENT = JSON.stringify(manifest());

describe("settings", () => {
  test("are read from the same names as those of ui_server", () => {
    expect(
      readSettings({
        SVC_PRODUCT_INTENT_JSON: INTENT,
        SVC_AGENT_ID: "agent",
        SVC_INSTANCE_ID: "instance",
        SVC_ADMIN_TOKEN: "a-token-for-tests",
        SVC_PROTECT_ALL: "true",
        SVC_PROTECT_READS: "0",
        SVC_READ_TOKEN: "a-token-to-read-with",
        SVC_IDENTITY_HEADER: "X-Person",
        SVC_ALLOWED_HOSTS: " A.example , b.example,,",
        SVC_PUBLIC_URL: "https://gov.acme.example/console/",
        SVC_PRODUCT_ADAPTER: "https://host.example/hook",
        SVC_ADAPTER_SECRET: "secret",
      }),
    ).toEqual({
      publicUrl: "https://gov.acme.example/console",
      intent: INTENT,
      node_id: "agent",
      instance_id: "instance",
      adapter: expect.any(Function),
      adminToken: "a-token-for-tests",
      allowAnonymousWrites: false,
      protectAll: true,
      protectReads: false,
      readToken: "a-token-to-read-with",
      identityHeader: "x-person",
      allowedHosts: ["a.example", "b.example"],
    });
  });

  test.each(["SVC_TARGETS", "SVC_PRODUCT_CONFIG"])("%s is rejected, also where the host has an adapter", (name) => {
    const env = { [name]: "targets.json" };
    for (const adapter of [undefined, scriptedAdapter()])
      expect(() => parseSettings(env, { clock, adapter })).toThrow(
        new SettingInvalid(
          `${name} is not supported on this host, which has no files; name a webhook in SVC_PRODUCT_ADAPTER, or run ui_server`,
        ),
      );
    expect(() => readSettings({ [name]: "" })).not.toThrow();
  });

  test("that are empty or not text count as absent", () => {
    const settings = readSettings({
      SVC_ADMIN_TOKEN: "",
      SVC_NODE_ID: "",
      SVC_AGENT_ID: "a",
      SVC_PROTECT_ALL: "",
      X: {},
    });
    expect(settings).toMatchObject({ adminToken: undefined, node_id: "a", protectAll: true, protectReads: true });
    const unprotected = readSettings({ SVC_PROTECT_ALL: "0", SVC_PROTECT_READS: "false" });
    expect(unprotected).toMatchObject({ protectAll: false, protectReads: false, readToken: undefined });
  });

  test.each(["SVC_ADMIN_TOKEN", "SVC_READ_TOKEN"])(
    "a %s that could be guessed is rejected, and the error does not contain it",
    (name) => {
      const read = () => readSettings({ [name]: "a-short-token-1" });
      expect(read).toThrow(new SettingInvalid(`${name} needs 16 characters or more`));
    },
  );

  test("the same token for reading and writing is rejected", () => {
    const token = "a token of a good length";
    const read = () => readSettings({ SVC_ADMIN_TOKEN: token, SVC_READ_TOKEN: token });
    expect(read).toThrow(new SettingInvalid("SVC_READ_TOKEN must not be SVC_ADMIN_TOKEN: who may read could write"));
  });

  test.each([
    "gov.acme.example",
    "ftp://gov.acme.example",
    "https://a:b@gov.acme.example",
    "https://gov.acme.example/#/x",
  ])("the address %s of the console is rejected", (SVC_PUBLIC_URL) =>
    expect(() => readSettings({ SVC_PUBLIC_URL })).toThrow(/^SVC_PUBLIC_URL must be an http or https address/),
  );

  test.each(["yes", "2", "TRUE"])("the value %j of a flag is rejected with the flag's name", (value) => {
    const read = () => readSettings({ SVC_ALLOW_ANONYMOUS_WRITES: value });
    expect(read).toThrow(new SettingInvalid("SVC_ALLOW_ANONYMOUS_WRITES must be 1 or 0"));
  });
});

test.each([
  ["/governance", "/governance"],
  ["governance", "/governance"],
  ["/governance/", "/governance"],
  ["/a/b", "/a/b"],
  ["/", ""],
  ["", ""],
])("the base path %j is %j", (value, base) => expect(readBasePath({ SVC_BASE_PATH: value })).toBe(base));

describe("the product runtime", () => {
  test("is disabled without an intent, and writes are rejected", () => {
    expect(createProduct({ SVC_PRODUCT_ADAPTER: "nowhere" })).toBeUndefined();
    expect(readSettings({})).toMatchObject({ adminToken: undefined, allowAnonymousWrites: false, allowedHosts: [] });
  });

  test("has the product of the intent and the configured node", () => {
    const product = createProduct({ SVC_PRODUCT_INTENT_JSON: INTENT, SVC_NODE_ID: "stack" });
    expect(product!.identity).toMatchObject({
      product_id: "acme-crm",
      instance_id: "acme-crm@stack",
      node_id: "stack",
    });
    expect(product!.adapter).toBeUndefined();
  });

  test.each(["0", "-1", "1e3", "many", "100001"])("a limit of %j calls to a model per hour is rejected", (limit) => {
    expect(() => readSettings({ SVC_LLM_CALLS_PER_HOUR: limit })).toThrow(
      "SVC_LLM_CALLS_PER_HOUR must be a whole number from 1 to 100000",
    );
    expect(readSettings({ SVC_LLM_CALLS_PER_HOUR: "20" }).llmCallsPerHour).toBe(20);
  });

  test("an adapter that is passed takes precedence over the webhook", () => {
    const adapter = scriptedAdapter();
    const webhook = { SVC_PRODUCT_ADAPTER: "https://host.example/hook", SVC_ADAPTER_SECRET: "a secret of the test" };
    expect(createProduct({ SVC_PRODUCT_INTENT_JSON: INTENT, ...webhook }, adapter)!.adapter).toBe(adapter);
    expect(createProduct({ SVC_PRODUCT_INTENT_JSON: INTENT, ...webhook })!.adapter!.name).toBe("webhook");
  });

  test.each([
    [{ SVC_PRODUCT_ADAPTER: "https://h.example" }, /^SVC_PRODUCT_ADAPTER needs SVC_ADAPTER_SECRET/],
    [
      { SVC_PRODUCT_ADAPTER: "http://h.example/hunter2", SVC_ADAPTER_SECRET: "a secret of the test" },
      /^SVC_PRODUCT_ADAPTER must be an https/,
    ],
    [{ SVC_PRODUCT_ADAPTER: "https://h.example", SVC_ADAPTER_SECRET: "hunter2" }, /^SVC_ADAPTER_SECRET must have 16/],
  ])("a webhook of %o is rejected with the setting's name and without its secret", (webhook, message) => {
    const create = () => createProduct({ SVC_PRODUCT_INTENT_JSON: INTENT, ...webhook });
    expect(create).toThrow(SettingInvalid);
    expect(create).toThrow(message);
    expect(create).not.toThrow(/hunter2/);
  });
});

test.each([
  [{ adminToken: "t" }, "available", null],
  [{ adminToken: "t", allowAnonymousWrites: true }, "available", null],
  [{ allowAnonymousWrites: true }, "disabled", "writes need no token"],
  [{}, "disabled", "no token is configured, so every write is rejected"],
])("the capability of the token with %o: %s", (settings, status, reason) => {
  expect(tokenCapability(settings)).toMatchObject({ id: "admin_token", status, reason });
});

describe("the capabilities of a function", () => {
  const findRow = (id: string, env: Record<string, string>) =>
    functionCapabilities(env).find((capability) => capability.id === id);
  test.each([
    ["cycle_timer", {}, "disabled"],
    ["cycle_timer", { SVC_CYCLE_INTERVAL: "0" }, "disabled"],
    ["cycle_timer", { SVC_CYCLE_INTERVAL: "60" }, "available"],
    ["llm", {}, "disabled"],
    ["llm", { SVC_LLM: "openai" }, "disabled"],
    ["llm", { SVC_LLM: "nobody", SVC_LLM_MODEL: "m" }, "disabled"],
    ["llm", { SVC_LLM: "https://llm.example/v1", SVC_LLM_MODEL: "m" }, "available"],
    ["llm", { SVC_LLM: "anthropic", SVC_LLM_MODEL: "m", SVC_LLM_BASE_URL: "https://llm.example" }, "available"],
    ["llm", { SVC_LLM: "anthropic", SVC_LLM_MODEL: "m", SVC_LLM_BASE_URL: "llm.example" }, "disabled"],
    ["llm", { SVC_LLM: "https://a.example", SVC_LLM_MODEL: "m", SVC_LLM_BASE_URL: "https://llm.example" }, "disabled"],
    ["proxy_identity", { SVC_IDENTITY_HEADER: "x-person" }, "available"],
    ["audit_key", { SVC_AUDIT_KEY_PEM: "…" }, "available"],
    ["event_stream", {}, "disabled"],
    ["ui", {}, "disabled"],
    ["ui", { SVC_CONSOLE: "1" }, "available"],
  ])("%s with %o: %s", (id, env, status) => {
    const row = findRow(id, env);
    expect(row!.status).toBe(status);
    expect(row!.reason === null).toBe(status === "available");
  });
});
