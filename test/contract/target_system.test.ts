/** The target systems keep what every target system promises; broken ones are noticed. */
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { systemClock } from "../../lib/kit/platform.ts";
import { memoryStore } from "../../lib/store/memory.ts";
import { targetAdapter } from "../../lib/targets/adapter.ts";
import type { Entry, TargetSystem } from "../../lib/targets/port.ts";
import { fileTarget } from "../../local/targets/file.ts";
import { memoryTarget } from "../support/memory_target.ts";
import { adapterCases, type MakeAdapter } from "./adapter_cases.ts";
import { type MadeSystem, targetSystemCases } from "./target_system_cases.ts";

type MakeSystem = () => Promise<MadeSystem>;

const onFile: MakeSystem = async () => {
  const folder = await mkdtemp(join(tmpdir(), "countersign-target-"));
  const path = join(folder, "config.json");
  const common = { product_id: "acme-crm", instance_id: "acme-crm@local", clock: systemClock };
  return {
    system: fileTarget({ path, store: memoryStore(), ...common }),
    async overwrite({ tenant_id, target }) {
      const config = JSON.parse(await readFile(path, "utf8"));
      config.values[tenant_id][target] = { set: "by another program" };
      await writeFile(path, JSON.stringify(config));
    },
    dispose: () => rm(folder, { recursive: true, force: true }),
  };
};

const onMemory: MakeSystem = async () => {
  const { system, overwrite } = memoryTarget();
  return { system, overwrite: (entry) => overwrite(entry, '{ "limit": 1.50,  "by": "another program" }') };
};

const SYSTEMS = { memory: onMemory, file: onFile };

describe.each(Object.entries(SYSTEMS))("the target system %s", (_, make) => {
  test.each(targetSystemCases)("$name", ({ run }) => run(make));
});

test.each(adapterCases)("the adapter of a target system: $name", ({ run }) =>
  run(async () => {
    const { system, overwrite } = memoryTarget();
    return {
      adapter: targetAdapter(system, { store: memoryStore(), clock: systemClock }),
      overwrite: (change, value) => overwrite(change, JSON.stringify(value)),
    } satisfies Awaited<ReturnType<MakeAdapter>>;
  }),
);

const broken =
  (over: (whole: TargetSystem) => Partial<TargetSystem>): MakeSystem =>
  async () => {
    const made = await onMemory();
    return { ...made, system: { ...made.system, ...over(made.system) } };
  };

const spelled = (entry: Entry): Entry => ({ ...entry, tenant_id: "t1" });

const BROKEN: Record<string, MakeSystem> = {
  "sets nothing": broken(() => ({ compareAndSet: async () => ({ done: true, version: "1" }) })),
  "does not compare": broken(({ read, compareAndSet }) => ({
    compareAndSet: async (entry, next, _, attempt, signal) =>
      compareAndSet(entry, next, await read(entry, signal), attempt, signal),
  })),
  "answers a conflict without the current value": broken(({ compareAndSet }) => ({
    async compareAndSet(...args) {
      const result = await compareAndSet(...args);
      return "conflict" in result ? { done: false, conflict: args[2] } : result;
    },
  })),
  "reports a conflict as done": broken(({ compareAndSet }) => ({
    async compareAndSet(...args) {
      const result = await compareAndSet(...args);
      return result.done ? result : { done: true, version: args[2].version };
    },
  })),
  "sets null in place of nothing": broken(({ compareAndSet }) => ({
    compareAndSet: (entry, next, ...rest) => compareAndSet(entry, next ?? { value: null, version: "" }, ...rest),
  })),
  "restores a value, not its text": broken(({ compareAndSet }) => ({
    compareAndSet: (entry, next, ...rest) =>
      compareAndSet(entry, next && { value: next.value, version: next.version }, ...rest),
  })),
  "has one version": broken(({ read, compareAndSet }) => ({
    read: async (entry, signal) => ({ ...(await read(entry, signal)), version: "1" }),
    compareAndSet: async (entry, next, _, attempt, signal) =>
      compareAndSet(entry, next, await read(entry, signal), attempt, signal),
  })),
  "forgets tenants": broken(({ read, compareAndSet }) => ({
    read: (entry, signal) => read(spelled(entry), signal),
    compareAndSet: (entry, ...rest) => compareAndSet(spelled(entry), ...rest),
  })),
  "has one place": broken(() => ({ place: () => "memory" })),
  "ignores its signal": broken(({ read, compareAndSet }) => {
    const { signal } = new AbortController();
    return {
      read: (entry) => read(entry, signal),
      compareAndSet: (entry, next, expected, attempt) => compareAndSet(entry, next, expected, attempt, signal),
    };
  }),
  "rounds numbers": broken(({ compareAndSet }) => ({
    compareAndSet: (entry, next, ...rest) =>
      compareAndSet(
        entry,
        next && { ...next, value: JSON.parse(JSON.stringify(next.value).replace("1.5", "2")) },
        ...rest,
      ),
  })),
  "resolves every attempt as done": broken(() => ({ resolve: async () => "done" })),
};

test.each(Object.entries(BROKEN))("a target system that %s breaks a promise", async (_, make) => {
  const results = await Promise.allSettled(targetSystemCases.map(({ run }) => run(make)));
  expect(results.filter(({ status }) => status === "rejected").length).toBeGreaterThan(0);
});
