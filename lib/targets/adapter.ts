/** Makes a product adapter of a target system: durable intention first, then the write, then its result. */
import { type Clock, fastestSha256, type Sha256, systemClock } from "../kit/platform.ts";
import type {
  AdapterResult,
  HostState,
  ProductAdapter,
  ReadRollbackFacts,
  Staged,
} from "../changes/operations/adapter_port.ts";
import { digestReading } from "../changes/rules/moved_value.ts";
import { TargetDrifted, TargetMoved } from "../changes/operations/adapter_port.ts";
import type { Change } from "../changes/rules/change.ts";
import type { Store } from "../store/store.ts";
import { type EffectRecord, ownValue, storedEffects } from "./effects.ts";
import { findEntryProblem, isEqual, setsValue, toHeld } from "./entry.ts";
import { CONTENDED, describeRestore, digestHeld, MAX_TRIES, targetRestores } from "./restores.ts";
import { findStagesProblem, targetStages } from "./stages.ts";
import { describeUnfinished, unfinishedAttempts } from "./unfinished.ts";
import { observedSystem, type TargetReports } from "./observed.ts";
import { reachableReads } from "./reachable_reads.ts";
import { type Attempt, type Entry, TargetRejected, type TargetSystem, type TargetValue } from "./port.ts";

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

  const newAttempt = ({ change_id }: Change, operation: Attempt["operation"]): Attempt => ({
    change_id,
    operation,
    attempt: crypto.randomUUID(),
    at: new Date(clock.now()).toISOString(),
  });

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

  const isSuperseded = async (
    change_id: string,
    record: EffectRecord,
    fromLog: Awaited<ReturnType<ReadRollbackFacts>>,
  ): Promise<boolean> => {
    const later = record.superseded_by === undefined ? undefined : await effects.get(record.superseded_by);
    const isLater = later?.state === "applied" || later?.state === "rolling_back";
    // A change that the log has as applied, but not over this one, was written into the record.
    const isForged = isLater && fromLog?.superseded === false && (await fromLog.isApplied(record.superseded_by!));
    if (isLater && !isForged) return true;
    if (fromLog?.superseded)
      throw new Error(
        `by the audit log a later change holds the target of ${change_id}, and the stored record of it was edited`,
      );
    return false;
  };

  /** Compares the value to restore with what the log says was replaced; where the log does not say, the record decides. */
  const requireReplaced = (
    change_id: string,
    value: TargetValue | undefined,
    digest: string | null | undefined,
  ): void => {
    if (digest === undefined || digestValue(value) === digest) return;
    throw new Error(
      `the stored record of what ${change_id} replaced was edited: it differs from the audit log; ${BY_HAND}`,
    );
  };
  const digestValue = (held: TargetValue | undefined): string | null => digestHeld(held, sha256);

  const requireExpected = (held: TargetValue, expected: readonly string[] | undefined): void => {
    if (expected && !expected.includes(digestReading(held, sha256)))
      throw new TargetMoved({ value: held.value, version: held.version });
  };

  const applyValue = async (
    change: Change & Staged,
    entry: Entry,
    known: EffectRecord | undefined,
    { signal, expected }: { signal: AbortSignal; expected: readonly string[] | undefined },
  ) => {
    const replaced = await effects.other((await effects.target(change))?.owner);
    let record = known;
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      const held = await read(entry, signal);
      // An earlier attempt was carried out late: what it replaced is on record already.
      if (record?.state === "pending" && isEqual(held, record.next)) {
        await effects.finishApply(change, held.version);
        return { result: "applied", previous: toHeld(record.previous) };
      }
      requireExpected(held, expected);
      const attempt = newAttempt(change, "apply");
      const { value: _, ...spelled } = entry;
      const goal = stages.start(change, entry, held);
      record = { state: "pending", attempt, place: system.place(entry), entry: spelled, previous: held, ...goal };
      await effects.begin(change, record);
      const next = { version: "", ...goal.next };
      const set = await system.compareAndSet(entry, next, held, { ...attempt, replaced }, signal);
      if (set.done) {
        await effects.finishApply(change, set.version);
        return { result: "applied", previous: toHeld(held), ...describeOverwrite(set.overwrote) };
      }
      // The attempt is over: other changes must not wait for it, whatever the next try finds.
      await effects.cancel(change, known);
      record = known;
      if ("rejected" in set) throw new Error(set.rejected);
    }
    throw new Error(CONTENDED);
  };

  const describeOverwrite = (value: TargetValue | undefined): Pick<AdapterResult, "detail"> =>
    value ? { detail: { overwrote: digestValue(value) } } : {};

  const startRollback = async (change: Change, entry: Entry): Promise<Attempt> => {
    const attempt = newAttempt(change, "rollback");
    const { value: _, ...spelled } = entry;
    await effects.begin(change, { state: "rolling_back", attempt, place: system.place(entry), entry: spelled });
    return attempt;
  };

  /** Rolls back without a write of the value: nothing of it is there, or a later change holds the target. */
  const noteRollback = async (change: Change, entry: Entry, superseded_by: string | undefined, signal: AbortSignal) => {
    const record = await effects.get(change.change_id);
    const attempt = await startRollback(change, entry);
    const replaced = await effects.other(record?.applied_at === undefined ? undefined : record.replaced);
    await system.note?.(entry, { ...attempt, superseded_by, replaced }, signal);
    await effects.finishRollback(change);
    return { result: superseded_by === undefined ? "rolled_back" : "superseded" };
  };

  /** Restores exactly what the change replaced, while the target holds what the change set. */
  const restorePrevious = async (
    change: Change,
    entry: Entry,
    record: EffectRecord,
    { signal, overDrift }: { signal: AbortSignal; overDrift: boolean },
  ) => {
    const { previous } = record;
    const own = ownValue(change, record);
    if (!previous) throw new Error(`what ${change.change_id} replaced is not on record; ${BY_HAND}`);
    const replaced = await effects.other(record.replaced);
    for (let tries = 0; tries < MAX_TRIES; tries++) {
      const held = await read(entry, signal);
      const isForeign = !isEqual(held, own);
      if (isForeign && isEqual(held, previous)) return noteRollback(change, entry, undefined, signal);
      if (isForeign && !overDrift)
        throw new TargetDrifted(
          `the target of ${change.change_id} holds neither what it set nor what was there before; ${BY_HAND}`,
          { expected: own.value, held: held.value ?? null },
        );
      const attempt = await startRollback(change, entry);
      const next = previous.value === undefined ? undefined : previous;
      const set = await system.compareAndSet(entry, next, held, { ...attempt, replaced }, signal);
      if (set.done) {
        await effects.finishRollback(change);
        return { result: "rolled_back", ...describeOverwrite(set.overwrote ?? (isForeign ? held : undefined)) };
      }
      await effects.cancel(change, record);
      if ("rejected" in set) throw new Error(set.rejected);
    }
    throw new Error(CONTENDED);
  };

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

    async apply(change, signal, expected): Promise<AdapterResult> {
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
        const requireHeld = (held: TargetValue): void => requireExpected(held, expected);
        const set = isOwner ? await restores.run(change, entry, { record, requireHeld, signal }) : undefined;
        return { result: "applied", previous: toHeld(record.previous), ...describeOverwrite(set?.overwrote) };
      }
      if (setsValue(change)) return applyValue(change, entry, record, { signal, expected });
      const previous = toHeld(await read(entry, signal));
      const attempt = newAttempt(change, "apply");
      const replaced = await effects.other((await effects.target(change))?.owner);
      const { value: _, ...spelled } = entry;
      await effects.begin(change, { state: "pending", attempt, place: system.place(entry), entry: spelled });
      await system.note!(entry, { ...attempt, replaced }, signal);
      await effects.finishApply(change);
      return { result: "applied", previous };
    },

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

    async setStage(change, step, signal): Promise<AdapterResult> {
      const entry = await findEntry(change);
      requirePlace(change, entry);
      await unfinished.resolveOther(change, signal);
      const { record, outcome } = await unfinished.resolve(change, entry, signal);
      if (outcome === "open") throw new Error(describeUnfinished(change, record!));
      if (record?.state !== "applied" || record.superseded_by !== undefined)
        throw new Error(`by the service's own record the target does not belong to ${change.change_id}`);
      return stages.advance(change, entry, record, step, signal);
    },

    async findStage(change, step, signal) {
      const { record, outcome } = await unfinished.resolve(change, await findEntry(change), signal);
      if (outcome === "open") return "open";
      return record?.stage?.step === step ? "done" : "not_done";
    },

    canRestore: (entry) => setsValue(entry) && !isCumulative(entry),

    async restore(change, id, signal) {
      const entry = await findEntry(change);
      requirePlace(change, entry);
      await unfinished.resolveOther(change, signal);
      const { record, outcome } = await unfinished.resolve(change, entry, signal);
      if (outcome === "open") throw new Error(describeUnfinished(change, record!));
      if (record?.state !== "applied" || record.superseded_by !== undefined)
        throw new Error(`by the service's own record the target does not belong to ${change.change_id}`);
      const set = await restores.run(change, entry, { record, id, signal });
      if (!set) return { result: "unchanged" };
      return { result: "restored", replaced_digest: digestValue(set.overwrote ?? set.held) };
    },

    async findRestore(change, id, signal) {
      const { record, outcome } = await unfinished.resolve(change, await findEntry(change), signal);
      if (outcome === "open") return "open";
      return describeRestore(record?.restore, id);
    },

    async held(change, signal) {
      return toHeld(await read(await findEntry(change), signal));
    },

    async rollback(change, signal, readLog, overDrift = false): Promise<AdapterResult> {
      const { change_id, status } = change;
      const entry = await findEntry(change);
      if (!overDrift) requirePlace(change, entry);
      await unfinished.resolveOther(change, signal);
      const { record, outcome } = await unfinished.resolveState(change, entry, signal);
      if (outcome === "open") throw new Error(describeUnfinished(change, record!));
      // The log knows owners of values; changes that add to each other have none.
      const fromLog = setsValue(change) && !isCumulative(entry) ? await readLog?.(change_id) : undefined;
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
        return noteRollback(change, entry, undefined, signal);
      }
      if (await isSuperseded(change_id, record, fromLog))
        return noteRollback(change, entry, record.superseded_by, signal);
      if (!setsValue(change)) return noteRollback(change, entry, undefined, signal);
      if (fromLog) requireReplaced(change_id, record.previous, fromLog.digest);
      return restorePrevious(change, entry, record, { signal, overDrift });
    },

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

const BY_HAND = "set by hand what was there before, and roll back again";
