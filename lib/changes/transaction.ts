/**
 * The transaction of a governed write: reads the chain's head, verifies what it reads, and commits entries and records together.
 */
import {
  type AuditEvent,
  type ChainHead,
  entryKey,
  nextEntry,
  readHead,
  entryTimestamp,
  findClockProblem,
} from "../audit/chain.ts";
import type { AuditEntry } from "../audit/entry.ts";
import { rememberTrace } from "../audit/entry_traces.ts";
import { rememberEnd, requireContinued } from "../audit/known_end.ts";
import { adoptStoredBreach } from "../audit/report_breach.ts";
import { AppError } from "../kit/errors.ts";
import { currentTrace, type Trace } from "../kit/trace.ts";
import { freezeDeep, Json, json } from "../store/json.ts";
import { type Prefetch, StoreUnavailable, type Tx } from "../store/store.ts";
import { noteFailedWrite } from "../store/write_proof.ts";
import { listTargetChangeKeys } from "./target_index.ts";
import type { Caller } from "./caller.ts";
import type { ChangesDeps } from "./deps.ts";
import { type Activation, listActivations } from "./intent_in_force.ts";
import { type Evidence, createEvidence } from "./evidence.ts";
import { createLedger } from "./ledger/ledger.ts";
import { prefetchLog } from "./prefetch_log.ts";
import { createMismatchError } from "./mismatch.ts";
import { rememberMismatch } from "./integrity_scan.ts";
import { runWithLog, requireIntactChain } from "./run_with_log.ts";
import { formatAgentChangeKey, formatDueApplyKey, changeNotFound } from "./records.ts";
import { isResult, type ReplayedReply, verifyReply } from "./replies.ts";
import type { Actor } from "./rules/actor.ts";
import { isOpenChange, isReviewDue } from "./rules/current_state.ts";
import { isRollingOut } from "./rules/rollout_state.ts";
import type { Change } from "./rules/change.ts";
import type { Command } from "./rules/command.ts";
import { canRead } from "./rules/reader.ts";
import { toChange, type ChangeRecord } from "./rules/record.ts";
import { toStoredChange } from "./rules/stored_record.ts";
import { evolve } from "./rules/evolve.ts";
import { decide } from "./rules/state_machine.ts";
import type { ProductRuntime } from "./runtime.ts";

/** Purpose of reading a change: `closing` ends it, `undoing` rolls it back, `resolving` records how its operation ended. */
type ReadPurpose = "any" | "closing" | "undoing" | "resolving";

/** The transaction of a governed decision. */
export type Transaction = ReturnType<typeof createTransaction>["transaction"];

/** Result of a command. `change` and `entry` carry their JSON text, which the store and the answer share. */
export interface CommandResult {
  record: ChangeRecord;
  change: Json<Change>;
  entry: Json<AuditEntry>;
}

/** Checks that a transaction skips, and reads that it declares. */
interface TransactionOptions {
  /** Runs although the clock is far behind the log: for commands that stop or undo, and for results of operations. */
  ignoresClockLag?: boolean;
  /** Runs on a log that lost its end: for the command that accepts the loss. */
  acceptsLoss?: boolean;
  /** Declares reads that the decision always needs. */
  prefetch?: Prefetch | undefined;
}

type Decision<T> = (transaction: Transaction) => Promise<T | AppError>;

/**
 * Runs a decision as one transaction and resolves when it is durable. If the decision throws an error, nothing is written. If it
 * returns an error, the transaction commits first and then throws it: so rejections are recorded. Under an idempotency key the
 * reply is stored in the same transaction; if the key was used before, the earlier reply is returned and the decision does not
 * run. Errors: 503 `clock_behind`, `chain_broken`, `intent_outdated`.
 */
export function runTransaction<T>(
  caller: { deps: ChangesDeps; replies?: undefined },
  decision: Decision<T>,
  options?: TransactionOptions,
): Promise<T>;
export function runTransaction<T>(
  caller: Pick<Caller, "deps" | "replies">,
  decision: Decision<T>,
  options?: TransactionOptions,
): Promise<T | ReplayedReply>;
export async function runTransaction<T>(
  { deps, replies }: Pick<Caller, "deps" | "replies">,
  decision: Decision<T>,
  { ignoresClockLag = false, acceptsLoss = false, prefetch }: TransactionOptions = {},
): Promise<T | ReplayedReply> {
  let end: ChainHead | undefined;
  let mismatches: FoundMismatch[] = [];
  // The store may run the decision within another request, whose trace is a different one.
  const trace = currentTrace();
  const prefetchAll: Prefetch = (reads) =>
    Promise.all([prefetchLog(reads, deps.integrity), replies?.find(reads, deps.clock.now()), prefetch?.(reads)]);
  const result = await runWithLog(deps, () =>
    deps.store.transact(async (tx) => {
      end = undefined;
      mismatches = [];
      const now = deps.clock.now();
      const { integrity, sha256 } = deps;
      const [head, storedBreach] = await Promise.all([readHead(tx), tx.get("meta", "breach")]);
      // After a breach that only another process reported, this check still runs: this process may know of more lost entries.
      const skipsEndCheck = acceptsLoss || (integrity.breach && storedBreach);
      if (head && !skipsEndCheck) await requireContinued(tx, { integrity, head });
      if (!acceptsLoss) {
        await adoptStoredBreach(deps, tx);
        requireIntactChain(integrity.breach);
      }
      if (!head || !deps.product) throw new Error("a governed decision needs an opened product runtime");
      const reply = await replies?.find(tx, now);
      const evidence = createEvidence(tx, { logIndex: integrity.logIndex!, head, sha256 });
      if (reply) return { replayed: await verifyReply(reply, { evidence, sha256 }) };
      const clockProblem = findClockProblem(head, now);
      if (clockProblem && !ignoresClockLag) throw new AppError("clock_behind", clockProblem);
      const activations = await listActivations(tx, deps.product);
      const { transaction, commit } = createTransaction(tx, deps, deps.product, {
        head,
        activations,
        now,
        evidence,
        isBehind: clockProblem !== undefined,
        mismatches,
        trace,
      });
      const outcome = await decision(transaction);
      end = commit();
      if (isResult(outcome)) replies?.save(tx, outcome, now);
      return outcome;
    }, prefetchAll),
  )
    .catch((error: unknown) => {
      if (error instanceof StoreUnavailable) noteFailedWrite(deps.store);
      throw error;
    })
    .finally(() => mismatches.forEach(([id, fields]) => rememberMismatch(deps.integrity, id, fields)));
  // After an accepted loss the index is dropped, and the log is read again.
  if (end && !acceptsLoss) {
    deps.integrity.logIndex!.confirmEnd({ length: end.length, head: end.head });
    rememberEnd(deps.integrity, end);
  }
  if (result instanceof AppError) throw result;
  return result;
}

/** State when a transaction begins. */
interface TransactionStart {
  head: ChainHead;
  activations: readonly Activation[];
  now: number;
  evidence: Evidence;
  isBehind: boolean;
  /** Collects mismatched records; they are reported when the transaction has ended, since the store may run it more than once. */
  mismatches: FoundMismatch[];
  trace: Trace | undefined;
}

type FoundMismatch = [changeId: string, fields: readonly string[]];

function createTransaction(
  tx: Tx,
  { sha256, ids, integrity, reader }: ChangesDeps,
  product: ProductRuntime,
  { head: initialHead, activations, now, evidence, isBehind, mismatches, trace }: TransactionStart,
) {
  const at = entryTimestamp(initialHead, now);
  const logIndex = integrity.logIndex!;
  const appended: Json<AuditEntry>[] = [];
  let head = initialHead;
  let activationsDue = activations;
  const indexedAfter = (): number => logIndex.after;
  const ledger = createLedger({ reads: tx, evidence, length: initialHead.length, indexedAfter, sha256 });

  const appendToChain = (event: AuditEvent, timestamp: string): Json<AuditEntry> => {
    const next = nextEntry(head, event, timestamp, sha256);
    head = next.head;
    const entry = json(next.entry);
    rememberTrace(integrity, entry.value, trace);
    appended.push(entry);
    // Revision 0: the entry must not exist yet.
    tx.put("audit", entryKey(next.entry.id), entry, 0);
    return entry;
  };
  const append = (event: AuditEvent, timestamp?: string): Json<AuditEntry> => {
    recordActivations();
    if (timestamp !== undefined || !isBehind) return appendToChain(event, timestamp ?? at);
    const detail = { ...(event.detail as object), clock: new Date(now).toISOString() };
    return appendToChain({ ...event, detail }, at);
  };
  const recordActivations = (): void => {
    for (const activation of activationsDue) {
      appendToChain(activation.event, at);
      activation.store();
    }
    activationsDue = [];
  };

  const transaction = {
    tx,
    product,
    reader,
    sha256,
    /** The current time in milliseconds since the epoch, and as recorded in entries (RFC 3339): never before the last entry. */
    now,
    at,
    /** Name of this log. */
    origin: initialHead.origin,
    /** Length and head of the chain before this transaction, and the time of its last entry. */
    length: initialHead.length,
    head: initialHead.head,
    lastEntryAt: initialHead.at,
    /** Finds the id of the last entry that accepts a loss of the log's end; 0 if there is none. */
    async findLastLossId(): Promise<number> {
      const entry = await evidence.lastEntryOfType("loss_accepted");
      if (entry) return entry.id;
      // Before the indexed part, only the head names the entry: the length after an accepted loss is its id.
      const storedId = initialHead.loss?.length ?? 0;
      return storedId > 0 && storedId <= logIndex.after ? ((await evidence.entry(storedId))?.id ?? 0) : 0;
    },
    /** True if the clock is too far behind the log to date entries, which then get the time of the last entry. */
    isBehind,
    /** The id that the next appended entry will have. */
    nextEntryId: (): number => head.length + activationsDue.length + 1,
    /** Appends an entry, dated `timestamp` or else `at`. In the second case the detail has the clock's time if it is behind. */
    append,
    /** Records that this instance's intent and target systems are in force, unless the log says so already. */
    recordActivations,
    /** Verified reads of the log, and the id of the last entry before the part that this process has indexed. */
    evidence,
    indexedAfter,
    /** Verified reads of changes and of owners of targets. */
    ledger,
    /**
     * Reads the record of a change and verifies it against the log. With `closing`, a mismatch of its content alone is accepted.
     * With `undoing` and `resolving`, a mismatched record is rebuilt from the log if its content matches; with `resolving`, it is
     * returned even if that fails, unless it is malformed. Errors: 404 `change_not_found`, 409 `evidence_mismatch`.
     */
    async change(changeId: string, purpose: ReadPurpose = "any"): Promise<ChangeRecord> {
      const { record, fields } = await ledger.change(changeId);
      if (reader && !canRead(reader, record.change)) throw changeNotFound(changeId);
      if (fields.length === 0 || (purpose === "closing" && fields.join() === "content")) return record;
      const usesLog = purpose === "undoing" || purpose === "resolving";
      const rebuilt = usesLog && (await ledger.rebuild(changeId, record));
      if (rebuilt) return rebuilt;
      if (purpose === "resolving" && !fields.includes("record")) return record;
      throw transaction.createMismatchError(changeId, fields);
    },
    /** Creates the error 409 `evidence_mismatch` for a change, and reports the mismatch to the integrity scan. */
    createMismatchError(changeId: string, fields: readonly string[]): AppError {
      mismatches.push([changeId, fields]);
      return createMismatchError(changeId, fields);
    },
    /**
     * Executes a command on a change, or on a new change if `before` is undefined: decides, appends the event, and stores the new
     * record with its index rows. `judged`: the change without consents that do not count, on which the decision is based.
     */
    execute(
      before: ChangeRecord | undefined,
      command: Command,
      { actor, authenticated, idp }: Actor,
      judged: Change | undefined = before?.change,
    ): CommandResult {
      const { intent, manifest_hash } = product;
      const context = { intent, manifest_hash, sha256, actor: { actor, authenticated, ...(idp && { idp }) } };
      const { event_type, detail, content } = decide(judged, command, context);
      const { change_id, tenant_id } = before?.change ?? { change_id: `chg_${ids.uuid(now)}`, ...content! };
      const entry = append({ event_type, change_id, tenant: tenant_id, detail });
      const state = evolve(before, { ...entry.value, detail });
      if (!state) throw new Error(`${command.type} was decided on ${change_id}, and ${event_type} does not follow`);
      const change = json(toChange(state, content));
      const record = Object.freeze({ ...freezeDeep(state), change: change.value });
      const stored = toStoredChange(record);
      tx.put("changes", change_id, new Json(JSON.stringify(stored), stored), before ? undefined : 0);
      if (isOpenChange(before?.change.status) !== isOpenChange(record.change.status))
        updateOpenIndexes(tx, record.change);
      const wasDue = before !== undefined && isReviewDue(before.change);
      if (isReviewDue(record.change) !== wasDue) {
        if (wasDue) tx.delete("review_due", change_id);
        else tx.put("review_due", change_id, true);
      }
      const wasRunning = before !== undefined && isRollingOut(before.change);
      if (isRollingOut(record.change) !== wasRunning) {
        if (!wasRunning) tx.put("rollouts_running", change_id, true);
        else
          for (const collection of ["rollouts_running", "samples", "rollout_rollbacks"] as const)
            tx.delete(collection, change_id);
      }
      const dueKeyBefore = before && formatDueApplyKey(before.change);
      const dueKey = formatDueApplyKey(record.change);
      if (dueKeyBefore !== dueKey) {
        if (dueKeyBefore !== undefined) tx.delete("applies_due", dueKeyBefore);
        if (dueKey !== undefined) tx.put("applies_due", dueKey, true);
      }
      return { record, change, entry };
    },
  };
  /** Stores the new head of the chain, indexes the appended entries, and returns the head. */
  const commit = (): ChainHead => {
    if (head !== initialHead) tx.put("meta", "chain", json(head));
    // Entries of a transaction that did not commit are dropped from the index.
    if (logIndex.tentative.head !== initialHead.head) logIndex.reset();
    // Stops at a gap: entries that another process wrote meanwhile are read and indexed later.
    for (const { value } of appended) if (!logIndex.append(value)) break;
    return head;
  };
  return { transaction, commit };
}

/**
 * Adds a change to the indexes of open changes or removes it. The next proposal on the same target reads the indexes. The value of
 * a row is only `true`, so that reading a page is cheap.
 */
function updateOpenIndexes(tx: Tx, change: Change): void {
  const rows = [
    ...listTargetChangeKeys(change).map((key) => ["live_by_target", key] as const),
    ["live_by_agent", formatAgentChangeKey(change)],
  ] as const;
  for (const [index, key] of rows)
    if (key !== undefined && isOpenChange(change.status)) tx.put(index, key, true, 0);
    else if (key !== undefined) tx.delete(index, key);
}
