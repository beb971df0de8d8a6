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
  /** Edits the target during the next write, which overwrites the edit; the returned function reports whether a write ran. */
  editBetween?(entry: Entry, value: unknown): () => boolean;
  dispose?(): Promise<void>;
}

/** Counts of events by name. */
export type EventCounts = Record<string, number>;

class Crash extends Error {}
class Violation extends Error {}

const CONCURRENT_EDIT = "concurrent edit";
const FAULTS = ["lost request", "lost answer", "crash before", "crash after", "edit before"];
const NETWORK_FAULTS = ["network loses request", "network loses answer"];
/** Changes of each target. */
const CHANGES = 4;
/** Random steps of a scenario. */
const STEPS = 16;
/** Rounds in which the changes are rolled back at the end. */
const MAX_TRIES = 4;

/** Returns a new signal that never aborts; `fetch` keeps a listener on its signal until the signal is collected. */
const neverAborted = (): AbortSignal => new AbortController().signal;
const text = (value: unknown): string => (value === undefined ? "nothing" : canonicalJson(value));

/** One target: the changes in force, oldest first, and what each of them replaced. */
interface Target {
  entry: Entry;
  current: unknown;
  order: string[];
  previous: Map<string, unknown>;
  /** The change whose value the last operation set, until the adapter has an answer, reads the value or begins another operation. */
  unanswered?: string | undefined;
}

/** Runs one scenario; `counts` gets its events. Throws at the first violation, with the steps that led to it. */
export async function runScenario(seed: number, scenario: TargetScenario, counts: EventCounts): Promise<void> {
  const random = dice(seed);
  const steps: string[] = [];
  const count = (name: string): void => void (counts[name] = (counts[name] ?? 0) + 1);
  const require = (condition: boolean, violation: string): void => {
    if (!condition) throw new Violation(`seed ${seed}: ${violation}\n${steps.join("\n")}`);
  };
  let valueCount = 0;
  const newValue = () => scenario.value(seed * 1000 + ++valueCount);

  const targets: Target[] = scenario.entries.map((entry) => ({
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
    await scenario.edit(target.entry, value);
    if (scenario.isResolvedByValue) target.order = target.order.filter((id) => id !== target.unanswered);
    target.current = value;
  };

  let elapsedMs = 0;
  const clock: Clock = { now: () => systemClock.now() + elapsedMs };
  let fault: string | undefined;
  /** A concurrent edit followed the write of the current operation. */
  let isRaced = false;
  /** The write of the current operation has overwritten an edit, which its result must report. */
  let hasOverwritten = false;
  let lateRequest: (() => Promise<void>) | undefined;
  /** Advances the clock until a write that timed out can no longer arrive. */
  const passTime = async () => {
    if (scenario.maxLateMs === undefined) return;
    await deliverLate();
    elapsedMs += scenario.maxLateMs;
    steps.push("time passes");
  };
  const deliverLate = async () => {
    if (!lateRequest) return;
    steps.push("a late request arrives");
    await lateRequest().catch((error: unknown) => {
      if (error instanceof Violation) throw error;
    });
    lateRequest = undefined;
  };

  /** Compares one write with what the target held before and holds after it. */
  const checkWrite = async (
    target: Target,
    attempt: Attempt,
    { next, expected }: { next: unknown; expected: unknown },
    write: () => Promise<SetResult>,
  ): Promise<SetResult> => {
    const before = target.current;
    const edited = fault === CONCURRENT_EDIT ? newValue() : undefined;
    if (edited !== undefined) fault = undefined;
    // If the scenario can do it, the edit comes between the system's read and its write, which overwrites it; elsewhere it is made
    // at the same time as the write, and must survive.
    const didOverwrite = edited === undefined ? undefined : scenario.editBetween?.(target.entry, edited);
    const racing = didOverwrite ? undefined : edited;
    const [written] = await Promise.allSettled([write(), racing !== undefined && scenario.edit(target.entry, racing)]);
    const after = await scenario.read(target.entry);
    const result = written.status === "fulfilled" ? written.value : (written.reason as Error);
    const isUnanswered = result instanceof Unanswered;
    const isDone = !(result instanceof Error) && result.done;
    // The target shows whether an unanswered write was made, unless an edit raced with it.
    const isSet = isDone || (isUnanswered && racing === undefined && text(after) === text(next));
    const summary = isDone ? "done" : result instanceof Error ? String(result) : JSON.stringify(result);
    steps.push(`  ${attempt.operation} sets ${text(next)} over ${text(expected)}: ${summary}; holds ${text(after)}`);
    count(`write ${nameOutcome(result)}`);
    if (isSet) require(text(before) === text(expected), `a write replaced ${text(before)}, which it had not read`);
    if (isSet) require(text(before) !== text(next), "a value was set that was there already");
    if (didOverwrite?.()) {
      count("foreign edit overwritten");
      steps.push(`  another program set ${text(edited)} in between`);
      require(isDone && text(result.overwrote?.value) === text(edited), "an overwritten edit is not reported");
      hasOverwritten = true;
    }
    if (racing !== undefined) {
      isRaced = isDone;
      count("foreign edit");
      require(text(after) === text(racing), "a concurrent edit was overwritten");
    } else require(text(after) === text(isSet ? next : before), "the result of a write does not match the target");
    if (isSet) setModel(target, attempt, before);
    if (isSet && attempt.operation === "apply") target.unanswered = attempt.change_id;
    target.current = after;
    if (result instanceof Error) throw result;
    return result;
  };

  /** Records a write: an apply moves its change to the top, a restore leaves it in its place, a rollback removes it. */
  const setModel = ({ order, previous }: Target, { operation, change_id }: Attempt, before: unknown): void => {
    const at = order.indexOf(change_id);
    if (operation !== "restore" && at !== -1) order.splice(at, 1);
    if (operation === "apply") previous.set(change_id, before);
    if (operation !== "rollback" && !order.includes(change_id)) order.push(change_id);
  };

  const wrap = (system: TargetSystem): TargetSystem => ({
    ...system,
    async compareAndSet(entry, next, expected, attempt, signal) {
      const target = targets.find(
        (candidate) => candidate.entry.target === entry.target && candidate.entry.tenant_id === entry.tenant_id,
      )!;
      const goal = { next: next?.value, expected: expected.value };
      const write = () => system.compareAndSet(entry, next, expected, attempt, signal);
      const check = (run: () => Promise<SetResult>) => checkWrite(target, attempt, goal, run);
      const current = fault;
      if (current === CONCURRENT_EDIT) return check(write);
      fault = undefined;
      if (current === "edit before") await edit(target, newValue());
      if (current === "lost request") throw new Unanswered("the request was lost");
      if (current === "crash before") throw new Crash();
      if (current === "late request") {
        lateRequest = async () => void (await check(write));
        throw new Unanswered("the request is on its way");
      }
      const lost = current === NETWORK_FAULTS[0] ? "request" : "answer";
      const restoreNetwork = current?.startsWith("network") && scenario.lose?.(lost);
      try {
        const result = await check(write);
        if (current === "lost answer") throw new Unanswered("the answer was lost");
        if (current === "crash after") throw new Crash();
        return result;
      } finally {
        if (restoreNetwork) restoreNetwork();
      }
    },
  });

  const store = memoryStore();
  const start = (): ProductAdapter => targetAdapter(wrap(scenario.open(clock)), { store, clock });
  let adapter = start();
  const restart = () => {
    count("restart");
    steps.push("  restart");
    adapter = start();
  };

  const changes = targets.flatMap((target, index) =>
    Array.from({ length: CHANGES }, (_, number) => {
      const change_id = `chg_${seed}_${index}_${number}`;
      const change = { ...target.entry, change_id, status: "approved", value: newValue() };
      return { target, change: change as Change };
    }),
  );
  const setStatus = (change: Change, status: Change["status"]) => void (change.status = status);

  /** Changes whose last operation had no answer; their state is read before the next operation, as the service does. */
  const unsure = new Set<Change>();

  /** Returns whether a rollback on the target has an unknown outcome, so that the change below it counts as covered. */
  const isRollbackOpen = (target: Target) =>
    changes.some(({ target: other, change }) => other === target && change.status === "applied" && unsure.has(change));

  const operate = async (
    { target, change }: (typeof changes)[number],
    operation: "apply" | "rollback",
    overDrift = false,
  ): Promise<boolean> => {
    const { change_id } = change;
    // The last operation had no answer: the state decides whether it was carried out. While it is unknown, it is asked again.
    if (unsure.delete(change)) {
      const state = await verify({ target, change });
      if (state === "applied") setStatus(change, "applied");
      else if (state !== "unknown" && change.status === "applied") setStatus(change, "rolled_back");
      if (state === "unknown") unsure.add(change);
    }
    // Its value was set, also by an apply without an answer, and a later change has replaced it since.
    const wasCovered = target.order.includes(change_id) && !isTop(target, change_id);
    isRaced = false;
    hasOverwritten = false;
    target.unanswered = undefined;
    const isTopBefore = isTop(target, change_id);
    const index = target.order.indexOf(change_id);
    steps.push(`${operation} ${change_id}${fault ? `, ${fault}` : ""}`);
    try {
      const { result, detail } =
        operation === "apply"
          ? await adapter.apply(change, neverAborted())
          : await adapter.rollback(change, neverAborted(), undefined, overDrift);
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
        // Nothing was written: the change above now covers the value that this one had replaced.
        if (wasCovered && target.order.includes(change_id)) {
          const above = target.order[index + 1]!;
          target.previous.set(above, target.previous.get(change_id));
        }
        if (target.order.includes(change_id)) target.order.splice(target.order.indexOf(change_id), 1);
        const isStillSet = isCurrent(target, change.value) && !wasCovered;
        require(!isStillSet, "a change is reported as rolled back whose value is still set");
        setStatus(change, "rolled_back");
      }
      return true;
    } catch (error) {
      if (error instanceof Violation) throw error;
      steps.push(`  ${String(error)}`);
      count(`${operation} ${nameOutcome(error as Error)}`);
      if ((error as Error).name === "TargetDrifted") {
        const isStillSet = isCurrent(target, change.value);
        require(!isStillSet, "a rollback reports drift although the target holds the change's value");
      }
      if (error instanceof Crash) restart();
      if (error instanceof Crash || error instanceof Unanswered) unsure.add(change);
      return false;
    } finally {
      fault = undefined;
    }
  };

  const verify = async ({ target, change }: (typeof changes)[number]): Promise<string> => {
    const state = await adapter.verify(change, neverAborted());
    if (target.unanswered === change.change_id) target.unanswered = undefined;
    count(`verify ${state}`);
    steps.push(`verify ${change.change_id}: ${state}`);
    const isSet = isTop(target, change.change_id) && isCurrent(target, change.value);
    if (state === "applied")
      require(target.order.includes(change.change_id) &&
        (isSet ||
          !isTop(target, change.change_id) ||
          isRollbackOpen(target)), "verify reports a change as applied that is not");
    if (state === "absent" || state === "rolled_back")
      require(!isSet, `verify reports ${state} of a change whose value is set`);
    return state;
  };

  for (const target of targets) if (random(2) === 0) await edit(target, newValue());
  const isAtomic = scenario.open(clock).guard === "atomic";
  const faults = [
    ...FAULTS,
    ...(isAtomic || scenario.editBetween ? [CONCURRENT_EDIT] : []),
    ...(scenario.lose ? NETWORK_FAULTS : []),
    ...(scenario.isFenced || scenario.maxLateMs !== undefined ? ["late request"] : []),
  ];
  for (let step = 0; step < STEPS; step++) {
    const chosen = changes[random(changes.length)]!;
    if (random(2) === 0) fault = faults[random(faults.length)];
    if (fault !== undefined) count(fault);
    const kind = random(12);
    if (kind < 5) await operate(chosen, "apply");
    else if (kind < 8) await operate(chosen, "rollback", random(4) === 0);
    else if (kind < 9) await edit(chosen.target, random(4) === 0 ? undefined : newValue());
    else if (kind < 10) restart();
    else await verify(chosen);
    fault = undefined;
    if (lateRequest && random(3) === 0) await deliverLate();
    if (scenario.maxLateMs !== undefined && random(4) === 0) await passTime();
  }
  await deliverLate();

  // Without further faults every change can be rolled back, and no value of a change remains.
  const isInForce = ({ target, change }: (typeof changes)[number]) =>
    change.status === "applied" && target.order.includes(change.change_id);
  const position = ({ target, change }: (typeof changes)[number]) => target.order.indexOf(change.change_id);
  // Changes in force come last, the newest first. While the outcome of an attempt is unknown, other changes of its target wait
  // until the change of the attempt is rolled back.
  let remaining = [
    ...changes.filter((item) => !isInForce(item)),
    ...changes.filter(isInForce).sort((a, b) => position(b) - position(a)),
  ];
  for (let tries = 0; tries < MAX_TRIES && remaining.length > 0; tries++) {
    await passTime();
    const results: boolean[] = [];
    for (const item of remaining) results.push(await operate(item, "rollback", true));
    remaining = remaining.filter((_, index) => !results[index]);
  }
  require(remaining.length === 0, `${remaining.map(({ change }) => change.change_id).join()} cannot be rolled back`);
  for (const item of changes) {
    await verify(item);
    require(!isCurrent(item.target, item.change.value), "a value is still set although every change is rolled back");
  }
  count("scenario");
  await store.close();
}

/** Returns the name under which a result of a write or an error of an operation is counted. */
function nameOutcome(result: SetResult | Error): string {
  if (result instanceof Crash) return "crashed";
  if (result instanceof Unanswered) return "unanswered";
  if (result instanceof Error) return result.name === "TargetDrifted" ? "drifted" : "failed";
  if (result.done) return "done";
  return "conflict" in result ? "conflict" : "rejected";
}

/** Runs the scenarios of the seeds from `first` to `last`, and adds up their counts. */
export async function runScenarios(
  [first, last]: readonly [number, number],
  makeScenario: () => Promise<TargetScenario>,
  counts: EventCounts = {},
): Promise<EventCounts> {
  for (let seed = first; seed <= last; seed++) {
    const scenario = await makeScenario();
    try {
      await runScenario(seed, scenario, counts);
    } finally {
      await scenario.dispose?.();
    }
  }
  return counts;
}

/** Returns ranges of seeds, one for each test: `few` seeds, or those of `LIVES=1-1000` (`npm run lives`). */
export function scenarioSeeds({ few = 20, most = Infinity, slice = 50 } = {}): [number, number][] {
  const [first = 1, end = few] = process.env["LIVES"]?.split("-").map(Number) ?? [];
  const last = Math.min(end, first + most - 1);
  const starts = Array.from({ length: Math.ceil((last - first + 1) / slice) }, (_, index) => first + index * slice);
  return starts.map((start) => [start, Math.min(start + slice - 1, last)]);
}
