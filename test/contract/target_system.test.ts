/** The file and memory target systems pass the contract of target systems; broken ones fail it. */
import * as nodeFiles from "node:fs/promises";
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
import { type MakeTarget, targetCases } from "./target_system_cases.ts";

const onFile: MakeTarget = async () => {
  const folder = await nodeFiles.mkdtemp(join(tmpdir(), "countersign-target-"));
  const path = join(folder, "config.json");
  let isEnding = false;
  const files = {
    ...nodeFiles,
    rename: async (...names: Parameters<typeof nodeFiles.rename>) => {
      if (isEnding) throw new Error("the process ended before the rename");
      await nodeFiles.rename(...names);
    },
  };
  const common = { product_id: "acme-crm", instance_id: "acme-crm@local", clock: systemClock };
  return {
    system: fileTarget({ path, store: memoryStore(), files, ...common }),
    interrupt: () => void (isEnding = true),
    async overwrite({ tenant_id, target }) {
      const config = JSON.parse(await nodeFiles.readFile(path, "utf8"));
      config.values[tenant_id][target] = { set: "by another program" };
      await nodeFiles.writeFile(path, JSON.stringify(config));
    },
    dispose: () => nodeFiles.rm(folder, { recursive: true, force: true }),
  };
};

const onMemory: MakeTarget = async () => {
  const { system, overwrite, faults } = memoryTarget();
  return {
    system,
    // This text is not the one that JSON.stringify makes of its value, so a restored value without its text differs.
    overwrite: (entry) => overwrite(entry, '{ "limit": 1.50,  "by": "another program" }'),
    interrupt: () => void faults.push("lost answer"),
  };
};

const SYSTEMS = { memory: onMemory, file: onFile };

describe.each(Object.entries(SYSTEMS))("the target system %s", (_, make) => {
  test.each(targetCases)("$name", ({ run }) => run(make));
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

/** Returns the memory target system with some of its methods replaced. */
const broken =
  (replaceMethods: (system: TargetSystem) => Partial<TargetSystem>): MakeTarget =>
  async () => {
    const target = await onMemory();
    return { ...target, system: { ...target.system, ...replaceMethods(target.system) } };
  };

const withTenant1 = (entry: Entry): Entry => ({ ...entry, tenant_id: "t1" });

const BROKEN = {
  "sets nothing": broken(() => ({ compareAndSet: async () => ({ done: true, version: "1" }) })),
  "does not compare": broken(({ read, compareAndSet }) => ({
    compareAndSet: async (entry, next, _, attempt, signal) =>
      compareAndSet(entry, next, await read(entry, signal), attempt, signal),
  })),
  "reports a conflict without the current value": broken(({ compareAndSet }) => ({
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
    read: (entry, signal) => read(withTenant1(entry), signal),
    compareAndSet: (entry, ...rest) => compareAndSet(withTenant1(entry), ...rest),
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
  "reports a write as done before it is": broken(({ compareAndSet }) => ({
    async compareAndSet(...args) {
      setTimeout(() => void compareAndSet(...args).catch(() => undefined));
      return { done: true, version: "soon" };
    },
  })),
  "reports done when the request was lost": async () => {
    const { system, overwrite, faults } = memoryTarget();
    const setMany: TargetSystem["setMany"] = (writes, signal) =>
      system.setMany!(writes, signal).catch(() => ({ done: true, versions: writes.map(() => "0") }));
    return {
      system: { ...system, setMany },
      overwrite: (entry) => overwrite(entry, '{"limit": 1.50}'),
      interrupt: () => void faults.push("lost request"),
    };
  },
  "sets the values of a plan one by one": broken(({ compareAndSet, read }) => ({
    async setMany(writes, signal) {
      const versions: string[] = [];
      for (const [index, { entry, next, expected, attempt }] of writes.entries()) {
        const set = await compareAndSet(entry, next, expected, attempt, signal);
        if ("conflict" in set) return { done: false, index, conflict: await read(entry, signal) };
        if (set.done) versions.push(set.version);
      }
      return { done: true, versions };
    },
  })),
  "reports the wrong write of a plan": broken(({ setMany }) => ({
    async setMany(...args) {
      const set = await setMany!(...args);
      return "index" in set ? { ...set, index: 1 - set.index } : set;
    },
  })),
  "restores the values of a plan, not their texts": broken(({ setMany }) => ({
    setMany: (writes, signal) =>
      setMany!(
        writes.map(({ next, ...write }) => ({ ...write, next: next && { value: next.value, version: "" } })),
        signal,
      ),
  })),
  "returns the value for every share": broken(() => ({ split: ({ value }) => ({ value, version: "" }) })),
  "returns a split for the last step": broken(({ split }) => ({
    split: (entry, by, before) => split!(entry, { ...by, share: Math.min(by.share, 9999) }, before),
  })),
  "restores the values of splits, not their texts": broken(({ compareAndSet }) => ({
    compareAndSet: (entry, next, expected, attempt, signal) =>
      compareAndSet(
        entry,
        next && attempt.operation === "rollback" ? { value: next.value, version: "" } : next,
        expected,
        attempt,
        signal,
      ),
  })),
} satisfies Record<string, MakeTarget>;

const SPLIT = "each split of a growing share is read as it was set, and at last the full value";
const ONE_WRITE = [
  "a write that expects an older value is a conflict with the current one and sets nothing",
  "a value is removed, if it is the expected one",
];
const RESTORED = "a value that was read can be restored exactly, even if another program wrote it";
const READ_AS_SET = "a set value is read unchanged, with the version that the write returned";
const SEPARATE = "each target of each tenant has its own value and key";
const SET_CONFLICT = "setMany with a conflict in one write returns its index and sets nothing";
const SET_INTERRUPTED = "an interrupted setMany has set all values or none";

/** The cases that each broken system must fail; it may fail others too. */
const FAILED_CASES: Record<keyof typeof BROKEN, readonly string[]> = {
  "sets nothing": [READ_AS_SET, ...ONE_WRITE],
  "does not compare": ONE_WRITE,
  "reports a conflict without the current value": [ONE_WRITE[0]!],
  "reports a conflict as done": ONE_WRITE,
  "sets null in place of nothing": [ONE_WRITE[1]!],
  "restores a value, not its text": [RESTORED],
  "has one version": ["different values have different versions"],
  "forgets tenants": [SEPARATE],
  "has one place": [SEPARATE],
  "ignores its signal": ["an operation with an aborted signal throws and sets nothing"],
  "rounds numbers": [READ_AS_SET],
  "resolves every attempt as done": ["resolving an attempt reports whether it was done, if the system knows"],
  "reports a write as done before it is": [READ_AS_SET, ...ONE_WRITE],
  "reports done when the request was lost": [SET_INTERRUPTED],
  "sets the values of a plan one by one": [SET_CONFLICT, SET_INTERRUPTED],
  "reports the wrong write of a plan": [SET_CONFLICT],
  "restores the values of a plan, not their texts": ["setMany restores replaced values exactly and removes new ones"],
  "returns the value for every share": [SPLIT],
  "returns a split for the last step": [SPLIT],
  "restores the values of splits, not their texts": ["the value before a split is restored exactly, from each share"],
};

test.each(Object.entries(BROKEN))("a target system that %s fails the contract", async (name, make) => {
  const failed: string[] = [];
  for (const { name: caseName, run } of targetCases) await run(make).catch(() => failed.push(caseName));
  expect(failed).toEqual(expect.arrayContaining([...FAILED_CASES[name as keyof typeof BROKEN]]));
});
