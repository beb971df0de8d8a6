/**
 * Random scenarios of plans on several target systems, each with a fault at a random step: a lost request or answer, a rejected
 * write, a system that is down, or a process that crashes at a write to its store or to a target.
 */
import { strict as assert } from "node:assert";
import { propose } from "../../lib/changes/commands/propose.ts";
import type { ProductAdapter } from "../../lib/changes/operations/adapter_port.ts";
import { reconcile } from "../../lib/changes/reconcile.ts";
import { Unanswered } from "../../lib/kit/time_limit.ts";
import { memoryStore } from "../../lib/store/memory.ts";
import type { Store } from "../../lib/store/store.ts";
import { targetAdapter } from "../../lib/targets/adapter.ts";
import type { TargetSystem } from "../../lib/targets/port.ts";
import { makeCompareAndSet } from "../../lib/targets/compare_and_set.ts";
import { routingAdapter } from "../../lib/targets/routing.ts";
import { MINUTE, testClock } from "./clock.ts";
import { type Core, core, makeCore } from "./core.ts";
import { restartDeps, type TestDeps } from "./deps.ts";
import { dice } from "./dice.ts";
import { chainFault } from "./independent_chain.ts";

/** A target system under test, with the targets `name/…`. */
export interface ScenarioSystem {
  name: string;
  /** Opens the system's adapter for one process, with the faults of that process. */
  open(store: Store, clock: TestDeps["clock"], faults: Faults): ProductAdapter;
  /** Returns the value that a number stands for. */
  value(number: number): unknown;
  /** Sets a target before the plan; without this function targets begin without a value. */
  prepare?(key: string): Promise<void>;
  /** Reads a target without its adapter. */
  content(key: string): Promise<string>;
}

const KINDS = ["lost request", "lost answer", "rejected", "down", "dies before", "dies after"] as const;

/**
 * Chooses a random fault for one operation; `at` is the number of the write at which it happens, or `down` begins. For a crash,
 * writes to the store and to all systems are counted, for another fault only those to the system `name`.
 */
export function randomFault(random: (below: number) => number, names: readonly string[]) {
  const kind = KINDS[random(KINDS.length)]!;
  const isCrash = kind.startsWith("dies");
  return { kind, name: names[random(names.length)]!, at: 1 + random(isCrash ? 40 : 2) };
}
export type Fault = ReturnType<typeof randomFault>;

/** Makes the calls and writes of one process fail at a planted fault. */
export class Faults {
  isDead = false;
  happened = false;
  /** Number of steps or writes since `plant` that count for the fault. */
  private count = 0;
  private fault: Fault | undefined;

  /** Plants a fault, whose steps are counted from now on. */
  plant(fault: Fault): void {
    this.fault = fault;
  }

  /** Runs a write to the store or to a system; the process may crash before or after it. */
  async step<T>(run: () => Promise<T>): Promise<T> {
    if (this.isDead) throw new Error("the process crashed");
    const { kind, at } = this.fault ?? {};
    const isCrash = kind?.startsWith("dies");
    if (isCrash) this.count++;
    const happensNow = isCrash && this.count === at;
    if (happensNow && kind === "dies before") this.die();
    const result = await run();
    if (happensNow) this.die();
    return result;
  }
  private die(): never {
    this.isDead = this.happened = true;
    throw new Error("the process crashed");
  }

  /** Runs a call to a system, which may fail; `reject` makes the result of a rejected write. Writes are counted. */
  async call<T>(name: string, isWrite: boolean, run: () => Promise<T>, reject: () => T): Promise<T> {
    if (this.isDead) throw new Error("the process crashed");
    const { kind, name: system, at } = this.fault ?? {};
    const isThisSystem = name === system && !kind!.startsWith("dies");
    if (isThisSystem && isWrite) this.count++;
    const happensNow = isThisSystem && isWrite && this.count === at;
    if (kind === "down" && isThisSystem && this.count >= at!) {
      this.happened = true;
      throw isWrite ? new Unanswered("no answer") : new Error("no answer");
    }
    if (happensNow) this.happened = true;
    if (happensNow && kind === "lost request") throw new Unanswered("the request was lost");
    if (happensNow && kind === "rejected") return reject();
    const result = await (isWrite ? this.step(run) : run());
    if (happensNow && kind === "lost answer") throw new Unanswered("the answer was lost");
    return result;
  }
}

/** Opens an adapter for a target system whose calls fail at the planted fault. */
export function openFaulty(
  system: TargetSystem,
  store: Store,
  clock: TestDeps["clock"],
  faults: Faults,
): ProductAdapter {
  const { name, setMany, resolve } = system;
  const rejected = { done: false, rejected: "the system rejects it" } as const;
  const compareAndSet: TargetSystem["compareAndSet"] = (...args) =>
    faults.call(
      name,
      true,
      () => system.compareAndSet(...args),
      () => rejected,
    );
  const faultySetMany: TargetSystem["setMany"] =
    setMany &&
    ((...args) =>
      faults.call(
        name,
        true,
        () => setMany(...args),
        () => rejected,
      ));
  const faulty: TargetSystem = {
    ...system,
    read: (...args) =>
      faults.call(
        name,
        false,
        () => system.read(...args),
        () => {
          throw new Error("rejected");
        },
      ),
    compareAndSet: faultySetMany ? makeCompareAndSet(faultySetMany) : compareAndSet,
    ...(faultySetMany && { setMany: faultySetMany }),
    ...(resolve && {
      resolve: (...args) =>
        faults.call(
          name,
          false,
          () => resolve(...args),
          () => undefined,
        ),
    }),
  };
  return targetAdapter(faulty, { store, clock });
}

/**
 * Counts of a run. `applied` and `rolledBack` count the scenarios by the result of the apply with a fault; `unknown` and
 * `partlyRolledBack` count checks, of which a scenario has several.
 */
export interface PlanCounts {
  scenarios: number;
  faults: number;
  applied: number;
  rolledBack: number;
  unknown: number;
  partlyRolledBack: number;
  /** The audit log of each scenario, as JSON lines. */
  exports: string[];
}

/** Runs one scenario with its own plan for each seed of a range. */
export async function runPlanScenarios(
  systems: readonly ScenarioSystem[],
  [first, last]: readonly [number, number],
): Promise<PlanCounts> {
  const counts: PlanCounts = {
    scenarios: 0,
    faults: 0,
    applied: 0,
    rolledBack: 0,
    unknown: 0,
    partlyRolledBack: 0,
    exports: [],
  };
  for (let seed = first; seed <= last; seed++) {
    try {
      await runScenario(systems, seed, counts);
    } catch (error) {
      throw new Error(`seed ${seed}: ${(error as Error).message}`, { cause: error });
    }
  }
  return counts;
}

async function runScenario(systems: readonly ScenarioSystem[], seed: number, counts: PlanCounts): Promise<void> {
  const random = dice(seed);
  const [store, clock] = [memoryStore(), testClock()];
  const open = (faults: Faults) => {
    const crashing: Store = { ...store, transact: (decide) => faults.step(() => store.transact(decide)) };
    const routed = systems.map((system) => ({
      name: system.name,
      match: [`${system.name}/*`],
      tenants: ["t1"],
      adapter: system.open(crashing, clock, faults),
    }));
    return { store: crashing, adapter: routingAdapter(routed) };
  };
  const start = await core({ ...open(new Faults()), clock });
  const restart = async (faults: Faults): Promise<Core> => {
    const { store: crashing, adapter } = open(faults);
    return makeCore(await restartDeps({ ...start.deps, store: crashing } as TestDeps, { adapter }));
  };

  const entries: { system: ScenarioSystem; key: string; before: string }[] = [];
  const count = 2 + random(7);
  for (let index = 0; index < count; index++) {
    const system = systems[random(systems.length)]!;
    const key = `k${seed}-${index}`;
    if (random(2) === 0) await system.prepare?.(key);
    entries.push({ system, key, before: await system.content(key) });
  }
  const sets = entries.map(({ system, key }, index) => ({
    tenant_id: "t1",
    target: `${system.name}/${key}`,
    value: system.value(seed * 10 + index),
  }));
  const plan = { tenant_id: "t1", kind: "config", target: "release.7", summary: "Relaunch", sets };
  const proposed = await propose({ deps: start.deps }, plan as unknown as Parameters<typeof propose>[1]);
  const id = (proposed as { record: { change: { change_id: string } } }).record.change.change_id;
  await start.must("approve", id);

  const contents = () => Promise.all(entries.map(({ system, key }) => system.content(key)));
  const before = entries.map((entry) => entry.before);
  const readStatus = async (): Promise<string> => (await store.get("changes", id))!.value.change.status;
  /** Returns the targets with a lease, whose key begins with its target. */
  const listLeasedTargets = async () =>
    new Set((await store.list("leases", { limit: 99 })).map(({ id: key }) => key.split("\n")[0]!));
  /** Requires that each target whose value changed is applied and not rolled back, or has a lease. */
  const requireChangedAreRecorded = async (): Promise<void> => {
    const [current, leases, status] = [await contents(), await listLeasedTargets(), await readStatus()];
    const { applied } = (await store.get("changes", id))!.value;
    for (const [index, { target }] of sets.entries()) {
      if (current[index] === before[index]) continue;
      const entry = applied?.sets?.find((applyOfEntry) => applyOfEntry.target === target);
      const isStillApplied = status === "applied" && entry !== undefined && entry.rolled_back_at === undefined;
      assert.ok(isStillApplied || leases.has(target), `${target} is set without a lease, and the plan is ${status}`);
    }
    if (leases.size > 0) counts.unknown++;
    if (applied?.sets?.some(({ rolled_back_at }) => rolled_back_at !== undefined)) counts.partlyRolledBack++;
  };

  /** Runs an operation with a fault, and lets another process without faults complete or undo it. */
  const runWithFault = async (operation: "apply" | "rollback"): Promise<Core> => {
    const faults = new Faults();
    const api = await restart(faults);
    faults.plant(randomFault(random, [...new Set(entries.map(({ system }) => system.name))]));
    // A planted crash rejects the call.
    await api.act(operation, id).catch(() => undefined);
    await requireChangedAreRecorded();
    if (faults.happened) counts.faults++;
    const resumed = await restart(new Faults());
    for (let cycle = 0; cycle < 3; cycle++) {
      clock.advance(20 * MINUTE);
      await resumed.cycle();
      await requireChangedAreRecorded();
    }
    assert.deepEqual([...(await listLeasedTargets())], [], "a lease remains although all systems answer again");
    return resumed;
  };

  let api = await runWithFault("apply");
  if ((await readStatus()) === "approved") {
    assert.deepEqual(await contents(), before, "a plan was not applied, and its targets differ from before");
    counts.rolledBack++;
    await api.must("apply", id);
  } else counts.applied++;
  const after = await contents();
  assert.equal(await readStatus(), "applied");
  for (const [index, text] of after.entries())
    assert.notEqual(text, before[index], `${sets[index]!.target} is not set`);
  api = await runWithFault("rollback");
  // A rollback that failed or was interrupted leaves the plan applied.
  for (let tries = 0; tries < 3 && (await readStatus()) === "applied"; tries++) await api.act("rollback", id);
  assert.equal(await readStatus(), "rolled_back");
  assert.deepEqual(await contents(), before, "a plan was rolled back, and its targets differ from before");
  assert.deepEqual((await reconcile(api.deps)).mismatches, []);
  assert.equal(chainFault(await api.audit("?limit=1000")), null);
  counts.exports.push((await api.get("audit?format=jsonl")).text);
  counts.scenarios++;
}
