/** One governed transaction: the chain's head first, then reads, a decision, its records and its entries, all or nothing. */
import { type AuditEvent, type ChainHead, entryKey, nextEntry, readHead, stamp } from "../audit/chain.ts";
import type { AuditEntry } from "../audit/entry.ts";
import { rememberStep } from "../memory/remember_steps.ts";
import type { GovernanceDeps } from "./deps.ts";
import { AppError } from "../kit/errors.ts";
import type { Call } from "../http/endpoint.ts";
import { type Answer, isAnswer } from "../http/answer.ts";
import { keepAnswer, replayed } from "../http/idempotency.ts";
import { tallyStep } from "../follow/tally_steps.ts";
import type { Tx } from "../store/store.ts";
import type { Change } from "./rules/change.ts";
import { type ChangeRecord, liveKey, targetKey } from "./records.ts";
import type { ProductRuntime } from "./runtime.ts";

/** What a governed decision may use. */
export interface Unit {
  tx: Tx;
  product: ProductRuntime;
  sha256: GovernanceDeps["sha256"];
  ids: GovernanceDeps["ids"];
  /** Milliseconds since the epoch, and the same moment as it is recorded: never before the last entry. */
  now: number;
  at: string;
  /** The id that the next appended entry will have. */
  nextEntryId(): number;
  /** Appends to the chain. */
  append(event: AuditEvent): AuditEntry;
  /** A change's record; 404 `change_not_found`. */
  change(changeId: string): Promise<ChangeRecord>;
  /** Keeps a change after a step, with its views and its entry. */
  save(
    before: ChangeRecord | undefined,
    after: Change,
    event: Omit<AuditEvent, "change_id" | "tenant">,
    extra?: Partial<ChangeRecord>,
  ): Promise<{ record: ChangeRecord; entry: AuditEntry }>;
}

/** Who asks: a request, or the service itself in a cycle. */
export type Caller = Pick<Call<GovernanceDeps>, "deps"> &
  Partial<Pick<Call<GovernanceDeps>, "request" | "person" | "idempotency">>;

/**
 * Runs a decision as one transaction and resolves when it is durable. An error that the decision throws changes nothing;
 * one that it returns is thrown after the commit, for a refusal that is itself recorded.
 */
export async function governed<T>(caller: Caller, decide: (unit: Unit) => Promise<T | AppError>): Promise<T | Answer> {
  const { deps, idempotency } = caller;
  const { breach } = deps.integrity;
  if (breach)
    throw new AppError(
      "chain_broken",
      `the audit chain does not hold at entry ${breach.first_invalid}; writes are refused until it is restored`,
      { ...breach },
    );
  const outcome = await deps.store.transact(async (tx) => {
    const now = deps.clock.now();
    const head = await readHead(tx);
    if (!head || !deps.product) throw new Error("a governed decision needs an opened product runtime");
    if (idempotency) {
      const kept = await replayed(tx, idempotency, now);
      if (kept) return kept;
    }
    const { unit, commit } = openUnit(tx, deps, deps.product, head, now);
    const decided = await decide(unit);
    commit();
    if (idempotency && isAnswer(decided)) keepAnswer(tx, idempotency, decided, now);
    return decided;
  });
  if (outcome instanceof AppError) throw outcome;
  return outcome;
}

function openUnit(
  tx: Tx,
  deps: GovernanceDeps,
  product: ProductRuntime,
  opened: ChainHead,
  now: number,
): { unit: Unit; commit: () => void } {
  const { sha256, ids } = deps;
  const at = stamp(opened, now);
  let head = opened;

  const append = (event: AuditEvent): AuditEntry => {
    const next = nextEntry(head, event, at, sha256);
    head = next.head;
    tx.put("audit", entryKey(next.entry.id), next.entry, 0);
    return next.entry;
  };

  const change = async (changeId: string): Promise<ChangeRecord> => {
    const stored = await tx.get("changes", changeId);
    if (!stored) throw new AppError("change_not_found", `there is no change ${changeId}`, { change_id: changeId });
    return stored.value;
  };

  const save: Unit["save"] = async (before, after, event, extra) => {
    const entry = append({ ...event, change_id: after.change_id, tenant: after.tenant_id });
    const record: ChangeRecord = {
      operations: 0,
      ...before,
      ...extra,
      change: { ...after, revision: (before?.change.revision ?? 0) + 1 },
      audit: [...(before?.audit ?? []), entry.id],
    };
    tx.put("changes", after.change_id, record);
    if (before?.change.status !== after.status) await moveViews(tx, before?.change, after);
    await tallyStep(tx, before?.change, record.change, event.event_type, at);
    await rememberStep(tx, record.change, event, at);
    return { record, entry };
  };

  const commit = (): void => {
    if (head !== opened) tx.put("meta", "chain", head);
  };
  const nextEntryId = (): number => head.length + 1;
  return { unit: { tx, product, sha256, ids, now, at, nextEntryId, append, change, save }, commit };
}

const isLive = (change: Change | undefined): boolean =>
  change?.status === "pending_consent" || change?.status === "approved";

/** Keeps the views that answer without a scan: counts by status, live changes, live changes by target. */
async function moveViews(tx: Tx, before: Change | undefined, after: Change): Promise<void> {
  const counts = (await tx.get("counts", "changes"))?.value ?? {};
  if (before) counts[before.status] = (counts[before.status] ?? 1) - 1;
  counts[after.status] = (counts[after.status] ?? 0) + 1;
  tx.put("counts", "changes", counts);
  if (before && isLive(before)) tx.delete("live", liveKey(before));
  if (isLive(after)) tx.put("live", liveKey(after), true);
  if (isLive(before) !== isLive(after)) await moveTarget(tx, after);
}

const LISTED = 10;

/** An index by target, and a summary of it that a proposal reads in one step. */
async function moveTarget(tx: Tx, change: Change): Promise<void> {
  const target = targetKey(change);
  const place = target + change.change_id;
  const { count, ids } = (await tx.get("live_targets", target))?.value ?? { count: 0, ids: [] };
  if (isLive(change)) {
    tx.put("live_by_target", place, true);
    const listed = ids.length < LISTED ? [...ids, change.change_id] : ids;
    return tx.put("live_targets", target, { count: count + 1, ids: listed });
  }
  tx.delete("live_by_target", place);
  if (count <= 1) return tx.delete("live_targets", target);
  const rest = ids.filter((id) => id !== change.change_id);
  const listed = rest.length > 0 ? rest : await firstOf(tx, target, count - 1);
  tx.put("live_targets", target, { count: count - 1, ids: listed });
}

async function firstOf(tx: Tx, target: string, count: number): Promise<string[]> {
  const page = await tx.list("live_by_target", { after: target, limit: Math.min(LISTED, count) });
  return page.map(({ id }) => id.slice(target.length));
}
