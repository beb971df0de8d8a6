/** One governed transaction: the chain's head first, then reads, decisions, their records and entries, all or nothing. */
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
import { frozen, Json, json } from "../store/json.ts";
import { StoreUnavailable, type Tx } from "../store/store.ts";
import { noteFailedWrite } from "../store/write_proof.ts";
import { listTargetChangeKeys } from "./target_index.ts";
import type { Caller } from "./caller.ts";
import type { ChangesDeps } from "./deps.ts";
import { type Activation, listActivations } from "./intent_in_force.ts";
import { type Evidence, createEvidence } from "./evidence.ts";
import { createLedger } from "./ledger/ledger.ts";
import { createMismatchError } from "./mismatch.ts";
import { noteMismatch } from "./integrity_scan.ts";
import { runWithLog, requireIntactChain } from "./run_with_log.ts";
import { formatAgentChangeKey, formatDueApplyKey, changeNotFound } from "./records.ts";
import { isResult, type Replayed, verifyReply } from "./replies.ts";
import type { Actor } from "./rules/actor.ts";
import { isLive, isReviewDue } from "./rules/current_state.ts";
import { isRollingOut } from "./rules/rollout_state.ts";
import type { Change } from "./rules/change.ts";
import type { Command } from "./rules/command.ts";
import { canRead } from "./rules/reader.ts";
import { toChange, type ChangeRecord } from "./rules/record.ts";
import { toStoredChange } from "./rules/stored_record.ts";
import { evolve } from "./rules/evolve.ts";
import { decide } from "./rules/state_machine.ts";
import type { ProductRuntime } from "./runtime.ts";

/** How a change is used: `closing` ends it, `undoing` rolls it back, `settling` records how an operation on it ended. */
type ReadPurpose = "any" | "closing" | "undoing" | "resolving";

/** The transaction of a governed decision. */
export type Transaction = ReturnType<typeof createTransaction>["transaction"];

/** Result of a command; the texts are made once, for store and answer alike. */
export interface CommandResult {
  record: ChangeRecord;
  change: Json<Change>;
  entry: Json<AuditEntry>;
}

/** Conditions under which a decision runs although the log or the clock is in doubt. */
interface TransactionOptions {
  /** Decides also while the clock is far behind the log: for what undoes or stops, and what has happened on the host. */
  ignoresClockLag?: boolean;
  /** Decides also on a log that lost its end: for the decision that accepts the loss. */
  acceptsLoss?: boolean;
}

type Decision<T> = (transaction: Transaction) => Promise<T | AppError>;

/**
 * Runs a decision as one transaction and resolves when it is durable. An error that the decision throws changes nothing; one
 * that it returns is thrown after the commit, for a rejection that is itself recorded. Under an idempotency key the reply to
 * a result is stored in the same transaction, and resolves with the earlier reply where there is one. Errors: 503
 * `clock_behind`.
 */
export function runTransaction<T>(
  caller: { deps: ChangesDeps; replies?: undefined },
  decision: Decision<T>,
  exceptions?: TransactionOptions,
): Promise<T>;
export function runTransaction<T>(
  caller: Pick<Caller, "deps" | "replies">,
  decision: Decision<T>,
  exceptions?: TransactionOptions,
): Promise<T | Replayed>;
export async function runTransaction<T>(
  { deps, replies }: Pick<Caller, "deps" | "replies">,
  decision: Decision<T>,
  { ignoresClockLag = false, acceptsLoss = false }: TransactionOptions = {},
): Promise<T | Replayed> {
  let end: ChainHead | undefined;
  let mismatches: FoundMismatch[] = [];
  // The store may run a decision in the course of another request.
  const trace = currentTrace();
  const result = await runWithLog(deps, () =>
    deps.store.transact(async (tx) => {
      end = undefined;
      mismatches = [];
      const now = deps.clock.now();
      const { integrity, sha256 } = deps;
      const [head, stored] = await Promise.all([readHead(tx), tx.get("meta", "breach")]);
      // A breach that only another process reported does not skip this: this one may know of more lost entries.
      const isBreachReported = acceptsLoss || (integrity.breach && stored);
      if (head && !isBreachReported) await requireContinued(tx, { integrity, head });
      if (!acceptsLoss) {
        await adoptStoredBreach(deps, tx);
        requireIntactChain(integrity.breach);
      }
      if (!head || !deps.product) throw new Error("a governed decision needs an opened product runtime");
      const reply = await replies?.find(tx, now);
      const evidence = createEvidence(tx, { outline: integrity.logIndex!, head, sha256 });
      if (reply) return { replayed: await verifyReply(reply, { evidence, sha256 }) };
      const behind = findClockProblem(head, now);
      if (behind && !ignoresClockLag) throw new AppError("clock_behind", behind);
      const activations = await listActivations(tx, deps.product);
      const { transaction, commit } = createTransaction(tx, deps, deps.product, {
        head,
        activations,
        now,
        evidence,
        isBehind: behind !== undefined,
        mismatches,
        trace,
      });
      const decided = await decision(transaction);
      end = commit();
      if (isResult(decided)) replies?.save(tx, decided, now);
      return decided;
    }),
  )
    .catch((error: unknown) => {
      if (error instanceof StoreUnavailable) noteFailedWrite(deps.store);
      throw error;
    })
    .finally(() => mismatches.forEach(([id, fields]) => noteMismatch(deps.integrity, id, fields)));
  if (end && !acceptsLoss) {
    deps.integrity.logIndex!.confirmEnd({ length: end.length, head: end.head });
    rememberEnd(deps.integrity, end);
  }
  if (result instanceof AppError) throw result;
  return result;
}

/** State at the beginning of a decision. */
interface TransactionStart {
  head: ChainHead;
  activations: readonly Activation[];
  now: number;
  evidence: Evidence;
  isBehind: boolean;
  /** Mismatched records that were found: reported once the decision is final, since a run of it may have seen fewer. */
  mismatches: FoundMismatch[];
  trace: Trace | undefined;
}

type FoundMismatch = [changeId: string, fields: readonly string[]];

function createTransaction(
  tx: Tx,
  { sha256, ids, integrity, reader }: ChangesDeps,
  product: ProductRuntime,
  { head: opened, activations, now, evidence, isBehind, mismatches, trace }: TransactionStart,
) {
  const at = entryTimestamp(opened, now);
  const outline = integrity.logIndex!;
  const appended: Json<AuditEntry>[] = [];
  let head = opened;
  let due = activations;
  const indexedAfter = (): number => outline.after;
  const ledger = createLedger({ reads: tx, evidence, length: opened.length, indexedAfter, sha256 });

  const chainEntry = (event: AuditEvent, timestamp: string): Json<AuditEntry> => {
    const next = nextEntry(head, event, timestamp, sha256);
    head = next.head;
    const entry = json(next.entry);
    rememberTrace(integrity, entry.value, trace);
    appended.push(entry);
    tx.put("audit", entryKey(next.entry.id), entry, 0);
    return entry;
  };
  const append = (event: AuditEvent, timestamp?: string): Json<AuditEntry> => {
    recordActivations();
    if (timestamp !== undefined || !isBehind) return chainEntry(event, timestamp ?? at);
    return chainEntry({ ...event, detail: { ...(event.detail as object), clock: new Date(now).toISOString() } }, at);
  };
  const recordActivations = (): void => {
    const now = due;
    due = [];
    for (const { event, store: keep } of now) {
      chainEntry(event, at);
      keep();
    }
  };

  const transaction = {
    tx,
    product,
    reader,
    sha256,
    /** Milliseconds since the epoch, and the same moment as it is recorded: never before the last entry. */
    now,
    at,
    /** Names this log. */
    origin: opened.origin,
    /** The chain's length and head before it, and the time of its last entry. */
    length: opened.length,
    head: opened.head,
    lastEntryAt: opened.at,
    /** The id of the last accepted loss of the log's end, as the log itself tells it; 0 where there is none. */
    async findLastLossId(): Promise<number> {
      const entry = await evidence.lastEntryOfType("loss_accepted");
      if (entry) return entry.id;
      const stored = opened.loss?.length ?? 0;
      return stored > 0 && stored <= outline.after ? ((await evidence.entry(stored))?.id ?? 0) : 0;
    },
    /** True if this clock is too far behind the log to date anything: records then get the time of the last entry. */
    isBehind,
    /** The id that the next appended entry will have. */
    nextEntryId: (): number => head.length + due.length + 1,
    /** Appends to the chain, dated by `at`, with what a clock that is behind said; or dated by the clock as it is. */
    append,
    /** Records that the intent and the target systems of this instance are in force, where they are not yet. */
    recordActivations,
    /** The entries of the log, and the id before the first that this process has indexed. */
    evidence,
    indexedAfter,
    /** Changes and owners of targets, verified against the log. */
    ledger,
    /**
     * A change's record as the log tells it; 404 `change_not_found`, 409 `evidence_mismatch`. A closed change may have another
     * content. A change to roll back or to resolve is read from the log, if its content is the logged one; an operation
     * that ended is returned in any case.
     */
    async change(changeId: string, use: ReadPurpose = "any"): Promise<ChangeRecord> {
      const { record, fields } = await ledger.change(changeId);
      if (reader && !canRead(reader, record.change)) throw changeNotFound(changeId);
      if (fields.length === 0 || (use === "closing" && fields.join() === "content")) return record;
      const rebuilt = use !== "any" && use !== "closing" && (await ledger.rebuild(changeId, record));
      if (rebuilt) return rebuilt;
      if (use === "resolving" && !fields.includes("record")) return record;
      throw transaction.mismatched(changeId, fields);
    },
    /** 409 `evidence_mismatch`, of a change that is named from here on. */
    mismatched(changeId: string, fields: readonly string[]): AppError {
      mismatches.push([changeId, fields]);
      return createMismatchError(changeId, fields);
    },
    /**
     * Decides on a change, or without one on a new one; appends what follows and keeps the change as it is then. `judged`:
     * the change as it is to be judged, where some of its consents do not count.
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
      const record = Object.freeze({ ...frozen(state), change: change.value });
      const stored = toStoredChange(record);
      tx.put("changes", change_id, new Json(JSON.stringify(stored), stored), before ? undefined : 0);
      if (isLive(before?.change.status) !== isLive(record.change.status)) updateLiveIndexes(tx, record.change);
      const wasDue = before !== undefined && isReviewDue(before.change);
      if (isReviewDue(record.change) !== wasDue) {
        if (wasDue) tx.delete("review_due", change_id);
        else tx.put("review_due", change_id, true);
      }
      const wasRunning = before !== undefined && isRollingOut(before.change);
      if (isRollingOut(record.change) !== wasRunning) {
        if (!wasRunning) tx.put("rollouts_running", change_id, true);
        else for (const one of ["rollouts_running", "samples", "rollout_rollbacks"] as const) tx.delete(one, change_id);
      }
      const [due, isDue] = [before && formatDueApplyKey(before.change), formatDueApplyKey(record.change)];
      if (due !== isDue) {
        if (due !== undefined) tx.delete("applies_due", due);
        if (isDue !== undefined) tx.put("applies_due", isDue, true);
      }
      return { record, change, entry };
    },
  };
  /** The chain's end afterwards. */
  const commit = (): ChainHead => {
    if (head !== opened) tx.put("meta", "chain", json(head));
    if (outline.tentative.head !== opened.head) outline.reset();
    // Entries that another process wrote meanwhile are indexed too.
    for (const { value } of appended) if (!outline.append(value)) break;
    return head;
  };
  return { transaction, commit };
}

/**
 * Maintains the index of live changes, which the next proposal on the same target reads; key only, so that no page of it reads a
 * value.
 */
function updateLiveIndexes(tx: Tx, change: Change): void {
  const views = [
    ...listTargetChangeKeys(change).map((row) => ["live_by_target", row] as const),
    ["live_by_agent", formatAgentChangeKey(change)],
  ] as const;
  for (const [view, place] of views)
    if (place !== undefined && isLive(change.status)) tx.put(view, place, true, 0);
    else if (place !== undefined) tx.delete(view, place);
}
