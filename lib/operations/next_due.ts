/** When a cycle has something to do again if nobody commits anything: until then it need not look at what is stored. */
import { areAllCaughtUp } from "../projections/projector.ts";
import { outcomes } from "../projections/outcomes.ts";
import { type WaitingStatus, waitingPrefix, parseWait } from "../projections/waiting.ts";
import { nextDriftCheck } from "../changes/check_drift.ts";
import { knownMismatches } from "../changes/integrity_scan.ts";
import { LAST_PART } from "../changes/rules/in_force.ts";
import { HOUR_MS } from "../kit/days.ts";
import { withRequestCache } from "../kit/request_cache.ts";
import { listPages } from "../store/pages.ts";
import type { OperationsDeps } from "./deps.ts";
import { expiringKey } from "./expiring.ts";
import { orderPrefix } from "./tasks.ts";

const NOW = -Infinity;
const PAGE = 500;
const ANY = { limit: 1, keysOnly: true } as const;

/** That moment, in milliseconds since the epoch: `-Infinity` where something is left to do, `Infinity` where time brings nothing. */
export async function nextDue(given: OperationsDeps): Promise<number> {
  const deps = withRequestCache(given);
  // What is wrong is looked at each time, and what peers know is asked of them.
  if (deps.integrity.breach || knownMismatches(deps.integrity).size > 0 || deps.link) return NOW;
  const [left, outcome, limits, drift, apply] = await Promise.all([
    isAnythingLeft(deps),
    nextOutcome(deps),
    nextLimit(deps),
    nextDriftCheck(deps),
    nextApply(deps),
  ]);
  // The rows of what waits are right only where the projections are caught up.
  return left || outcome === NOW ? NOW : Math.min(outcome, limits, drift, apply);
}

/** Whether there is what each cycle goes on with until it is done. */
async function isAnythingLeft({ store }: OperationsDeps): Promise<boolean> {
  const [tasks, told, ...lists] = await Promise.all([
    store.list("tasks_order", ANY),
    store.get("meta", "mismatches"),
    store.list("leases", ANY),
    store.list("guardrail_due", ANY),
    store.list("erasures_due", ANY),
    // Hours and silence decide on them.
    store.list("rollouts_running", ANY),
    store.list("github_waiting", ANY),
  ]);
  const isOpen = tasks.some(({ id }) => id < orderPrefix("completed"));
  return isOpen || (told?.value.told.length ?? 0) > 0 || lists.some((rows) => rows.length > 0);
}

/** Returns when the next change applies by itself; one that is due is tried in each cycle. */
async function nextApply({ store }: OperationsDeps): Promise<number> {
  const [first] = await store.list("applies_due", ANY);
  return first ? Date.parse(first.id.split("\n")[0]!) : Infinity;
}

/** Returns when time closes the next outcome; now where a projection is behind, or a retrospective is not written yet. */
async function nextOutcome(deps: OperationsDeps): Promise<number> {
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

/** When the next of what waits comes into the last part of its time, or to its end. */
async function nextLimit(deps: OperationsDeps): Promise<number> {
  if (!deps.product) return Infinity;
  const { consent_ttl_hours, approval_ttl_hours } = deps.product.intent.policy;
  const told = (await deps.store.get("meta", "expiring"))?.value ?? {};
  const [pending, approved] = await Promise.all([
    firstLimit(deps, "pending_consent", consent_ttl_hours, told.pending_consent),
    firstLimit(deps, "approved", approval_ttl_hours, told.approved),
  ]);
  return Math.min(pending, approved);
}

async function firstLimit(
  { store }: OperationsDeps,
  status: WaitingStatus,
  hours: number | undefined,
  told = "",
): Promise<number> {
  let first = Infinity;
  if (hours === undefined) return first;
  const ttl = hours * HOUR_MS;
  const prefix = waitingPrefix(status);
  for await (const page of listPages(store, "waiting", { prefix, limit: PAGE })) {
    for (const { id, value } of page) {
      const { since } = parseWait(value);
      const isTold = expiringKey(since, id.slice(prefix.length)) <= told;
      first = Math.min(first, since + (isTold ? ttl : ttl * (1 - LAST_PART)));
    }
  }
  return first;
}
