/** Applies approved changes automatically (`apply_when`), in the same way as a request does. */
import { AppError } from "../kit/errors.ts";
import { listPages } from "../store/pages.ts";
import { readConfirmedTime, computeMsUntilConfirmed } from "./confirmed_time.ts";
import { runOperation } from "./commands/run_operation.ts";
import type { ChangesDeps } from "./deps.ts";
import { type AutomationEnd, endAutomation } from "./end_automation.ts";
import { type FindHolds, createHoldFinder } from "./freeze.ts";
import { ignoreMismatch } from "./mismatch.ts";
import { formatDueApplyKey, readRecords } from "./records.ts";
import { POLICY_APPLY_WHEN } from "./rules/approver_name.ts";
import { isScheduled, MAX_POSTPONED_MS } from "./rules/apply_when.ts";
import { isEmergencyApproved } from "./rules/break_glass.ts";
import type { Change } from "./rules/change.ts";
import { runTransaction } from "./transaction.ts";

const PAGE_SIZE = 100;
/** Time after which a pass starts no further apply. */
const MAX_PASS_MS = 30_000;
/** Time until a postponed apply is attempted again, unless a commit wakes the pass earlier. */
const RETRY_MS = 60_000;
/** Time until another attempt for a change whose target has an operation under way. */
const BUSY_RETRY_MS = 10_000;

/** Rejections that only postpone an automatic apply. */
const POSTPONING: ReadonlySet<string> = new Set(["frozen", "outside_window", "operation_in_progress"]);

/** The end of an automatic apply that was postponed for more than `MAX_POSTPONED_MS`. */
const TOO_LONG: AutomationEnd = {
  code: "postponed_too_long",
  reason: "a window, a freeze, a busy target or a service that did not run postponed it for more than 24 hours",
};

/** The result of a pass: the number of applied changes, and the milliseconds until the next pass is due. */
export interface AutomaticPass {
  applied: number;
  wait: number;
}

/** Ids of changes with a busy target, and the time of their next attempt, in milliseconds since the epoch. */
export type BusyTargets = Map<string, number>;

/** Applies the changes that are due, oldest first. At most one pass at a time runs in a process. */
export const applyDue = (deps: ChangesDeps, busy: BusyTargets = new Map()): Promise<AutomaticPass> =>
  deps.mutex("automatic applies", () => runPass(deps, busy));

async function runPass(deps: ChangesDeps, busy: BusyTargets): Promise<AutomaticPass> {
  const { store, clock } = deps;
  const pass: AutomaticPass = { applied: 0, wait: Infinity };
  const end = clock.now() + MAX_PASS_MS;
  let holds: FindHolds | undefined;
  for await (const page of listPages(store, "applies_due", { limit: PAGE_SIZE, keysOnly: true })) {
    const rows = page.map(({ id }) => parseRow(id));
    const isDue = rows.map(({ at }) => at <= clock.now());
    // Rows are in the order of their times, so the due ones come first, and each record has the index of its row.
    const records = await readRecords(
      store,
      rows.filter((_, index) => isDue[index]).map(({ changeId }) => changeId),
    );
    for (const [index, row] of rows.entries()) {
      const now = clock.now();
      if (!isDue[index] || now >= end) return lowerWait(pass, Math.max(0, row.at - now));
      holds ??= await createHoldFinder(deps);
      const wait = await tryApply(deps, row, { change: records[index]?.change, holds, busy });
      if (wait === undefined) pass.applied++;
      else lowerWait(pass, wait);
    }
  }
  return pass;
}

function lowerWait(pass: AutomaticPass, wait: number): AutomaticPass {
  pass.wait = Math.min(pass.wait, wait);
  return pass;
}

interface DueApply {
  /** Key of its row. */
  id: string;
  changeId: string;
  /** Milliseconds since the epoch. */
  at: number;
}

function parseRow(id: string): DueApply {
  const [due = "", changeId = ""] = id.split("\n");
  return { id, changeId, at: Date.parse(due) };
}

/** Applies a change that is due; returns the milliseconds until the next attempt if it was not applied. */
async function tryApply(
  deps: ChangesDeps,
  { id, changeId, at }: DueApply,
  { change, holds, busy }: { change: Change | undefined; holds: FindHolds; busy: BusyTargets },
): Promise<number | undefined> {
  const { clock, product, log, store } = deps;
  // The integrity scan reports a row that does not match its change.
  if (!change || formatDueApplyKey(change) !== id) return RETRY_MS;
  const end = at + MAX_POSTPONED_MS;
  const isTooLate = clock.now() > end;
  // An apply at `end` is still in time, so the first moment that is too late is one millisecond later.
  const confirmedTime = await readConfirmedTime(deps, store, isTooLate ? end + 1 : at);
  if (isScheduled(change) && confirmedTime < at) return computeMsUntilConfirmed(deps, at);
  if (isTooLate) {
    if (confirmedTime > end) await stopAutomation(deps, changeId, TOO_LONG);
    return RETRY_MS;
  }
  if (holds(change).length > 0 && !isEmergencyApproved(change, product!.intent)) return RETRY_MS;
  const waitMs = (busy.get(changeId) ?? 0) - clock.now();
  if (waitMs > 0) return waitMs;
  busy.delete(changeId);
  try {
    await runOperation({ deps }, { operation: "apply", change_id: changeId, actor: POLICY_APPLY_WHEN });
    return undefined;
  } catch (error) {
    if (!(error instanceof AppError)) throw error;
    if (error.code === "operation_in_progress") {
      busy.set(changeId, clock.now() + BUSY_RETRY_MS);
      return BUSY_RETRY_MS;
    }
    // A failed adapter is a fault of the target system: it ends the automatic apply like a rejection.
    const isFaultOfService = error.status >= 500 && error.code !== "adapter_failed";
    if (!POSTPONING.has(error.code) && !isFaultOfService)
      await stopAutomation(deps, changeId, { code: error.code, reason: error.message });
    else if (isFaultOfService) log.warn("a change could not be applied by itself", { change_id: changeId, error });
    return RETRY_MS;
  }
}

/** Ends the automatic apply of a change, unless it has ended already or the record does not match the log. */
async function stopAutomation(deps: ChangesDeps, changeId: string, end: AutomationEnd): Promise<void> {
  await runTransaction<void>({ deps }, async (transaction) => {
    const record = await ignoreMismatch(transaction.change(changeId, "closing"));
    if (record && formatDueApplyKey(record.change) !== undefined) endAutomation(transaction, record, end);
  });
}
