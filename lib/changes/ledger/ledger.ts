/** The ledger: verified reads of changes and of their targets. Records and indexes of the store are compared with the log. */
import type { ChainHead } from "../../audit/chain.ts";
import type { AuditEntry } from "../../audit/entry.ts";
import { consultLog, type Evidence } from "../evidence.ts";
import type { LogDeps } from "../run_with_log.ts";
import { readStoredChange, formatTargetKey } from "../records.ts";
import type { TargetKey } from "../rules/target_key.ts";
import { pickContent } from "../rules/content.ts";
import { type ChangeEntry, isPlan, listEntries } from "../rules/list_entries.ts";
import { toChange, type ChangeRecord, type ChangeState, listDifferences } from "../rules/record.ts";
import type { ChangeInForce } from "../rules/stale_target.ts";
import {
  findOwnedSince,
  findOwner,
  findOwnerAfterRollback,
  findSpelling,
  type LedgerSources,
  listOpenChanges,
} from "./targets.ts";
import { readCurrentValue, readValuesSince, readLastValue } from "./target_values.ts";
import { listEntryIds, foldEntries, type Mismatch, verifyRecord } from "./verify_record.ts";

/** A stored record, and the names of its parts that do not match the log. */
export interface VerifiedRecord {
  record: ChangeRecord;
  fields: Mismatch;
}

/** Verified reads. Each of them may throw `LogNotIndexed`: `runWithLog` then reads the log and starts again. */
export type Ledger = ReturnType<typeof createLedger>;

/** Creates the ledger of one transaction or one request. The owner of a target, its newest applied change, is found only once. */
export function createLedger(sources: LedgerSources) {
  const { reads, evidence, length, sha256 } = sources;
  const owners = new Map<string, Promise<string | null>>();

  /** Reads the entries about a change, from the first that its record names; empty if the record names none or too high ids. */
  const entries = async (changeId: string, record: ChangeRecord | undefined): Promise<AuditEntry[]> => {
    const ids = listEntryIds(record);
    return ids.length > 0 && ids.at(-1)! <= length ? evidence.entriesAbout(changeId, ids[0]!) : [];
  };

  /** Computes the state of a change from its entries alone; undefined if the log has none, or they do not follow each other. */
  const state = async (changeId: string, record: ChangeRecord | undefined): Promise<ChangeState | undefined> =>
    foldEntries(await entries(changeId, record)) ?? foldEntries(await evidence.entriesAbout(changeId, 1));

  const findTargetOwner = (target: TargetKey): Promise<string | null> => {
    const key = formatTargetKey(target);
    const owner = owners.get(key) ?? findOwner(sources, target);
    owners.set(key, owner);
    return owner;
  };

  return {
    entries,
    state,
    /** Reads a change and compares it with the log; 404 `change_not_found`. */
    async change(changeId: string): Promise<VerifiedRecord> {
      const record = await readStoredChange(reads, changeId);
      return { record, fields: verifyRecord(changeId, record, await entries(changeId, record), sha256) };
    },
    /**
     * Rebuilds the record of a change from the log and the stored content; undefined if the log gives no state of the change,
     * or the content does not match its digest.
     */
    async rebuild(changeId: string, stored: ChangeRecord): Promise<ChangeRecord | undefined> {
      // A damaged record may lack parts that its type has.
      const recorded = stored?.change && (await state(changeId, stored));
      if (!recorded) return undefined;
      const record = { ...recorded, change: toChange(recorded, pickContent(stored.change)) };
      return listDifferences(recorded, record, sha256).length === 0 ? record : undefined;
    },
    /** Finds the id of the newest applied change of a target. */
    owner: findTargetOwner,
    /** Finds the owner of a change's target; for a plan, the owners of its targets. */
    async targetOwner(change: ChangeEntry): Promise<ChangeInForce> {
      const targetOwners = await Promise.all(listEntries(change).map(findTargetOwner));
      return isPlan(change) ? targetOwners : targetOwners[0]!;
    },
    ownedSince: (target: TargetKey) => findOwnedSince(sources, target),
    ownerAfterRollback: (record: ChangeRecord, target: TargetKey) => findOwnerAfterRollback(sources, record, target),
    spelling: (target: TargetKey) => findSpelling(sources, target),
    /** Returns a change whose targets have the spelling of their first apply. */
    async respell<C extends ChangeEntry>(change: C): Promise<C> {
      const { sets } = change;
      if (!sets) return { ...change, target: await findSpelling(sources, change) };
      const spelled = sets.map(async (entry) => ({ ...entry, target: await findSpelling(sources, entry) }));
      return { ...change, sets: await Promise.all(spelled) };
    },
    openChanges: (target: TargetKey) => listOpenChanges(sources, target),
    valuesSince: (target: TargetKey, moment: string) => readValuesSince(sources, target, moment),
    currentValue: (target: TargetKey) => readCurrentValue(sources, target),
    lastValue: (target: TargetKey) => readLastValue(sources, target),
  };
}

/** Runs a read of the ledger outside a transaction. Errors: 503 `chain_broken`. */
export const readLedger = <T>(
  deps: LogDeps,
  run: (ledger: Ledger, evidence: Evidence, head: ChainHead) => Promise<T>,
): Promise<T> =>
  consultLog(deps, (evidence, head) => {
    const { length } = head;
    const { store, sha256, integrity } = deps;
    const indexedAfter = (): number => integrity.logIndex!.after;
    return run(createLedger({ reads: store, evidence, length, indexedAfter, sha256 }), evidence, head);
  });
