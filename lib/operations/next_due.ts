/** Finds the next time at which a cycle has work if nothing is committed before. */
import { areAllCaughtUp } from "../projections/projector.ts";
import { outcomes } from "../projections/outcomes.ts";
import { type WaitingStatus, waitingPrefix, parseWait } from "../projections/waiting.ts";
import { findNextDriftCheck } from "../changes/check_drift.ts";
import { listKnownMismatches } from "../changes/integrity_scan.ts";
import { EXPIRES_SOON_SHARE } from "../changes/rules/current_state.ts";
import { HOUR_MS } from "../kit/days.ts";
import { addRequestCache } from "../kit/request_cache.ts";
import { listRecords } from "../store/pages.ts";
import type { OperationsDeps } from "./deps.ts";
import { expiringKey } from "./notice_expiring.ts";
import { orderPrefix } from "./tasks.ts";

const NOW = -Infinity;
const PAGE_SIZE = 500;
const FIRST_KEY = { limit: 1, keysOnly: true } as const;

/** Returns the next due time in milliseconds since the epoch: `-Infinity` if work is unfinished, `Infinity` if nothing is due. */
export async function findNextDue(baseDeps: OperationsDeps): Promise<number> {
  const deps = addRequestCache(baseDeps);
  // Every cycle checks a breach and mismatches again, and queries the peers.
  if (deps.integrity.breach || listKnownMismatches(deps.integrity).size > 0 || deps.link) return NOW;
  const [isUnfinished, outcome, limits, drift, apply] = await Promise.all([
    hasUnfinishedWork(deps),
    findNextOutcome(deps),
    findNextLimit(deps),
    findNextDriftCheck(deps),
    findNextApply(deps),
  ]);
  // While the projections are behind, `outcome` is NOW; `limits` may then lack waiting changes, or be no number.
  return isUnfinished || outcome === NOW ? NOW : Math.min(outcome, limits, drift, apply);
}

/** Returns true if there is unfinished work that each cycle continues. */
async function hasUnfinishedWork({ store }: OperationsDeps): Promise<boolean> {
  const [tasks, mismatches, ...lists] = await Promise.all([
    store.list("tasks_order", FIRST_KEY),
    store.get("meta", "mismatches"),
    store.list("leases", FIRST_KEY),
    store.list("guardrail_due", FIRST_KEY),
    store.list("erasures_due", FIRST_KEY),
    // A rollout also moves when time passes or samples stay out.
    store.list("rollouts_running", FIRST_KEY),
    store.list("github_waiting", FIRST_KEY),
  ]);
  // Open tasks come before the ended ones. Reported mismatches are checked again in each cycle.
  const isOpen = tasks.some(({ id }) => id < orderPrefix("completed"));
  return isOpen || (mismatches?.value.told.length ?? 0) > 0 || lists.some((rows) => rows.length > 0);
}

/** Returns the time of the next automatic apply; an overdue one is tried in each cycle. */
async function findNextApply({ store }: OperationsDeps): Promise<number> {
  // A key begins with the time of its apply.
  const [first] = await store.list("applies_due", FIRST_KEY);
  return first ? Date.parse(first.id.split("\n")[0]!) : Infinity;
}

/** Returns the time when the next outcome closes; `NOW` if a projection is behind, or a retrospective is not written yet. */
async function findNextOutcome(deps: OperationsDeps): Promise<number> {
  const { store, evolved } = deps;
  const [isCurrent, written, cursor] = await Promise.all([
    areAllCaughtUp(deps),
    store.get("meta", "retrospectives"),
    store.get("cursors", outcomes.name),
  ]);
  if (!isCurrent) return NOW;
  const state = (cursor?.value.state ?? outcomes.start) as typeof outcomes.start;
  if (evolved && (written?.value.seq ?? state.closed.seq) !== state.closed.seq) return NOW;
  return state.due === null ? Infinity : Date.parse(state.due);
}

/** Returns the next time at which a waiting change enters the last quarter of its time, or expires. */
async function findNextLimit(deps: OperationsDeps): Promise<number> {
  if (!deps.product) return Infinity;
  const { consent_ttl_hours, approval_ttl_hours } = deps.product.intent.policy;
  const notified = (await deps.store.get("meta", "expiring"))?.value ?? {};
  const [pending, approved] = await Promise.all([
    findFirstLimit(deps, "pending_consent", consent_ttl_hours, notified.pending_consent),
    findFirstLimit(deps, "approved", approval_ttl_hours, notified.approved),
  ]);
  return Math.min(pending, approved);
}

/** Returns the next such time of the changes of a status; `notified`: sort key of the last change whose expiry was announced. */
async function findFirstLimit(
  { store }: OperationsDeps,
  status: WaitingStatus,
  hours: number | undefined,
  notified = "",
): Promise<number> {
  let first = Infinity;
  if (hours === undefined) return first;
  const ttl = hours * HOUR_MS;
  const prefix = waitingPrefix(status);
  for await (const { id, value } of listRecords(store, "waiting", { prefix, limit: PAGE_SIZE })) {
    const { since } = parseWait(value);
    const isNotified = expiringKey(since, id.slice(prefix.length)) <= notified;
    first = Math.min(first, since + (isNotified ? ttl : ttl * (1 - EXPIRES_SOON_SHARE)));
  }
  return first;
}
