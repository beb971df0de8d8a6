/**
 * Lives of plans over several target systems, each with a fault at a random step: a lost request or answer, a rejected write, a
 * system that is down, or a process that dies at a write of its store or of a target.
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
import { makeCompareAndSet } from "../../lib/targets/set_one.ts";
import { routingAdapter } from "../../lib/targets/routing.ts";
import { MINUTE, testClock } from "./clock.ts";
import { type Core, core, makeCore } from "./core.ts";
import { restarted, type TestDeps } from "./deps.ts";
import { dice } from "./dice.ts";
import { chainFault } from "./independent_chain.ts";

/** One system under test: its targets are `name/…`. */
export interface LivingSystem {
  name: string;
  /** Opens it for one process: a target system, or an adapter that a fault is planted into by `fetch`. */
  open(store: Store, clock: TestDeps["clock"], faults: Faults): ProductAdapter;
  /** The value to set for a number. */
  value(number: number): unknown;
  /** Sets what is there before the plan; absent: nothing is. */
  prepare?(key: string): Promise<void>;
  /** The content of a target, read by other means. */
  content(key: string): Promise<string>;
}

const KINDS = ["lost request", "lost answer", "rejected", "down", "dies before", "dies after"] as const;

/** The fault of one operation. */
export function planFault(random: (below: number) => number, names: readonly string[]) {
  const kind = KINDS[random(KINDS.length)]!;
  const isDeath = kind.startsWith("dies");
  return { kind, name: names[random(names.length)]!, at: 1 + random(isDeath ? 40 : 2) };
}
export type Fault = ReturnType<typeof planFault>;

/** Faults of one process; without a fault nothing happens. */
export class Faults {
  isDead = false;
  happened = false;
  private count = 0;
  private fault: Fault | undefined;

  /** Plants a fault: its steps are counted from here. */
  plant(fault: Fault): void {
    this.fault = fault;
  }

  /** A write of the store, or of a system: the process may die around it. */
  async step<T>(run: () => Promise<T>): Promise<T> {
    if (this.isDead) throw new Error("died");
    const { kind, at } = this.fault ?? {};
    const isNow = kind?.startsWith("dies") && ++this.count === at;
    if (isNow && kind === "dies before") this.die();
    const done = await run();
    if (isNow) this.die();
    return done;
  }
  private die(): never {
    this.isDead = this.happened = true;
    throw new Error("died");
  }

  /** A call of a system; writes are counted. */
  async call<T>(name: string, isWrite: boolean, run: () => Promise<T>, reject: () => T): Promise<T> {
    if (this.isDead) throw new Error("died");
    const { kind, name: at, at: number } = this.fault ?? {};
    const isHere = name === at && !kind!.startsWith("dies");
    const isNow = isHere && (isWrite ? ++this.count === number : false);
    if (kind === "down" && isHere && this.count >= number!) {
      this.happened = true;
      throw isWrite ? new Unanswered("no answer") : new Error("no answer");
    }
    if (isNow) this.happened = true;
    if (isNow && kind === "lost request") throw new Unanswered("the request was lost");
    if (isNow && kind === "rejected") return reject();
    const done = await (isWrite ? this.step(run) : run());
    if (isNow && kind === "lost answer") throw new Unanswered("the answer was lost");
    return done;
  }
}

/** A target system with faults. */
export function openFaulty(
  system: TargetSystem,
  store: Store,
  clock: TestDeps["clock"],
  faults: Faults,
): ProductAdapter {
  const { name, setMany, resolve } = system;
  const rejected = { done: false, rejected: "the system rejects it" } as const;
  const compareAndSet: TargetSystem["compareAndSet"] = (...given) =>
    faults.call(
      name,
      true,
      () => system.compareAndSet(...given),
      () => rejected,
    );
  const set: TargetSystem["setMany"] =
    setMany &&
    ((...given) =>
      faults.call(
        name,
        true,
        () => setMany(...given),
        () => rejected,
      ));
  const faulty: TargetSystem = {
    ...system,
    read: (...given) =>
      faults.call(
        name,
        false,
        () => system.read(...given),
        () => {
          throw new Error("rejected");
        },
      ),
    compareAndSet: set ? makeCompareAndSet(set) : compareAndSet,
    ...(set && { setMany: set }),
    ...(resolve && {
      resolve: (...given) =>
        faults.call(
          name,
          false,
          () => resolve(...given),
          () => undefined,
        ),
    }),
  };
  return targetAdapter(faulty, { store, clock });
}

/** Counts of what became of lives. */
export interface PlanFigures {
  lives: number;
  faults: number;
  applied: number;
  takenBack: number;
  unknown: number;
  partly: number;
  /** The log of each, as JSON lines. */
  exports: string[];
}

/** Runs lives with the seeds of a range, each with a plan of its own. */
export async function runPlanLives(
  systems: readonly LivingSystem[],
  [first, last]: readonly [number, number],
): Promise<PlanFigures> {
  const figures: PlanFigures = { lives: 0, faults: 0, applied: 0, takenBack: 0, unknown: 0, partly: 0, exports: [] };
  for (let seed = first; seed <= last; seed++) {
    try {
      await live(systems, seed, figures);
    } catch (error) {
      throw new Error(`seed ${seed}: ${(error as Error).message}`, { cause: error });
    }
  }
  return figures;
}

async function live(systems: readonly LivingSystem[], seed: number, figures: PlanFigures): Promise<void> {
  const random = dice(seed);
  const [store, clock] = [memoryStore(), testClock()];
  const open = (faults: Faults) => {
    const dying: Store = { ...store, transact: (decide) => faults.step(() => store.transact(decide)) };
    const routed = systems.map((system) => ({
      name: system.name,
      match: [`${system.name}/*`],
      tenants: ["t1"],
      adapter: system.open(dying, clock, faults),
    }));
    return { store: dying, adapter: routingAdapter(routed) };
  };
  const start = await core({ ...open(new Faults()), clock });
  const restart = async (faults: Faults): Promise<Core> => {
    const { store: on, adapter } = open(faults);
    return makeCore(await restarted({ ...start.deps, store: on } as TestDeps, { adapter }));
  };

  const entries: { system: LivingSystem; key: string; set: string; before: string }[] = [];
  const count = 2 + random(7);
  for (let index = 0; index < count; index++) {
    const system = systems[random(systems.length)]!;
    const key = `k${seed}-${index}`;
    if (random(2) === 0) await system.prepare?.(key);
    entries.push({ system, key, set: "", before: await system.content(key) });
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
  const statusOf = async (): Promise<string> => (await store.get("changes", id))!.value.change.status;
  const openTargets = async () =>
    new Set((await store.list("leases", { limit: 99 })).map(({ id: key }) => key.split("\n")[0]!));
  /** Targets that are not as before have a lease, and the last failure in the log names them as not taken back. */
  const requireNamed = async (): Promise<void> => {
    const [now, leases, status] = [await contents(), await openTargets(), await statusOf()];
    const { applied } = (await store.get("changes", id))!.value;
    for (const [index, { target }] of sets.entries()) {
      if (now[index] === before[index]) continue;
      const end = applied?.sets?.find((one) => one.target === target);
      const isLeft = status === "applied" && end !== undefined && end.rolled_back_at === undefined;
      assert.ok(isLeft || leases.has(target), `${target} is set, ${status}, and nothing says so`);
    }
    if (leases.size > 0) figures.unknown++;
    if (applied?.sets?.some(({ rolled_back_at }) => rolled_back_at !== undefined)) figures.partly++;
  };

  /** Runs an operation with a fault, lets the next process go on with it, and brings the system back. */
  const suffer = async (operation: "apply" | "rollback"): Promise<Core> => {
    const faults = new Faults();
    const api = await restart(faults);
    faults.plant(planFault(random, [...new Set(entries.map(({ system }) => system.name))]));
    await api.act(operation, id).catch(() => undefined);
    await requireNamed();
    if (faults.happened) figures.faults++;
    const healed = await restart(new Faults());
    for (let cycle = 0; cycle < 3; cycle++) {
      clock.advance(20 * MINUTE);
      await healed.cycle();
      await requireNamed();
    }
    assert.deepEqual([...(await openTargets())], [], "a lease remains when all systems are back");
    return healed;
  };

  let api = await suffer("apply");
  if ((await statusOf()) === "approved") {
    assert.deepEqual(await contents(), before, "a plan that was not applied is not as before");
    figures.takenBack++;
    await api.must("apply", id);
  } else figures.applied++;
  const set = await contents();
  assert.equal(await statusOf(), "applied");
  for (const [index, text] of set.entries()) assert.notEqual(text, before[index], `${sets[index]!.target} is not set`);
  api = await suffer("rollback");
  for (let tries = 0; tries < 3 && (await statusOf()) === "applied"; tries++) await api.act("rollback", id);
  assert.equal(await statusOf(), "rolled_back");
  assert.deepEqual(await contents(), before, "a plan that was rolled back is not as before");
  assert.deepEqual((await reconcile(api.deps)).mismatches, []);
  assert.equal(chainFault(await api.audit("?limit=1000")), null);
  figures.exports.push((await api.get("audit?format=jsonl")).text);
  figures.lives++;
}
