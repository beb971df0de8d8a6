/** Makes a product adapter of a target system: durable intention first, then the write, then its result. */
import { type Clock, fastestSha256, type Sha256, systemClock } from "../kit/platform.ts";
import type {
  AdapterResult,
  HostState,
  ProductAdapter,
  ReadRollbackFacts,
  Staged,
} from "../changes/operations/adapter_port.ts";
import type { Change } from "../changes/rules/change.ts";
import { parseOperandId } from "../changes/rules/operands.ts";
import type { Store } from "../store/store.ts";
import { type EffectRecord, ownValue, storedEffects } from "./effects.ts";
import { findEntryProblem, isEqual, setsValue, toHeld } from "./entry.ts";
import { describeRestore, targetRestores } from "./restores.ts";
import { driftFinder, logFacts } from "./log_facts.ts";
import { findStagesProblem, targetStages } from "./stages.ts";
import { describeUnfinished, unfinishedAttempts } from "./unfinished.ts";
import { observedSystem, type TargetReports } from "./observed.ts";
import { reachableReads } from "./reachable_reads.ts";
import { type Attempt, type Entry, TargetRejected, type TargetSystem, type TargetValue } from "./port.ts";
import {
  type ApplyWrite,
  BY_HAND,
  describeOverwrite,
  requireExpected,
  type RollbackWrite,
  targetWrites,
} from "./writes.ts";

/** Dependencies of the adapter. */
export interface TargetAdapterOptions extends TargetReports {
  /** Stores what each change replaced. */
  store: Pick<Store, "get" | "list" | "transact">;
  clock?: Clock;
  sha256?: Sha256;
}

/** Preview of an apply, for a dry run. `before` is `null` where nothing is present. */
export interface Preview {
  place: string;
  guard: TargetSystem["guard"];
  before: unknown;
  after: unknown;
  present_before: boolean;
  /** The system's own description. */
  details?: unknown;
}

/** The adapter of one target system. Operations of one target must not run concurrently: the service's leases see to that. */
export function targetAdapter(whole: TargetSystem, options: TargetAdapterOptions): ProductAdapter {
  const { store, clock = systemClock, sha256 = fastestSha256() } = options;
  const system = observedSystem(whole, options.observer);
  const isCumulative = (entry: Entry): boolean => system.isCumulative?.(entry) ?? false;
  const effects = storedEffects(store, { isCumulative, sha256 });

  const { read, ping, findProblem } = reachableReads(system, options);

  /** One attempt, as the record of each of these changes has it. */
  const newAttempts = (changes: readonly Change[], operation: Attempt["operation"]): Attempt[] => {
    const facts = { operation, attempt: crypto.randomUUID(), at: new Date(clock.now()).toISOString() };
    return changes.map(({ change_id }) => ({ ...parseOperandId(change_id), ...facts }));
  };
  const newAttempt = (change: Change, operation: Attempt["operation"]): Attempt => newAttempts([change], operation)[0]!;

  const restores = targetRestores(system, { effects, read, newAttempt, sha256 });
  const stages = targetStages(system, { effects, read, newAttempt });
  const unfinished = unfinishedAttempts(system, { effects, read, restores, stages });

  const findEntry = async (change: Change): Promise<Entry> => {
    const { tenant_id, kind, value } = change;
    const target = (await effects.target(change))?.target ?? change.target;
    return { tenant_id, target, kind, value };
  };

  /** A place that the configuration or another spelling moved is never written to, but by a rollback over drift. */
  const requirePlace = ({ places }: Change, entry: Entry): void => {
    const recorded = places?.[0]?.place;
    if (recorded !== undefined && recorded !== system.place(entry))
      throw new Error(
        `the target system would set ${system.place(entry)}, and the change was proposed for ${recorded}`,
      );
  };

  const findRefusal = (entry: Entry, plan: Staged["stages"]): string | undefined =>
    findEntryProblem(entry) ??
    (setsValue(entry) || system.note
      ? system.check(entry)
      : "a value is needed: the target system holds values only") ??
    (plan && findStagesProblem(system, entry, plan));

  /** Explains why a value, or its split, cannot be set on what the target holds. */
  const findConflict = (entry: Entry, plan: Staged["stages"], held: TargetValue): string | undefined =>
    setsValue(entry)
      ? (system.checkHeld?.(entry, held) ?? (plan && findStagesProblem(system, entry, plan, held)))
      : undefined;

  const fromLogs = logFacts({ effects, isCumulative, sha256 });
  const { isSuperseded, requireReplaced } = fromLogs;
  const writes = targetWrites(system, { effects, read, newAttempts, stages, sha256 });

  /** Returns the result of an apply that has no value to set, or had set it before; or the write that it needs. */
  const prepareApply = async (
    change: Change & Staged,
    signal: AbortSignal,
    expected: readonly string[] | undefined,
  ): Promise<AdapterResult | ApplyWrite> => {
    const entry = await findEntry(change);
    const reason = findRefusal(entry, change.stages);
    if (reason !== undefined) throw new Error(`the target system cannot hold the change: ${reason}`);
    requirePlace(change, entry);
    await unfinished.resolveOther(change, signal);
    const { record, outcome } = await unfinished.resolve(change, entry, signal);
    if (outcome === "open") throw new Error(describeUnfinished(change, record!));
    const wasRollingBack = record?.state === "rolling_back" && record.applied_at !== undefined;
    if (wasRollingBack) await effects.cancel(change, { ...record, state: "applied" });
    if (record?.state === "applied" || wasRollingBack) {
      if (!setsValue(change)) return { result: "applied" };
      const isOwner = record.superseded_by === undefined;
      const requireHeld = (held: TargetValue): void => requireExpected(held, { change, expected }, sha256);
      const set = isOwner ? await restores.run(change, entry, { record, requireHeld, signal }) : undefined;
      return { result: "applied", previous: toHeld(record.previous), ...describeOverwrite(set?.overwrote, sha256) };
    }
    if (setsValue(change)) return { change, entry, known: record, expected };
    const previous = toHeld(await read(entry, signal));
    const [attempt] = newAttempts([change], "apply") as [Attempt];
    const replaced = await effects.other((await effects.target(change))?.owner);
    const { value: _, ...spelled } = entry;
    await effects.begin(change, { state: "pending", attempt, place: system.place(entry), entry: spelled });
    await system.note!(entry, { ...attempt, replaced }, signal);
    await effects.finishApply(change);
    return { result: "applied", previous };
  };

  /** Returns the result of a rollback that has no value to restore; or the write that it needs. */
  const prepareRollback = async (
    change: Change,
    signal: AbortSignal,
    readLog: ReadRollbackFacts | undefined,
    overDrift: boolean,
  ): Promise<AdapterResult | RollbackWrite> => {
    const { change_id, status } = change;
    const entry = await findEntry(change);
    if (!overDrift) requirePlace(change, entry);
    await unfinished.resolveOther(change, signal);
    const { record, outcome } = await unfinished.resolveState(change, entry, signal);
    if (outcome === "open") throw new Error(describeUnfinished(change, record!));
    const fromLog = await fromLogs.read(change, entry, readLog);
    if (record?.state === "rolled_back") {
      // The log still has the change as applied: the record alone does not prove that its value is gone.
      if (status === "applied" && fromLog?.superseded === false)
        requireReplaced(change_id, await read(entry, signal), fromLog.digest);
      return { result: record.superseded_by === undefined ? "rolled_back" : "superseded" };
    }
    if (record?.applied_at === undefined) {
      if (status === "applied") {
        if (fromLog?.digest === undefined) throw new Error(`what ${change_id} replaced is not on record; ${BY_HAND}`);
        requireReplaced(change_id, await read(entry, signal), fromLog.digest);
      }
      return writes.noteRollback(change, entry, undefined, signal);
    }
    if (await isSuperseded(change_id, record, fromLog))
      return writes.noteRollback(change, entry, record.superseded_by, signal);
    if (!setsValue(change)) return writes.noteRollback(change, entry, undefined, signal);
    if (fromLog) requireReplaced(change_id, record.previous, fromLog.digest);
    return { change, entry, record, overDrift };
  };

  /**
   * Finds the record of a change that holds its target. Errors: its place moved, an attempt is open, another change holds the
   * target, or the record of a rollout, and the split that it set, are not those of the log.
   */
  const findOwned = async (
    change: Change,
    signal: AbortSignal,
    readLog: ReadRollbackFacts | undefined,
  ): Promise<{ entry: Entry; record: EffectRecord }> => {
    const entry = await findEntry(change);
    requirePlace(change, entry);
    await unfinished.resolveOther(change, signal);
    const { record, outcome } = await unfinished.resolve(change, entry, signal);
    if (outcome === "open") throw new Error(describeUnfinished(change, record!));
    if (record?.state !== "applied" || record.superseded_by !== undefined)
      throw new Error(`by the service's own record the target does not belong to ${change.change_id}`);
    const fromLog = record.stage && (await fromLogs.read(change, entry, readLog));
    if (fromLog) {
      requireReplaced(change.change_id, record.previous, fromLog.digest);
      stages.requireOwn(change, entry, record);
    }
    return { entry, record };
  };

  /** Prepares each change, and carries out the writes of those that need one as one set. */
  const runAll = async <W extends object>(
    changes: readonly Change[],
    prepare: (change: Change, index: number) => Promise<AdapterResult | W>,
    write: (items: readonly W[]) => Promise<AdapterResult[]>,
  ): Promise<AdapterResult[]> => {
    const prepared: (AdapterResult | W)[] = [];
    for (const [index, change] of changes.entries()) prepared.push(await prepare(change, index));
    const isWrite = (one: AdapterResult | W): one is W => "entry" in one;
    const items = prepared.filter(isWrite);
    const written = items.length === 0 ? [] : await write(items);
    return prepared.map((one) => (isWrite(one) ? written[items.indexOf(one)]! : one));
  };

  const applyAll: NonNullable<ProductAdapter["applyAll"]> = (changes, signal, expected) =>
    runAll(
      changes,
      (change, index) => prepareApply(change, signal, expected?.[index]),
      (items) => writes.apply(items, signal),
    );

  const rollbackAll: NonNullable<ProductAdapter["rollbackAll"]> = (changes, signal, readLog, overDrift = false) =>
    runAll(
      changes,
      (change) => prepareRollback(change, signal, readLog, overDrift),
      (items) => writes.restorePrevious(items, signal),
    );

  return {
    name: system.name,

    locate: (entry) => ({ system: system.name, place: system.place(entry) }),

    isCumulative,

    check: (entry) => findRefusal(entry, entry.stages),

    holdsSplits: () => system.holdsSplits ?? false,

    judgesByReading: () => system.checkHeld !== undefined && system.ping === undefined,

    reader: (entry) => async (signal) => {
      const held = await read(entry, signal);
      const { value, version } = held;
      return { value, version, problem: findConflict(entry, entry.stages, held) };
    },

    ping,

    async validate(change, signal) {
      const entry = await findEntry(change);
      const reason = findRefusal(entry, change.stages);
      if (reason !== undefined) return { ok: false, reason };
      try {
        await system.probe?.();
        const held = await read(entry, signal);
        const conflict = findConflict(entry, change.stages, held);
        if (conflict !== undefined) return { ok: false, reason: conflict };
        const details = await system.preview?.(entry, held, signal);
        const { value = null } = held;
        const preview: Preview = {
          place: system.place(entry),
          guard: system.guard,
          before: value,
          after: setsValue(change) ? stages.start(change, entry, held).next.value : value,
          present_before: held.value !== undefined,
          ...(details !== undefined && { details }),
        };
        return { ok: true, preview };
      } catch (error) {
        if (error instanceof TargetRejected) return { ok: false, reason: error.message };
        throw error;
      }
    },

    apply: async (change, signal, expected) => (await applyAll([change], signal, [expected]))[0]!,

    // Patches of one branch are pushed one by one.
    setsTogether: (entry) => (system.setMany && !isCumulative(entry) ? system.name : undefined),
    applyAll,
    rollbackAll,

    async verify(change, signal): Promise<HostState> {
      const entry = await findEntry(change);
      const { record, outcome } = await unfinished.resolveState(change, entry, signal);
      if (!record) return "absent";
      if (record.state === "rolled_back") return "rolled_back";
      if (outcome === "open" || outcome === "unclear") return "unknown";
      const wasApplied = record.applied_at !== undefined && record.state !== "pending";
      if (!wasApplied) return "absent";
      if (!setsValue(change) || record.superseded_by !== undefined) return "applied";
      const held = await read(entry, signal);
      if (!isAtStep(change, record)) return "unknown";
      if (isEqual(held, ownValue(change, record))) return "applied";
      return held.value === undefined ? "absent" : "unknown";
    },

    async setStage(change, step, signal, readLog): Promise<AdapterResult> {
      const { entry, record } = await findOwned(change, signal, readLog);
      return stages.advance(change, entry, record, step, signal);
    },

    async findStage(change, step, signal) {
      const { record, outcome } = await unfinished.resolve(change, await findEntry(change), signal);
      if (outcome === "open") return "open";
      return record?.stage?.step === step ? "done" : "not_done";
    },

    canRestore: (entry) => setsValue(entry) && !isCumulative(entry),

    async restore(change, id, signal, readLog) {
      const { entry, record } = await findOwned(change, signal, readLog);
      const set = await restores.run(change, entry, { record, id, signal });
      if (!set) return { result: "unchanged" };
      return { result: "restored", replaced_digest: fromLogs.digest(set.overwrote ?? set.held) };
    },

    async findRestore(change, id, signal) {
      const { record, outcome } = await unfinished.resolve(change, await findEntry(change), signal);
      if (outcome === "open") return "open";
      return describeRestore(record?.restore, id);
    },

    async held(change, signal) {
      return toHeld(await read(await findEntry(change), signal));
    },

    rollback: async (...[change, ...rest]) => (await rollbackAll([change], ...rest))[0]!,

    findDrift: driftFinder(fromLogs, { findEntry, unfinished, read }),

    findProblem,

    async forget({ change_id }) {
      await effects.forget(change_id);
      await system.removeLeftovers?.();
    },
  };
}

/** Returns true where the split that was set is that of the recorded step, or of the one after it, which is about to be recorded. */
const isAtStep = ({ exposure }: Change, { stage }: EffectRecord): boolean =>
  !exposure || !stage || stage.step === exposure.step || stage.step === exposure.step + 1;
