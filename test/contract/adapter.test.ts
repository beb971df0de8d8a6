/** The adapters of the package pass the adapter contract; broken adapters fail it. */
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import type { ProductAdapter } from "../../lib/changes/operations/adapter_port.ts";
import { webhookAdapter } from "../../lib/targets/webhook.ts";
import { systemClock } from "../../lib/kit/platform.ts";
import { memoryStore } from "../../lib/store/memory.ts";
import { fileAdapter } from "../../local/targets/file.ts";
import { startWebhookHost } from "../support/webhook_host.ts";
import { adapterCases, type MakeAdapter } from "./adapter_cases.ts";

const common = { product_id: "acme-crm", instance_id: "acme-crm@local", clock: systemClock };

const onFile: MakeAdapter = async () => {
  const folder = await mkdtemp(join(tmpdir(), "countersign-adapter-"));
  const path = join(folder, "config.json");
  return {
    adapter: fileAdapter({ path, store: memoryStore(), ...common }),
    async overwrite({ tenant_id, target }, value) {
      const config = JSON.parse(await readFile(path, "utf8"));
      config.values[tenant_id][target] = value;
      await writeFile(path, JSON.stringify(config));
    },
    dispose: () => rm(folder, { recursive: true, force: true }),
  };
};

const onWebhook: MakeAdapter = async () => {
  const secret = "a secret of some length";
  const host = await startWebhookHost(secret);
  const adapter = webhookAdapter({ url: host.url, secret, ...common });
  return { adapter, overwrite: host.overwrite, dispose: host.stop };
};

describe.each(Object.entries({ file: onFile, webhook: onWebhook }))("the %s adapter", (_, make) => {
  test.each(adapterCases)("$name", ({ run }) => run(make));
});

/** Returns the file adapter with some of its methods replaced. */
const broken =
  (replaceMethods: (adapter: ProductAdapter) => Partial<ProductAdapter>): MakeAdapter =>
  async () => {
    const host = await onFile();
    return { ...host, adapter: { ...host.adapter, ...replaceMethods(host.adapter) } };
  };

const BROKEN: Record<string, MakeAdapter> = {
  "applies nothing": broken(() => ({ apply: async () => ({ result: "applied" }) })),
  "rolls nothing back": broken(() => ({ rollback: async () => ({ result: "rolled_back" }) })),
  "applies when it should validate": broken(({ apply }) => ({
    validate: async (change, signal) => apply(change, signal).then(() => ({ ok: true })),
  })),
  "always reports that a target has no value": broken(() => ({ held: async () => null })),
  "always reports that a target had no value before": broken(({ apply }) => ({
    apply: async (change, signal) => ({ ...(await apply(change, signal)), previous: null }),
  })),
  "never answers superseded": broken(({ rollback }) => ({
    rollback: async (change, signal) => ({ ...(await rollback(change, signal)), result: "rolled_back" }),
  })),
  "compares targets by case": broken(({ apply, rollback, verify }) => {
    // The adapter ignores case, so targets that differ in case only get different names.
    const byCase = <C extends { target: string }>(change: C): C => ({
      ...change,
      target: change.target.replace(/[A-Z]/g, (letter) => `${letter}_`),
    });
    return {
      apply: (change, signal) => apply(byCase(change), signal),
      rollback: (change, signal) => rollback(byCase(change), signal),
      verify: (change, signal) => verify(byCase(change), signal),
    };
  }),
  "reports a lost change as rolled back": broken(({ rollback, verify }) => {
    const lost = new Set<string>();
    return {
      rollback: (change, signal) =>
        rollback(change, signal).catch(() => (lost.add(change.change_id), { result: "rolled_back" })),
      verify: async (change, signal) => (lost.has(change.change_id) ? "rolled_back" : verify(change, signal)),
    };
  }),
  "reports another program's value as applied": broken(({ verify }) => ({
    verify: async (change, signal) => {
      const state = await verify(change, signal);
      return state === "unknown" ? "applied" : state;
    },
  })),
  "is not repeatable": broken(({ apply }) => {
    const applied = new Set<string>();
    return {
      apply: async (change, signal) => {
        if (applied.has(change.change_id)) throw new Error("it is applied already");
        applied.add(change.change_id);
        return apply(change, signal);
      },
    };
  }),
  "forgets tenants": broken(({ apply, verify, rollback }) => {
    const withTenant1 = <C extends { tenant_id: string }>(change: C): C => ({ ...change, tenant_id: "t1" });
    // Behaves like a host with one value for each target of all tenants, on which only the last change is in force.
    let last = "";
    return {
      apply: (change, signal) => ((last = change.change_id), apply(withTenant1(change), signal)),
      verify: async (change, signal) => (last === change.change_id ? verify(withTenant1(change), signal) : "absent"),
      rollback: (change, signal) => rollback(withTenant1(change), signal),
    };
  }),
};

test("the case about another program's value also works without overwrite", async () => {
  const withoutOverwrite: MakeAdapter = async () => {
    const { overwrite: _, ...host } = await BROKEN["reports another program's value as applied"]!();
    return host;
  };
  const { run } = adapterCases.find(({ name }) => name.startsWith("a value that the change did not set"))!;
  await expect(run(withoutOverwrite)).rejects.toThrow("verify answers applied");
});

test.each(Object.entries(BROKEN))("an adapter that %s fails the contract", async (_, make) => {
  const results = await Promise.allSettled(adapterCases.map(({ run }) => run(make)));
  expect(results.filter(({ status }) => status === "rejected").length).toBeGreaterThan(0);
});
