/** Tests the official OpenFeature providers against the built program: values before and after an apply and a rollback. */
import { OFREPProvider } from "@openfeature/ofrep-provider";
import { OFREPWebProvider } from "@openfeature/ofrep-web-provider";
import { OpenFeature } from "@openfeature/server-sdk";
import { OpenFeature as WebOpenFeature, type Provider, ProviderEvents } from "@openfeature/web-sdk";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, onTestFinished, test } from "vitest";
import { client, type Client } from "../support/client.ts";
import { manifest } from "../support/intents.ts";
import { killServers, serve } from "./server.ts";

const READ = "read-token-of-sixteen-and-more";
const AUTHORIZED: [string, string][] = [["authorization", `Bearer ${READ}`]];

const folder = mkdtempSync(join(tmpdir(), "openfeature-"));
let url: string;
let api: Client;
beforeAll(async () => {
  writeFileSync(join(folder, "intent.json"), JSON.stringify(manifest()));
  const env = { SVC_PROTECT_READS: "1", SVC_READ_TOKEN: READ };
  ({ url } = await serve(folder, ["--product-intent=intent.json", "--cycle-interval=0"], env));
  api = client(
    (request) =>
      fetch(request, { headers: { ...Object.fromEntries(request.headers), ...Object.fromEntries(AUTHORIZED) } }),
    url,
  );
}, 60_000);
afterAll(() => killServers(folder));

const applyValue = (tenant_id: string, target: string, value: unknown) =>
  api.bring("applied", { tenant_id, target, value: JSON.stringify(value) });

async function serverClient(domain: string, headers = AUTHORIZED) {
  await OpenFeature.setProviderAndWait(domain, new OFREPProvider({ baseUrl: url, headers }));
  onTestFinished(() => OpenFeature.close());
  return OpenFeature.getClient(domain);
}

test("server: returns the default, then the applied value, then the value of the rollback", async () => {
  const flags = await serverClient("lifecycle");
  const t1 = { targetingKey: "t1" };
  const details = () => flags.getStringDetails("ui.banner", "code", t1);
  expect(await details()).toMatchObject({ value: "code", reason: "ERROR", errorCode: "FLAG_NOT_FOUND" });
  await applyValue("*", "ui.banner", "for all");
  const id = await applyValue("t1", "ui.banner", "own");
  expect(await details()).toMatchObject({
    value: "own",
    reason: "TARGETING_MATCH",
    flagMetadata: { change_id: id, tenant_id: "t1", applied_at: expect.any(String), entry: expect.any(Number) },
  });
  expect(await flags.getStringDetails("ui.banner", "code")).toMatchObject({ value: "for all", reason: "STATIC" });
  await api.must("rollback", id);
  expect(await details()).toMatchObject({ value: "for all", reason: "STATIC" });
});

test("server: returns every type but null, also for a key with slashes; another type is an error", async () => {
  const flags = await serverClient("types");
  for (const [target, value] of Object.entries({ "s/flag/on": true, "s/limits:seats": 7, "s/plan": { a: [1] } }))
    await applyValue("t1", target, value);
  const t1 = { targetingKey: "t1" };
  expect(await flags.getBooleanValue("s/flag/on", false, t1)).toBe(true);
  expect(await flags.getNumberValue("s/limits:seats", 0, t1)).toBe(7);
  expect(await flags.getObjectValue("s/plan", {}, t1)).toEqual({ a: [1] });
  expect(await flags.getStringDetails("s/limits:seats", "code", t1)).toMatchObject({
    value: "code",
    errorCode: "TYPE_MISMATCH",
  });
  // A flag cannot be null, so the provider returns the default.
  await applyValue("t1", "s/none", null);
  expect((await flags.getBooleanDetails("s/none", true, t1)).value).toBe(true);
});

test("server: returns the default without the read token", async () => {
  const flags = await serverClient("unauthorized", []);
  await applyValue("t1", "ui.secret", "protected");
  expect(await flags.getStringDetails("ui.secret", "code", { targetingKey: "t1" })).toMatchObject({
    value: "code",
    reason: "ERROR",
    errorCode: "GENERAL",
  });
});

test("web: loads all values in one request, and polls for changes, with 304 without any", async () => {
  await applyValue("*", "web/theme", "dark");
  const id = await applyValue("t9", "web.banner", true);
  const statuses: number[] = [];
  let notifyPolled = (): void => {};
  const fetchImplementation: typeof fetch = async (input, init) => {
    const response = await fetch(input, init);
    statuses.push(response.status);
    notifyPolled();
    return response;
  };
  const provider = new OFREPWebProvider({
    baseUrl: url,
    headers: AUTHORIZED,
    pollInterval: 50,
    cacheMode: "disabled",
    fetchImplementation,
  });
  onTestFinished(() => WebOpenFeature.close());
  await WebOpenFeature.setContext({ targetingKey: "t9" });
  // The provider's types do not distinguish absent members from undefined ones.
  await WebOpenFeature.setProviderAndWait(provider as Provider);
  const flags = WebOpenFeature.getClient();
  expect(flags.getBooleanDetails("web.banner", false)).toMatchObject({ value: true, reason: "TARGETING_MATCH" });
  expect(flags.getStringDetails("web/theme", "light")).toMatchObject({ value: "dark", reason: "STATIC" });
  expect(flags.getStringDetails("web/none", "code")).toMatchObject({ value: "code", errorCode: "FLAG_NOT_FOUND" });
  while (statuses.at(-1) !== 304) await new Promise<void>((resolve) => (notifyPolled = resolve));
  const changed = new Promise<void>((resolve) =>
    WebOpenFeature.addHandler(ProviderEvents.ConfigurationChanged, () => resolve()),
  );
  await api.must("rollback", id);
  await changed;
  expect(flags.getBooleanDetails("web.banner", false)).toMatchObject({ value: false, errorCode: "FLAG_NOT_FOUND" });
  expect(new Set(statuses)).toEqual(new Set([200, 304]));
});
