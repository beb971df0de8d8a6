/** Readiness of changes: their allowed actions, missing consents and gates. */
import { readTargetIndex } from "./target_index.ts";
import type { ChangesDeps } from "./deps.ts";
import type { FindHolds } from "./freeze.ts";
import { judgeValues, readRecordedBases } from "./judge_values.ts";
import { readLedger } from "./ledger/ledger.ts";
import { findOperand, listLeaseKeys, MAX_LEASES_PER_TARGET, selectOtherLease } from "./operations/lease.ts";
import { dropInvalidMandate } from "./mandates/check_apply.ts";
import { listPromotionHolds } from "./promotion.ts";
import { filterAllProvenConsents } from "./proven_consents.ts";
import { listVisibleIds, maskOtherChanges } from "./read_scope.ts";
import { MAX_LISTED_CHANGES, formatTargetKey } from "./records.ts";
import type { Change } from "./rules/change.ts";
import { type GateInput, type Gate, listGates } from "./rules/gates.ts";
import type { Hold } from "./rules/hold.ts";
import { isOpenChange } from "./rules/current_state.ts";
import { isPlan, listEntries } from "./rules/list_entries.ts";
import { findApprovingMandate } from "./rules/mandate_approval.ts";
import { type MissingConsent, listMissingConsents } from "./rules/missing_consents.ts";
import { listAllowedInTime, explainOverdue } from "./rules/overdue.ts";
import type { ChangeRecord } from "./rules/record.ts";
import { isRollingOut } from "./rules/rollout_state.ts";
import { listTargetRules } from "./rules/value_limits.ts";

/** The allowed actions of a change, and its gates. */
export interface Readiness {
  allowed_actions: string[];
  /** Consents that are still missing. */
  missing: MissingConsent[];
  gates: Gate[];
}

/** The readiness of a change, and the change with only the consents that count. */
export interface ProvenReadiness extends Readiness {
  proven: Change;
}

/**
 * Reads the readiness of changes, in their order. As at an apply, consents whose proof is not valid now do not count. Each read is
 * made once for all changes.
 */
export async function readReadiness(
  deps: ChangesDeps,
  records: readonly ChangeRecord[],
  findHolds: FindHolds,
): Promise<ProvenReadiness[]> {
  if (records.length === 0) return [];
  const { store } = deps;
  const changes = records.map(({ change }) => change);
  const targets = changes.map(listEntries);
  const approved = changes.flatMap(({ status }, index) => (status === "approved" ? targets[index]! : []));
  const [proven, openRows, leases, guardrailMarks, ownerRows, leaseRows, valueErrors, promotionHolds] =
    await Promise.all([
      filterAllProvenConsents(deps, records).then((judged) => flagOutsideMandates(deps, records, judged)),
      // One row more than is listed, since the change itself may be among them.
      readTargetIndex(store, "live_by_target", targets.flat(), { limit: MAX_LISTED_CHANGES + 1 }),
      store.getMany("leases", changes.flatMap(listLeaseKeys)),
      store.getMany(
        "guardrail_marks",
        changes.map(({ change_id }) => change_id),
      ),
      readTargetIndex(store, "owners", approved, { limit: 1, reverse: true }),
      readTargetIndex(store, "leases", approved, { limit: MAX_LEASES_PER_TARGET }),
      findValueErrors(deps, records),
      findPromotionHolds(deps, changes),
    ]);
  // The id of an index row is the key of its target, followed by the change id.
  const openIds = [...openRows].flatMap(([key, rows]) => rows.map(({ id }) => id.slice(key.length)));
  const visibleIds = new Set(await listVisibleIds(deps, openIds));
  const readiness = records.map((record, index) => {
    const { change } = record;
    const keys = targets[index]!.map(formatTargetKey);
    const isApproved = change.status === "approved";
    const ownLeases = leases.flatMap((lease) => (lease?.value.change_id === change.change_id ? [lease.value] : []));
    const leasesOnTargets = keys.flatMap((key) => (leaseRows.get(key) ?? []).map(({ value }) => value));
    const openOnTargets = keys.flatMap((key) => (openRows.get(key) ?? []).map(({ id }) => id.slice(key.length)));
    const owners = keys.map((key) => ownerRows.get(key)?.[0]?.value ?? null);
    const changesInForce = { before: record.target_owner, now: isPlan(change) ? owners : owners[0]! };
    return assessReadiness(deps, proven[index]!, {
      conflicts: [...new Set(openOnTargets)]
        .filter((id) => id !== change.change_id && visibleIds.has(id))
        .slice(0, MAX_LISTED_CHANGES),
      holds: [...(promotionHolds.get(change.change_id) ?? []), ...findHolds(change)],
      operation: ownLeases[0]?.state,
      unresolved_targets: isPlan(change) ? ownLeases.map((lease) => findOperand(change, lease).target) : undefined,
      other_operation: isApproved ? selectOtherLease(change, leasesOnTargets) : undefined,
      guardrail: guardrailMarks[index]?.value,
      not_allowed: valueErrors.get(change.change_id),
      changesInForce: isApproved ? changesInForce : undefined,
    });
  });
  // `reader` is set for an agent that may not read all changes.
  return deps.reader ? Promise.all(readiness.map((shown) => maskGates(deps, shown))) : readiness;
}

/** Masks the changes in the sentences of the gates that the reader may not see. */
async function maskGates(deps: ChangesDeps, { gates, ...readiness }: ProvenReadiness): Promise<ProvenReadiness> {
  const sentences = gates.map(({ message }) => message);
  const masked = await maskOtherChanges(deps, sentences);
  return { ...readiness, gates: gates.map((gate, index) => ({ ...gate, message: masked[index]! })) };
}

/** Flags the consents of mandates whose bounds a change no longer meets. */
async function flagOutsideMandates(
  deps: ChangesDeps,
  records: readonly ChangeRecord[],
  proven: readonly Change[],
): Promise<readonly Change[]> {
  if (!proven.some((change) => change.status === "approved" && findApprovingMandate(change) !== undefined))
    return proven;
  const { store: tx, clock } = deps;
  const product = deps.product!;
  return readLedger(deps, (ledger, evidence, head) => {
    const now = new Date(clock.now()).toISOString();
    // No time of a decision is before that of the entries it is made from.
    const at = head.at > now ? head.at : now;
    const judging = { tx, product, at, ledger, evidence };
    return Promise.all(proven.map((change, index) => dropInvalidMandate(judging, change, records[index]!)));
  });
}

/** Judges the values of open changes as an apply would; reads no target system. Returns the errors by change id. */
async function findValueErrors(
  deps: ChangesDeps,
  records: readonly ChangeRecord[],
): Promise<ReadonlyMap<string, string>> {
  const { policy } = deps.product!.intent;
  const judged = records.filter(
    ({ change }) =>
      isOpenChange(change.status) && listEntries(change).some((entry) => listTargetRules(entry, policy).length > 0),
  );
  if (judged.length === 0) return new Map();
  const at = new Date(deps.clock.now()).toISOString();
  return readLedger(deps, async (ledger) => {
    const errors = new Map<string, string>();
    for (const record of judged) {
      const recorded = await readRecordedBases(ledger, record);
      const { error } = await judgeValues(ledger, record.change, { policy, at, recorded });
      if (error) errors.set(record.change.change_id, error.message);
    }
    return errors;
  });
}

/** Returns what prevents the promotion of open changes, by change id. */
async function findPromotionHolds(
  deps: ChangesDeps,
  changes: readonly Change[],
): Promise<ReadonlyMap<string, readonly Hold[]>> {
  const product = deps.product!;
  const openChanges = changes.filter(({ status }) => isOpenChange(status));
  if (openChanges.length === 0 || product.intent.policy.promotion.length === 0) return new Map();
  return readLedger(deps, async (ledger) => {
    const sources = { tx: deps.store, ledger, product, now: deps.clock.now() };
    const holds = openChanges.map(
      async (change) => [change.change_id, await listPromotionHolds(sources, change)] as const,
    );
    return new Map(await Promise.all(holds));
  });
}

type ReadinessFacts = Omit<GateInput, "intent" | "overdue">;

function assessReadiness({ clock, product }: ChangesDeps, change: Change, facts: ReadinessFacts): ProvenReadiness {
  const { intent } = product!;
  const context = { intent, now: clock.now() };
  return {
    proven: change,
    allowed_actions: listAllowedInTime(change, context),
    missing: isOpenChange(change.status) || isRollingOut(change) ? listMissingConsents(change, intent) : [],
    gates: listGates(change, { ...facts, intent, overdue: explainOverdue(change, context) }),
  };
}
