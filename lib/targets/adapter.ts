/** Creates the product adapter of a target system. Each write is recorded before it is sent, and its result afterwards. */
import { type Clock, fastestSha256, type Sha256, systemClock } from "../kit/platform.ts";
import type {
  AdapterResult,
  HostState,
  ProductAdapter,
  ReadRollbackFacts,
  ChangeWithStages,
} from "../changes/operations/adapter_port.ts";
import type { Change } from "../changes/rules/change.ts";
import { parseOperandId } from "../changes/rules/operands.ts";
import type { Store } from "../store/store.ts";
import { type EffectRecord, appliedValue, createEffects } from "./effects.ts";
import { findEntryProblem, isEqual, setsValue, toAdapterValue } from "./entry.ts";
import { describeRestore, createRestores } from "./restores.ts";
import { createDriftFinder, createLogChecks } from "./log_checks.ts";
import { findStagesProblem, createStages } from "./stages.ts";
import { describeOpenAttempt, createAttemptResolver } from "./attempt_resolver.ts";
import { observeSystem, type TargetReports } from "./observe_system.ts";
import { createReachableReads } from "./reachable_reads.ts";
import { type Attempt, type Entry, TargetRejected, type TargetSystem, type TargetValue } from "./port.ts";
import {
  type ApplyWrite,
  MANUAL_ROLLBACK_HINT,
  describeOverwrite,
  requireExpected,
  type RollbackWrite,
  createWrites,
} from "./writes.ts";

/** Dependencies of the adapter. */
export interface TargetAdapterOptions extends TargetReports {
  /** Stores the values that changes replaced. */
  store: Pick<Store, "get" | "list" | "transact">;
  clock?: Clock;
  sha256?: Sha256;
}

/** Preview of an apply, for a dry run. `before` is `null` if the target holds nothing. */
export interface Preview {
  place: string;
  guard: TargetSystem["guard"];
  before: unknown;
  after: unknown;
  present_before: boolean;
  /** The system's own description. */
  details?: unknown;
}

/** Creates the adapter of one target system. Operations of one target must not run concurrently; the service's leases ensure that. */
export function targetAdapter(rawSystem: TargetSystem, options: TargetAdapterOptions): ProductAdapter {
  const { store, clock = systemClock, sha256 = fastestSha256() } = options;
  const system = observeSystem(rawSystem, options.observer);
  const isCumulative = (entry: Entry): boolean => system.isCumulative?.(entry) ?? false;
  const effects = createEffects(store, { isCumulative, sha256 });

  const { read, ping, findProblem } = createReachableReads(system, options);

  /** Creates the records of one attempt for several changes. */
  const createAttempts = (changes: readonly Change[], operation: Attempt["operation"]): Attempt[] => {
    const shared = { operation, attempt: crypto.randomUUID(), at: new Date(clock.now()).toISOString() };
    return changes.map(({ change_id }) => ({ ...parseOperandId(change_id), ...shared }));
  };
  const createAttempt = (change: Change, operation: Attempt["operation"]): Attempt =>
    createAttempts([change], operation)[0]!;

  const restores = createRestores(system, { effects, read, createAttempt, sha256 });
  const stages = createStages(system, { effects, read, createAttempt });
  const attempts = createAttemptResolver(system, { effects, read, restores, stages });

  const findEntry = async (change: Change): Promise<Entry> => {
    const { tenant_id, kind, value } = change;
    const target = (await effects.target(change))?.target ?? change.target;
    return { tenant_id, target, kind, value };
  };

  /** Rejects a change whose place differs from the recorded one, because the configuration or the spelling changed. */
  const requireRecordedPlace = ({ places }: Change, entry: Entry): void => {
    const recorded = places?.[0]?.place;
    if (recorded !== undefined && recorded !== system.place(entry))
      throw new Error(
        `the target system would set ${system.place(entry)}, and the change was proposed for ${recorded}`,
      );
  };

  const findChangeProblem = (entry: Entry, rollout: ChangeWithStages["stages"]): string | undefined => {
    const entryProblem = findEntryProblem(entry);
    if (entryProblem !== undefined) return entryProblem;
    if (!setsValue(entry) && !system.note) return "a value is needed: the target system holds values only";
    return system.check(entry) ?? (rollout && findStagesProblem(system, entry, rollout));
  };

  /** Explains why a value, or its split, cannot replace the current value of the target. */
  const findConflict = (
    entry: Entry,
    rollout: ChangeWithStages["stages"],
    current: TargetValue,
  ): string | undefined => {
    if (!setsValue(entry)) return undefined;
    return system.checkHeld?.(entry, current) ?? (rollout && findStagesProblem(system, entry, rollout, current));
  };

  const logChecks = createLogChecks({ effects, isCumulative, sha256 });
  const { isSuperseded, requireReplaced } = logChecks;
  const writes = createWrites(system, { effects, read, createAttempts, stages, sha256 });

  /** Returns the write that an apply needs, or its result if no write is needed. */
  const prepareApply = async (
    change: Change & ChangeWithStages,
    signal: AbortSignal,
    expected: readonly string[] | undefined,
  ): Promise<AdapterResult | ApplyWrite> => {
    const entry = await findEntry(change);
    const reason = findChangeProblem(entry, change.stages);
    if (reason !== undefined) throw new Error(`the target system cannot hold the change: ${reason}`);
    requireRecordedPlace(change, entry);
    await attempts.resolveOther(change, signal);
    const { record, outcome } = await attempts.resolve(change, entry, signal);
    if (outcome === "open") throw new Error(describeOpenAttempt(change, record!));
    const wasRollingBack = record?.state === "rolling_back" && record.applied_at !== undefined;
    // It is unclear what the rollback set: the change counts as applied again, and `restores.run` sets its value if it is gone.
    if (wasRollingBack) await effects.cancel(change, { ...record, state: "applied" });
    if (record?.state === "applied" || wasRollingBack) {
      if (!setsValue(change)) return { result: "applied" };
      const isOwner = record.superseded_by === undefined;
      const requireReplaceable = (current: TargetValue): void => requireExpected(current, { change, expected }, sha256);
      const restored = isOwner ? await restores.run(change, entry, { record, requireReplaceable, signal }) : undefined;
      return {
        result: "applied",
        previous: toAdapterValue(record.previous),
        ...describeOverwrite(restored?.overwrote, sha256),
      };
    }
    if (setsValue(change)) return { change, entry, earlier: record, expected };
    const previous = toAdapterValue(await read(entry, signal));
    const [attempt] = createAttempts([change], "apply") as [Attempt];
    const replaced = await effects.describeOther((await effects.target(change))?.owner);
    const { value: _, ...entryWithoutValue } = entry;
    await effects.begin(change, { state: "pending", attempt, place: system.place(entry), entry: entryWithoutValue });
    await system.note!(entry, { ...attempt, replaced }, signal);
    await effects.finishApply(change);
    return { result: "applied", previous };
  };

  /** Returns the write that a rollback needs, or its result if no write is needed. */
  const prepareRollback = async (
    change: Change,
    signal: AbortSignal,
    readLog: ReadRollbackFacts | undefined,
    overDrift: boolean,
  ): Promise<AdapterResult | RollbackWrite> => {
    const { change_id, status } = change;
    const entry = await findEntry(change);
    if (!overDrift) requireRecordedPlace(change, entry);
    await attempts.resolveOther(change, signal);
    const { record, outcome } = await attempts.resolveState(change, entry, signal);
    if (outcome === "open") throw new Error(describeOpenAttempt(change, record!));
    const facts = await logChecks.read(change, entry, readLog);
    if (record?.state === "rolled_back") {
      // If the log still has the change as applied, the record alone does not prove that the earlier value is restored.
      if (status === "applied" && facts?.superseded === false)
        requireReplaced(change_id, await read(entry, signal), facts.digest);
      return { result: record.superseded_by === undefined ? "rolled_back" : "superseded" };
    }
    if (record?.applied_at === undefined) {
      // By the record the change set nothing. If the log has it as applied, the target must hold what the apply replaced.
      if (status === "applied") {
        if (facts?.digest === undefined)
          throw new Error(`what ${change_id} replaced is not on record; ${MANUAL_ROLLBACK_HINT}`);
        requireReplaced(change_id, await read(entry, signal), facts.digest);
      }
      return writes.noteRollback(change, entry, undefined, signal);
    }
    if (await isSuperseded(change_id, record, facts))
      return writes.noteRollback(change, entry, record.superseded_by, signal);
    if (!setsValue(change)) return writes.noteRollback(change, entry, undefined, signal);
    if (facts) requireReplaced(change_id, record.previous, facts.digest);
    return { change, entry, record, overDrift };
  };

  /**
   * Finds the record of a change that currently owns its target. Errors: its place differs, an attempt is open, another change
   * owns the target, or the stored record of a rollout does not match the log.
   */
  const findOwned = async (
    change: Change,
    signal: AbortSignal,
    readLog: ReadRollbackFacts | undefined,
  ): Promise<{ entry: Entry; record: EffectRecord }> => {
    const entry = await findEntry(change);
    requireRecordedPlace(change, entry);
    await attempts.resolveOther(change, signal);
    const { record, outcome } = await attempts.resolve(change, entry, signal);
    if (outcome === "open") throw new Error(describeOpenAttempt(change, record!));
    if (record?.state !== "applied" || record.superseded_by !== undefined)
      throw new Error(`by the service's own record the target does not belong to ${change.change_id}`);
    const facts = record.stage && (await logChecks.read(change, entry, readLog));
    if (facts) {
      requireReplaced(change.change_id, record.previous, facts.digest);
      stages.requireOwn(change, entry, record);
    }
    return { entry, record };
  };

  /** Prepares each change, and executes the needed writes as one set. */
  const runAll = async <W extends object>(
    changes: readonly Change[],
    prepare: (change: Change, index: number) => Promise<AdapterResult | W>,
    write: (items: readonly W[]) => Promise<AdapterResult[]>,
  ): Promise<AdapterResult[]> => {
    const prepared: (AdapterResult | W)[] = [];
    for (const [index, change] of changes.entries()) prepared.push(await prepare(change, index));
    const isWrite = (result: AdapterResult | W): result is W => "entry" in result;
    const items = prepared.filter(isWrite);
    const written = items.length === 0 ? [] : await write(items);
    return prepared.map((result) => (isWrite(result) ? written[items.indexOf(result)]! : result));
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

    check: (entry) => findChangeProblem(entry, entry.stages),

    holdsSplits: () => system.holdsSplits ?? false,

    // A system without `ping` is on this machine, so that a proposal may read it.
    judgesByReading: () => system.checkHeld !== undefined && system.ping === undefined,

    reader: (entry) => async (signal) => {
      const current = await read(entry, signal);
      const { value, version } = current;
      return { value, version, problem: findConflict(entry, entry.stages, current) };
    },

    ping,

    async validate(change, signal) {
      const entry = await findEntry(change);
      const reason = findChangeProblem(entry, change.stages);
      if (reason !== undefined) return { ok: false, reason };
      try {
        await system.probe?.();
        const current = await read(entry, signal);
        const conflict = findConflict(entry, change.stages, current);
        if (conflict !== undefined) return { ok: false, reason: conflict };
        const details = await system.preview?.(entry, current, signal);
        const { value = null } = current;
        const preview: Preview = {
          place: system.place(entry),
          guard: system.guard,
          before: value,
          after: setsValue(change) ? stages.start(change, entry, current).next.value : value,
          present_before: current.value !== undefined,
          ...(details !== undefined && { details }),
        };
        return { ok: true, preview };
      } catch (error) {
        if (error instanceof TargetRejected) return { ok: false, reason: error.message };
        throw error;
      }
    },

    apply: async (change, signal, expected) => (await applyAll([change], signal, [expected]))[0]!,

    // Cumulative changes, such as patches of one branch, are set one by one.
    setsTogether: (entry) => (system.setMany && !isCumulative(entry) ? system.name : undefined),
    applyAll,
    rollbackAll,

    async verify(change, signal): Promise<HostState> {
      const entry = await findEntry(change);
      const { record, outcome } = await attempts.resolveState(change, entry, signal);
      if (!record) return "absent";
      if (record.state === "rolled_back") return "rolled_back";
      if (outcome === "open" || outcome === "unclear") return "unknown";
      const wasApplied = record.applied_at !== undefined && record.state !== "pending";
      if (!wasApplied) return "absent";
      if (!setsValue(change) || record.superseded_by !== undefined) return "applied";
      const current = await read(entry, signal);
      if (!isAtRecordedStep(change, record)) return "unknown";
      if (isEqual(current, appliedValue(change, record))) return "applied";
      return current.value === undefined ? "absent" : "unknown";
    },

    async setStage(change, step, signal, readLog): Promise<AdapterResult> {
      const { entry, record } = await findOwned(change, signal, readLog);
      return stages.advance(change, entry, record, step, signal);
    },

    async findStage(change, step, signal) {
      const { record, outcome } = await attempts.resolve(change, await findEntry(change), signal);
      if (outcome === "open") return "open";
      return record?.stage?.step === step ? "done" : "not_done";
    },

    canRestore: (entry) => setsValue(entry) && !isCumulative(entry),

    async restore(change, id, signal, readLog) {
      const { entry, record } = await findOwned(change, signal, readLog);
      const restored = await restores.run(change, entry, { record, id, signal });
      if (!restored) return { result: "unchanged" };
      return { result: "restored", replaced_digest: logChecks.digest(restored.overwrote ?? restored.held) };
    },

    async findRestore(change, id, signal) {
      const { record, outcome } = await attempts.resolve(change, await findEntry(change), signal);
      if (outcome === "open") return "open";
      return describeRestore(record?.restore, id);
    },

    async held(change, signal) {
      return toAdapterValue(await read(await findEntry(change), signal));
    },

    rollback: async (...[change, ...rest]) => (await rollbackAll([change], ...rest))[0]!,

    findDrift: createDriftFinder(logChecks, { findEntry, attempts, read }),

    findProblem,

    async forget({ change_id }) {
      await effects.forget(change_id);
      await system.removeLeftovers?.();
    },
  };
}

/** Returns true if the recorded split belongs to the current step of the change, or to the next one, which is not logged yet. */
const isAtRecordedStep = ({ exposure }: Change, { stage }: EffectRecord): boolean =>
  !exposure || !stage || stage.step === exposure.step || stage.step === exposure.step + 1;
