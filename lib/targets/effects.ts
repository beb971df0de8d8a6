/** Stores the effect of each change on its target system; a record is written before the system is changed. */
import type { Sha256 } from "../kit/platform.ts";
import type { Change } from "../changes/rules/change.ts";
import { formatTargetKey } from "../changes/records.ts";
import { listRecords } from "../store/pages.ts";
import type { Store, Tx } from "../store/store.ts";
import type { Attempt, Entry, OtherChange, TargetValue } from "./port.ts";

declare module "../store/store.ts" {
  interface Collections {
    effects: EffectRecord;
    effect_targets: EffectTarget;
  }
}

/** `effects/<change_id>`. */
export interface EffectRecord {
  /** `pending` and `rolling_back`: an attempt has begun, and its outcome is not recorded yet. */
  state: "pending" | "applied" | "rolling_back" | "rolled_back";
  attempt: Attempt;
  /** Place where the change was applied. */
  place: string;
  /** The entry without its value, as the system spells it. */
  entry: Omit<Entry, "value">;
  /** The value of the target before the change; absent if the change sets nothing, was never applied, or is rolled back. */
  previous?: TargetValue | undefined;
  /** The value that the change sets; absent like `previous`. Its version is known once it is set. */
  next?: Partial<TargetValue> | undefined;
  /** The change whose value this one replaced. */
  replaced?: string | undefined;
  /** The later change that owns the target. */
  superseded_by?: string | undefined;
  /** When it was applied last. */
  applied_at?: string;
  /** The last restore of the value. */
  restore?: RestoreAttempt | undefined;
  /** The step of a rollout whose split is `next`, and the value that its share of the users gets. */
  stage?: { step: number; value: unknown } | undefined;
  /** An advance of the rollout whose outcome is not recorded. */
  advance?: AdvanceAttempt | undefined;
  /** The rollback before a pending attempt; it stays in force if the attempt sets nothing. */
  earlier?: Pick<EffectRecord, "state" | "attempt" | "superseded_by"> | undefined;
}

/** A restore with the value that it replaces; once its outcome is recorded, only with the digest of that value. */
export type RestoreAttempt =
  | { id: string; attempt: Attempt; replaced: TargetValue }
  | { id: string; attempt: Attempt; replaced_digest: string | null };

/** A write that sets the split of another step. */
export interface AdvanceAttempt {
  attempt: Attempt;
  step: number;
  next: TargetValue;
}

/**
 * The owner of a target. Key: `effect_targets/<target>\n<tenant>\n<SHA-256 of the place>`, followed by `-` for changes without a
 * value, or by the change id for cumulative changes.
 */
export interface EffectTarget {
  /** The spelling with which the target was first applied. */
  target: string;
  /** The change that owns the target. */
  owner?: string | undefined;
  /** The change with the newest attempt whose outcome is not recorded. */
  open?: string | undefined;
}

const PAGE_SIZE = 50;

const NO_VALUES = { previous: undefined, next: undefined, restore: undefined, stage: undefined, advance: undefined };

/** An attempt that is about to begin. */
export type EffectStart = Pick<EffectRecord, "state" | "attempt" | "place" | "entry" | "previous" | "next" | "stage">;

/** Reads and writes the records; every write is one transaction. */
export type Effects = ReturnType<typeof createEffects>;

/** Finds the last rollback of a change, without the values. */
function findRollback(record: EffectRecord | undefined): EffectRecord["earlier"] {
  if (record?.state !== "rolled_back") return record?.earlier;
  const { state, attempt, superseded_by } = record;
  return { state, attempt, superseded_by };
}

/** Dependencies of the effects. */
export interface EffectOptions {
  /** Returns true for a change that adds to its target instead of replacing the value. */
  isCumulative: (change: Change) => boolean;
  sha256: Sha256;
}

/** Returns the value that an applied change set: its own, or for a rollout the split of the current step. */
export const appliedValue = (change: Change, record: EffectRecord | undefined): Partial<TargetValue> =>
  (record?.stage && record.next) ?? { value: change.value };

/** Creates the effects in the service's store. */
export function createEffects(
  store: Pick<Store, "get" | "list" | "transact">,
  { isCumulative, sha256 }: EffectOptions,
) {
  /** Returns the key of the target of a change at its place; changes without a value have keys of their own. */
  const effectTargetKey = (change: Change): string => {
    const place = change.places?.[0]?.place;
    const key = formatTargetKey(change) + (place === undefined ? "" : sha256(place));
    if (isCumulative(change)) return key + change.change_id;
    return change.value === undefined ? `${key}-` : key;
  };
  const updateRecord = async (tx: Tx, id: string, update: (record: EffectRecord) => EffectRecord): Promise<void> => {
    const record = (await tx.get("effects", id))?.value;
    if (record) tx.put("effects", id, update(record));
  };
  const updateTarget = async (tx: Tx, key: string, spelling: string, update: Partial<EffectTarget>): Promise<void> =>
    tx.put("effect_targets", key, { target: spelling, ...(await tx.get("effect_targets", key))?.value, ...update });

  return {
    get: async (change_id: string): Promise<EffectRecord | undefined> => (await store.get("effects", change_id))?.value,

    target: async (change: Change): Promise<EffectTarget | undefined> =>
      (await store.get("effect_targets", effectTargetKey(change)))?.value,

    /** Describes another change for a system that shows it. */
    async describeOther(change_id: string | undefined): Promise<OtherChange | undefined> {
      const record = change_id === undefined ? undefined : (await store.get("effects", change_id))?.value;
      return record && { change_id: change_id!, kind: record.entry.kind, at: record.applied_at ?? record.attempt.at };
    },

    /** Records an attempt before it is sent to the system; an apply begins a new record. */
    begin: (change: Change, start: EffectStart): Promise<void> =>
      store.transact(async (tx) => {
        const id = change.change_id;
        const key = effectTargetKey(change);
        const { owner } = (await tx.get("effect_targets", key))?.value ?? {};
        const record = (await tx.get("effects", id))?.value;
        const before = start.state === "pending" ? { replaced: owner, earlier: findRollback(record) } : record;
        tx.put("effects", id, { ...before, ...start });
        await updateTarget(tx, key, start.entry.target, { open: id });
      }),

    /** Ends an attempt without a result: stores the record `before` again, or removes the record if there was none. */
    cancel: (change: Change, before: EffectRecord | undefined): Promise<void> =>
      store.transact(async (tx) => {
        if (before) tx.put("effects", change.change_id, before);
        else tx.delete("effects", change.change_id);
        await updateTarget(tx, effectTargetKey(change), change.target, { open: undefined });
      }),

    /** Records that a pending change is applied: it owns the target from now on. */
    finishApply: (change: Change, version?: string): Promise<void> =>
      store.transact(async (tx) => {
        const id = change.change_id;
        const key = effectTargetKey(change);
        const record = (await tx.get("effects", id))?.value;
        if (record?.state !== "pending") return;
        const replaced = (await tx.get("effect_targets", key))?.value.owner;
        const next = record.next && { ...record.next, ...(version !== undefined && { version }) };
        const applied_at = record.attempt.at;
        const { earlier: _, ...applied } = record;
        tx.put("effects", id, { ...applied, state: "applied", applied_at, replaced, ...(next && { next }) });
        if (replaced !== undefined) await updateRecord(tx, replaced, (earlier) => ({ ...earlier, superseded_by: id }));
        await updateTarget(tx, key, change.target, { owner: id, open: undefined });
      }),

    /**
     * Records that a change is rolled back. If a later change owns the target, the value that was replaced passes to its
     * record; otherwise the change that was replaced owns the target again.
     */
    finishRollback: (change: Change): Promise<void> =>
      store.transact(async (tx) => {
        const id = change.change_id;
        const key = effectTargetKey(change);
        const record = (await tx.get("effects", id))?.value;
        if (record?.state !== "rolling_back") return;
        const { attempt, place, entry, previous, replaced, superseded_by, restore } = record;
        // A restore just before the rollback may still have to be recorded in the log.
        const finishedRestore = restore && "replaced_digest" in restore ? { restore } : {};
        tx.put("effects", id, { state: "rolled_back", attempt, place, entry, superseded_by, ...finishedRestore });
        if (record.applied_at !== undefined && superseded_by !== undefined)
          await updateRecord(tx, superseded_by, (later) => {
            if (later.replaced !== id) return later;
            return { ...later, previous, replaced };
          });
        if (record.applied_at !== undefined && replaced !== undefined)
          await updateRecord(tx, replaced, (earlier) =>
            earlier.superseded_by === id ? { ...earlier, superseded_by } : earlier,
          );
        const { owner } = (await tx.get("effect_targets", key))?.value ?? {};
        await updateTarget(tx, key, change.target, { open: undefined, ...(owner === id && { owner: replaced }) });
      }),

    /** Records a restore before it is sent to the system. */
    beginRestore: (change: Change, restore: RestoreAttempt): Promise<void> =>
      store.transact(async (tx) => {
        await updateRecord(tx, change.change_id, (record) => ({ ...record, restore }));
        await updateTarget(tx, effectTargetKey(change), change.target, { open: change.change_id });
      }),

    /** Records the end of a restore; `result` is absent if nothing was set. */
    endRestore: (change: Change, result?: { restore: RestoreAttempt; version?: string | undefined }): Promise<void> =>
      store.transact(async (tx) => {
        await updateRecord(tx, change.change_id, ({ restore: _, ...record }) => {
          if (!result) return record;
          const { restore, version } = result;
          const next = record.next && { ...record.next, ...(version !== undefined && { version }) };
          return { ...record, restore, ...(next && { next }) };
        });
        await updateTarget(tx, effectTargetKey(change), change.target, { open: undefined });
      }),

    /** Records an advance before it is sent to the system. */
    beginAdvance: (change: Change, advance: AdvanceAttempt): Promise<void> =>
      store.transact(async (tx) => {
        await updateRecord(tx, change.change_id, (record) => ({ ...record, advance }));
        await updateTarget(tx, effectTargetKey(change), change.target, { open: change.change_id });
      }),

    /** Records the end of an advance: the split of its step is set, or nothing was set. */
    endAdvance: (change: Change, outcome: "not_done" | { version: string | undefined }): Promise<void> =>
      store.transact(async (tx) => {
        await updateRecord(tx, change.change_id, ({ advance, ...record }) => {
          if (outcome === "not_done" || !advance || !record.stage) return record;
          const { step, next } = advance;
          const { version = next.version } = outcome;
          return { ...record, next: { ...next, version }, stage: { ...record.stage, step } };
        });
        await updateTarget(tx, effectTargetKey(change), change.target, { open: undefined });
      }),

    /** Removes the value of an erased change, also from the records of changes that replaced it. */
    async forget(change_id: string): Promise<void> {
      const strip = (id: string) =>
        store.transact(async (tx) => {
          const record = (await tx.get("effects", id))?.value;
          if (record?.state === "pending") tx.delete("effects", id);
          else if (record) tx.put("effects", id, { ...record, ...NO_VALUES });
        });
      await strip(change_id);
      for await (const { id, value } of listRecords(store, "effects", { limit: PAGE_SIZE }))
        if (value.replaced === change_id && value.previous) await strip(id);
    },
  };
}
