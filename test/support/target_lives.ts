/**
 * Random scenarios of targets: applies, rollbacks, edits by other programs, lost requests and answers, and restarts, through the
 * adapter of a target system. A model checks each step and reads the targets without the system.
 */
import { canonicalJson } from "../../lib/kit/canonical_json.ts";
import { type Clock, systemClock } from "../../lib/kit/platform.ts";
import { Unanswered } from "../../lib/kit/time_limit.ts";
import { memoryStore } from "../../lib/store/memory.ts";
import type { ProductAdapter } from "../../lib/changes/operations/adapter_port.ts";
import type { Change } from "../../lib/changes/rules/change.ts";
import { targetAdapter } from "../../lib/targets/adapter.ts";
import type { Attempt, Entry, SetResult, TargetSystem } from "../../lib/targets/port.ts";
import { dice } from "./dice.ts";

/** A target system with targets that only one scenario uses. */
export interface TargetScenario {
  /** Opens the system as a new process does, with the clock of the scenario. */
  open(clock: Clock): TargetSystem;
  /** The entries of the targets, without values. */
  entries: readonly Entry[];
  /** Makes a value that the system can store; different numbers make different values. */
  value(number: number): unknown;
  /** Reads a target without the system; undefined if it has no value. */
  read(entry: Entry): Promise<unknown>;
  /** Sets or removes (undefined) a target as another program does. */
  edit(entry: Entry, value: unknown): Promise<void>;
  /** Makes the network lose the next request or answer of a write; returns a function that ends this. */
  lose?(loss: "request" | "answer"): () => void;
  /** An unanswered apply counts as not made if another program has set another value since. */
  isResolvedByValue?: boolean;
  /** A write that was given up may arrive later, and `resolve` makes it fail. */
  isFenced?: boolean;
  /** A write that was given up may arrive this much later, and `resolve` waits for it. */
  maxLateMs?: number;
  /** Edits the target in the middle of the next write, which overwrites the edit; returns a function that returns whether a write ran. */
  editBetween?(entry: Entry, value: unknown): () => boolean;
  dispose?(): Promise<void>;
}

/** Counts of events by name. */
export type EventCounts = Record<string, number>;

class Crash extends Error {}

const RACE = "edit at the same time";
const FAULTS = ["lost request", "lost answer", "crash before", "crash after", "edit before"];
const NETWORK_FAULTS = ["network loses request", "network loses answer"];
const CHANGES = 4;
const STEPS = 16;
const MAX_TRIES = 4;

/** Returns a new signal for each call, since `fetch` keeps a listener on its signal until that is collected. */
const calm = (): AbortSignal => new AbortController().signal;
const text = (value: unknown): string => (value === undefined ? "nothing" : canonicalJson(value));

/** One target: the changes in force, oldest first, and what each of them replaced. */
interface Target {
  entry: Entry;
  current: unknown;
  order: string[];
  previous: Map<string, unknown>;
  /** The change whose value was set without an answer, until the adapter can detect that. */
  unanswered?: string | undefined;
}

/** Runs one scenario. Throws at the first violation, with the steps that led to it. */
export async function runScenario(seed: number, system: TargetScenario, counts: EventCounts): Promise<void> {
  const roll = dice(seed);
  const steps: string[] = [];
  const count = (name: string): void => void (counts[name] = (counts[name] ?? 0) + 1);
  const require = (condition: boolean, what: string): void => {
    if (!condition) throw new Error(`life ${seed}: ${what}\n${steps.join("\n")}`);
  };
  let values = 0;
  const newValue = () => system.value(seed * 1000 + ++values);

  const targets: Target[] = system.entries.map((entry) => ({
    entry,
    current: undefined,
    order: [],
    previous: new Map(),
  }));
  const isCurrent = (target: Target, value: unknown) => text(target.current) === text(value);
  const isTop = (target: Target, change_id: string) => target.order.at(-1) === change_id;
  const edit = async (target: Target, value: unknown) => {
    count("foreign edit");
    steps.push(`  another program sets ${text(value)}`);
    await system.edit(target.entry, value);
    if (system.isResolvedByValue) target.order = target.order.filter((id) => id !== target.unanswered);
    target.current = value;
  };

  let lateMs = 0;
  const clock: Clock = { now: () => systemClock.now() + lateMs };
  let fault: string | undefined;
  /** The write of the current operation was followed by an edit at the same time. */
  let isRaced = false;
  /** The write of the current operation has overwritten an edit, which its result must report. */
  let hasOverwritten = false;
  let late: (() => Promise<void>) | undefined;
  /** Advances the clock until a write that timed out can no longer arrive. */
  const passTime = async () => {
    if (system.maxLateMs === undefined) return;
    await deliverLate();
    lateMs += system.maxLateMs;
    steps.push("time passes");
  };
  const deliverLate = async () => {
    if (!late) return;
    steps.push("a late request arrives");
    await late().catch((error: unknown) => {
      if ((error as Error).message.startsWith("life ")) throw error;
    });
    late = undefined;
  };

  /** Compares one write with what the target held before and holds after it. */
  const checkWrite = async (
    target: Target,
    attempt: Attempt,
    { next, expected }: { next: unknown; expected: unknown },
    write: () => Promise<SetResult>,
  ): Promise<SetResult> => {
    const before = target.current;
    const edited = fault === RACE ? newValue() : undefined;
    if (edited !== undefined) fault = undefined;
    const isBetween = edited !== undefined && system.editBetween?.(target.entry, edited);
    const racing = isBetween ? undefined : edited;
    const [written] = await Promise.allSettled([write(), racing !== undefined && system.edit(target.entry, racing)]);
    const after = await system.read(target.entry);
    const result = written.status === "fulfilled" ? written.value : (written.reason as Error);
    const isUnanswered = result instanceof Unanswered;
    const isDone = !(result instanceof Error) && result.done;
    const isSet = isDone || (isUnanswered && racing === undefined && text(after) === text(next));
    const summary = isDone ? "done" : result instanceof Error ? String(result) : JSON.stringify(result);
    steps.push(`  ${attempt.operation} sets ${text(next)} over ${text(expected)}: ${summary}; holds ${text(after)}`);
    count(
      `write ${isDone ? "done" : isUnanswered ? "unanswered" : result instanceof Error ? "failed" : "conflict" in result ? "conflict" : "rejected"}`,
    );
    if (isSet) require(text(before) === text(expected), `a write replaced ${text(before)}, which it had not read`);
    if (isSet) require(text(before) !== text(next), "a value was set that was there already");
    if (isBetween && isBetween()) {
      count("foreign edit overwritten");
      steps.push(`  another program set ${text(edited)} in between`);
      require(isDone && text(result.overwrote?.value) === text(edited), "an overwritten edit is not reported");
      hasOverwritten = true;
    }
    if (racing !== undefined) {
      isRaced = isDone;
      count("foreign edit");
      require(text(after) === text(racing), "an edit at the same time was overwritten");
    } else require(text(after) === text(isSet ? next : before), "the answer of a write is not what became of it");
    if (isSet) setModel(target, attempt, before);
    if (isSet && attempt.operation === "apply") target.unanswered = attempt.change_id;
    target.current = after;
    if (result instanceof Error) throw result;
    return result;
  };

  const setModel = ({ order, previous }: Target, { operation, change_id }: Attempt, before: unknown): void => {
    const at = order.indexOf(change_id);
    if (operation !== "restore" && at !== -1) order.splice(at, 1);
    if (operation === "apply") previous.set(change_id, before);
    if (operation !== "rollback" && !order.includes(change_id)) order.push(change_id);
  };

  const wrap = (whole: TargetSystem): TargetSystem => ({
    ...whole,
    async compareAndSet(entry, next, expected, attempt, signal) {
      const target = targets.find(
        (one) => one.entry.target === entry.target && one.entry.tenant_id === entry.tenant_id,
      )!;
      const goal = { next: next?.value, expected: expected.value };
      const write = () => whole.compareAndSet(entry, next, expected, attempt, signal);
      const check = (run: () => Promise<SetResult>) => checkWrite(target, attempt, goal, run);
      const now = fault;
      if (now === RACE) return check(write);
      fault = undefined;
      if (now === "edit before") await edit(target, newValue());
      if (now === "lost request") throw new Unanswered("the request was lost");
      if (now === "crash before") throw new Crash();
      if (now === "late request") {
        late = async () => void (await check(write));
        throw new Unanswered("the request is on its way");
      }
      const stop = now?.startsWith("network") && system.lose?.(now === NETWORK_FAULTS[0] ? "request" : "answer");
      try {
        const result = await check(write);
        if (now === "lost answer") throw new Unanswered("the answer was lost");
        if (now === "crash after") throw new Crash();
        return result;
      } finally {
        if (stop) stop();
      }
    },
  });

  const store = memoryStore();
  const start = (): ProductAdapter => targetAdapter(wrap(system.open(clock)), { store, clock });
  let adapter = start();
  const restart = () => {
    count("restart");
    steps.push("  restart");
    adapter = start();
  };

  const changes = targets.flatMap((target, place) =>
    Array.from({ length: CHANGES }, (_, i) => {
      const change = { ...target.entry, change_id: `chg_${seed}_${place}_${i}`, status: "approved", value: newValue() };
      return { target, change: change as Change };
    }),
  );
  const setStatus = (change: Change, status: Change["status"]) => void (change.status = status);

  /** Changes whose last operation had no answer; their state is read before the next operation, as the service does. */
  const unsure = new Set<Change>();

  /** Returns whether a rollback on the target has an unknown outcome, so that the change below it counts as covered. */
  const isRollbackOpen = (target: Target) =>
    changes.some((one) => one.target === target && one.change.status === "applied" && unsure.has(one.change));

  const operate = async (
    { target, change }: (typeof changes)[number],
    operation: "apply" | "rollback",
    overDrift = false,
  ): Promise<boolean> => {
    const { change_id } = change;
    if (unsure.delete(change)) {
      const state = await verify({ target, change });
      if (state === "applied") setStatus(change, "applied");
      else if (state !== "unknown" && change.status === "applied") setStatus(change, "rolled_back");
      if (state === "unknown") unsure.add(change);
    }
    const wasCovered = target.order.includes(change_id) && !isTop(target, change_id);
    isRaced = false;
    hasOverwritten = false;
    target.unanswered = undefined;
    const isTopBefore = isTop(target, change_id);
    const below = target.order.indexOf(change_id);
    steps.push(`${operation} ${change_id}${fault ? `, ${fault}` : ""}`);
    try {
      const { result, detail } =
        operation === "apply"
          ? await adapter.apply(change, calm())
          : await adapter.rollback(change, calm(), undefined, overDrift);
      count(`${operation} done`);
      if (hasOverwritten) require(detail !== undefined, "the result does not report the overwritten edit");
      target.unanswered = undefined;
      steps.push(`  ${result}`);
      if (operation === "apply") {
        require(target.order.includes(change_id), "an apply is reported as done that was not");
        if (!wasCovered)
          require(isTop(target, change_id) &&
            (isCurrent(target, change.value) || isRaced), "the target holds another value than the applied one");
        setStatus(change, "applied");
      } else {
        const wasApplied = change.status === "applied";
        if (result === "rolled_back" && wasApplied && isTopBefore)
          require(isCurrent(target, target.previous.get(change_id)) ||
            isRaced, "a rollback restored another value than the replaced one");
        if (wasCovered && target.order.includes(change_id)) {
          const above = target.order[below + 1]!;
          target.previous.set(above, target.previous.get(change_id));
        }
        if (target.order.includes(change_id)) target.order.splice(target.order.indexOf(change_id), 1);
        require(!isCurrent(target, change.value) ||
          wasCovered, "a change is reported as rolled back whose value stands");
        setStatus(change, "rolled_back");
      }
      return true;
    } catch (error) {
      if ((error as Error).message.startsWith("life ")) throw error;
      steps.push(`  ${String(error)}`);
      count(
        `${operation} ${error instanceof Crash ? "crashed" : (error as Error).name === "TargetDrifted" ? "drifted" : error instanceof Unanswered ? "unanswered" : "failed"}`,
      );
      if ((error as Error).name === "TargetDrifted")
        require(!isCurrent(
          target,
          change.value,
        ), "a rollback reports drift although the target holds the change's value");
      if (error instanceof Crash) restart();
      if (error instanceof Crash || error instanceof Unanswered) unsure.add(change);
      return false;
    } finally {
      fault = undefined;
    }
  };

  const verify = async ({ target, change }: (typeof changes)[number]): Promise<string> => {
    const state = await adapter.verify(change, calm());
    if (target.unanswered === change.change_id) target.unanswered = undefined;
    count(`verify ${state}`);
    steps.push(`verify ${change.change_id}: ${state}`);
    const isHeld = isTop(target, change.change_id) && isCurrent(target, change.value);
    if (state === "applied")
      require(target.order.includes(change.change_id) &&
        (isHeld ||
          !isTop(target, change.change_id) ||
          isRollbackOpen(target)), "verify reports a change as applied that is not");
    if (state === "absent" || state === "rolled_back")
      require(!isHeld, `verify reports ${state} of a change whose value stands`);
    return state;
  };

  for (const target of targets) if (roll(2) === 0) await edit(target, newValue());
  const isAtomic = system.open(clock).guard === "atomic";
  const faults = [
    ...FAULTS,
    ...(isAtomic || system.editBetween ? [RACE] : []),
    ...(system.lose ? NETWORK_FAULTS : []),
    ...(system.isFenced || system.maxLateMs !== undefined ? ["late request"] : []),
  ];
  for (let step = 0; step < STEPS; step++) {
    const one = changes[roll(changes.length)]!;
    if (roll(2) === 0) fault = faults[roll(faults.length)];
    if (fault !== undefined) count(fault);
    const kind = roll(12);
    if (kind < 5) await operate(one, "apply");
    else if (kind < 8) await operate(one, "rollback", roll(4) === 0);
    else if (kind < 9) await edit(one.target, roll(4) === 0 ? undefined : newValue());
    else if (kind < 10) restart();
    else await verify(one);
    fault = undefined;
    if (late && roll(3) === 0) await deliverLate();
    if (system.maxLateMs !== undefined && roll(4) === 0) await passTime();
  }
  await deliverLate();

  // Without further faults every change can be rolled back, and no value of a change remains.
  const isInForce = ({ target, change }: (typeof changes)[number]) =>
    change.status === "applied" && target.order.includes(change.change_id);
  const place = ({ target, change }: (typeof changes)[number]) => target.order.indexOf(change.change_id);
  // Changes in force come last, the newest first. An attempt without a known outcome holds up the others of its target until its own
  // change is rolled back.
  let waiting = [
    ...changes.filter((one) => !isInForce(one)),
    ...changes.filter(isInForce).sort((one, other) => place(other) - place(one)),
  ];
  for (let tries = 0; tries < MAX_TRIES && waiting.length > 0; tries++) {
    await passTime();
    const results: boolean[] = [];
    for (const one of waiting) results.push(await operate(one, "rollback", true));
    waiting = waiting.filter((_, i) => !results[i]);
  }
  require(waiting.length === 0, `${waiting.map(({ change }) => change.change_id).join()} cannot be rolled back`);
  for (const one of changes) {
    await verify(one);
    require(!isCurrent(one.target, one.change.value), "a value stands when every change is rolled back");
  }
  count("life");
  await store.close();
}

/** Runs the scenarios of the seeds from `first` to `last`, and adds up their counts. */
export async function runScenarios(
  [first, last]: readonly [number, number],
  make: () => Promise<TargetScenario>,
  counts: EventCounts = {},
): Promise<EventCounts> {
  for (let seed = first; seed <= last; seed++) {
    const system = await make();
    try {
      await runScenario(seed, system, counts);
    } finally {
      await system.dispose?.();
    }
  }
  return counts;
}

/** Returns ranges of seeds, one for each test: `few` seeds, or those of `LIVES=1-1000` (`npm run lives`). */
export function scenarioSeeds({ few = 20, most = Infinity, slice = 50 } = {}): [number, number][] {
  const [first = 1, end = few] = process.env["LIVES"]?.split("-").map(Number) ?? [];
  const last = Math.min(end, first + most - 1);
  const starts = Array.from({ length: Math.ceil((last - first + 1) / slice) }, (_, i) => first + i * slice);
  return starts.map((start) => [start, Math.min(start + slice - 1, last)]);
}
