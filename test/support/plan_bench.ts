/** A governed core on several target systems, and plans for them. */
import { propose } from "../../lib/changes/commands/propose.ts";
import type { ProductAdapter } from "../../lib/changes/operations/adapter_port.ts";
import type { Change } from "../../lib/changes/rules/change.ts";
import { memoryStore } from "../../lib/store/memory.ts";
import type { Store } from "../../lib/store/store.ts";
import { targetAdapter } from "../../lib/targets/adapter.ts";
import type { TargetSystem } from "../../lib/targets/port.ts";
import { makeCompareAndSet } from "../../lib/targets/compare_and_set.ts";
import { type RoutedSystem, routingAdapter } from "../../lib/targets/routing.ts";
import { testClock } from "./clock.ts";
import { type Core, core, makeCore } from "./core.ts";
import { restartDeps, type TestDeps } from "./deps.ts";
import type { Manifest } from "./intents.ts";
import { memoryTarget } from "./memory_target.ts";

/** Returns an entry of a plan for the target `name/key` on the system `name`. */
export const planEntry = (name: string, key: string | number, value: unknown = `new ${key}`, tenant_id = "t1") => ({
  tenant_id,
  target: `${name}/${key}`,
  value,
});
export type PlanEntry = ReturnType<typeof planEntry>;

/** Proposes a plan; returns its id. */
export async function proposePlan(api: Core, sets: readonly PlanEntry[], fields: object = {}): Promise<string> {
  const plan = { tenant_id: "t1", kind: "config", target: "release.7", summary: "Relaunch", sets, ...fields } as const;
  const result = await propose({ deps: api.deps }, plan as unknown as Parameters<typeof propose>[1]);
  return (result as { record: { change: Change } }).record.change.change_id;
}

/** Proposes a plan, approves or applies it, and returns its id. */
export async function bringPlan(
  api: Core,
  status: "approved" | "applied",
  sets: readonly PlanEntry[],
  fields: object = {},
): Promise<string> {
  const id = await proposePlan(api, sets, fields);
  await api.must("approve", id);
  if (status === "applied") await api.must("apply", id);
  return id;
}

/** Creates systems in memory; those of `oneByOne` set several values one after another instead of atomically. */
export function memorySystems(names: readonly string[], oneByOne: readonly string[] = []) {
  /** The targets of each write, in the order of the writes. */
  const writes: string[][] = [];
  const systems = names.map((name) => {
    const { system: inner, ...target } = memoryTarget();
    const setMany: TargetSystem["setMany"] = (set, signal) => {
      writes.push(set.map(({ entry }) => entry.target));
      return inner.setMany!(set, signal);
    };
    const compareAndSet = makeCompareAndSet(setMany);
    const { setMany: _, ...single } = inner;
    const system: TargetSystem = { ...single, compareAndSet, name, ...(!oneByOne.includes(name) && { setMany }) };
    return [name, { ...target, system }] as const;
  });
  return Object.assign(new Map(systems), { writes });
}
export type MemorySystems = ReturnType<typeof memorySystems>;

/** Returns an adapter that routes the targets `name/…` to the system `name`. */
export const routeSystems = (
  systems: ReadonlyMap<string, { system: TargetSystem }>,
  store: Store,
  clock: TestDeps["clock"],
  otherSystems: readonly RoutedSystem[] = [],
): ProductAdapter =>
  routingAdapter([
    ...[...systems].map(([name, { system }]) => ({
      name,
      match: [`${name}/*`],
      adapter: targetAdapter(system, { store, clock }),
    })),
    ...otherSystems,
  ]);

/**
 * Opens a core on systems in memory. `more`: further systems; `longLived`: its cycle may restore a value whose edit it observed
 * itself.
 */
export async function planBench(
  systems: MemorySystems,
  { intent, more, longLived }: { intent?: Manifest; more?: readonly RoutedSystem[]; longLived?: boolean } = {},
) {
  const [store, clock] = [memoryStore(), testClock()];
  const adapter = routeSystems(systems, store, clock, more);
  const api = await core({ store, clock, adapter, ...(intent && { intent }), ...(longLived && { longLived }) });
  return {
    api,
    store,
    clock,
    systems,
    /** Opens another process on the same store and systems. */
    restart: async (): Promise<Core> => makeCore(await restartDeps(api.deps, { adapter, ...(intent && { intent }) })),
    /** Returns the text of a target, or undefined if it has no value. */
    raw: ({ tenant_id, target }: Pick<PlanEntry, "tenant_id" | "target">): string | undefined =>
      systems.get(target.split("/")[0]!)!.raw({ tenant_id, target, kind: "config" }),
    /** Sets a target as another program does. */
    overwrite: ({ tenant_id, target }: PlanEntry, raw: string | undefined): void =>
      systems.get(target.split("/")[0]!)!.overwrite({ tenant_id, target, kind: "config" }, raw),
    leases: async () => (await store.list("leases", { limit: 99 })).map(({ value }) => value),
    details: async (type: string) =>
      (await api.audit("?limit=1000"))
        .filter(({ event_type }) => event_type === type)
        .map(
          ({ detail }) =>
            JSON.parse(detail as string) as Record<string, unknown> & { sets?: Record<string, unknown>[] },
        ),
  };
}
