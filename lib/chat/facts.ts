/** Reads the facts for chat answers, with or without a language model. */
import { readHead } from "../audit/chain.ts";
import type { EventType } from "../audit/entry.ts";
import { readAuditPage } from "../audit/page.ts";
import type { OperationsDeps } from "../operations/deps.ts";
import { readDriftReport } from "../changes/drift.ts";
import { ignoreMissing } from "../changes/mismatch.ts";
import { readRecords } from "../changes/records.ts";
import { NO_KPIS } from "../changes/rules/kpi.ts";
import { type Effect, computeEffect } from "../changes/rules/effect.ts";
import { readProjection } from "../projections/snapshot.ts";
import { waiting as waitingProjection } from "../projections/waiting.ts";
import { listApprovals, readChangeDetail } from "../operations/change_views.ts";
import { readIntentView } from "../operations/intent_view.ts";
import { readState } from "../operations/state.ts";
import { describe, toSentence } from "../wording/describe.ts";
import { type ForeignText, joinParts, showForeignText } from "../wording/part.ts";

const MAX_LISTED = 10;
const MAX_REASON_LENGTH = 200;
const FAILURE_SCAN_ENTRIES = 1000;
const FAILURES: readonly EventType[] = ["change_apply_failed", "change_rollback_failed", "change_drifted"];

export type ChangeDetail = Awaited<ReturnType<typeof readChangeDetail>>;

/** Reads the state, and with a product also its identity, intent, counts of changes, audit log and drift. */
export async function readOverview(deps: OperationsDeps) {
  const { tick, E, M, R, N, goals, tasks, as_of } = await readState(deps);
  const state = { tick, E, M, R, N, goals, tasks, as_of };
  if (!deps.product) return { state, product: null };
  const head = await readHead(deps.store);
  return {
    state,
    product: {
      identity: deps.product.identity,
      intent: await readIntentView(deps),
      changes: (await readProjection(deps, waitingProjection)).state.counts,
      audit: { length: head?.length ?? 0, head: head?.head ?? "", breach: deps.integrity.breach ?? null },
      drift: (await readDriftReport(deps)).result,
    },
  };
}

/** Lists the first ten changes that wait for consent, and the first ten that wait for their apply. */
export const listWaiting = (deps: OperationsDeps) => listApprovals(deps, { limit: MAX_LISTED });

/** Computes E and the contribution of each KPI. */
export async function computeKpiEffect({ store, product, clock }: OperationsDeps): Promise<Effect> {
  const kpis = (await store.get("kpi", "latest"))?.value ?? NO_KPIS;
  return computeEffect(kpis, product!.intent, clock.now());
}

const showBriefly = (part: ForeignText): string => showForeignText(part, MAX_REASON_LENGTH);

/** Lists the newest failures among the newest thousand entries, newest first, and the current drift. */
export async function listFailures(deps: OperationsDeps) {
  const { store } = deps;
  const { entries } = await readAuditPage(deps, { limit: FAILURE_SCAN_ENTRIES, order: "desc" });
  const { result, drifted, missing } = await readDriftReport(deps);
  const failed = entries.value.filter(({ event_type }) => FAILURES.includes(event_type)).slice(0, MAX_LISTED);
  const records = await readRecords(
    store,
    failed.map(({ change_id }) => change_id),
  );
  return {
    failures: failed.map((entry, index) => {
      const { id, event_type, change_id, timestamp } = entry;
      const { targetState, ...description } = describe(entry, records[index]?.change);
      return {
        audit_id: id,
        event_type,
        change_id,
        at: timestamp,
        words: joinParts(toSentence(description), showBriefly),
        host: joinParts(targetState, showBriefly),
      };
    }),
    is_drift_known: result !== null,
    drift: [...drifted, ...missing].slice(0, MAX_LISTED),
  };
}

/** Reads the change with this id; undefined if there is none. */
export const findChange = (deps: OperationsDeps, changeId: string): Promise<ChangeDetail | undefined> =>
  ignoreMissing(readChangeDetail(deps, changeId));
