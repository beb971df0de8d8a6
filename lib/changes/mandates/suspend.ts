/** Suspends mandates: by a rollback or a contested drift of what they approved, and by a KPI that is worse than its floor. */
import { listPages } from "../../store/pages.ts";
import type { ChangesDeps } from "../deps.ts";
import { readRecord } from "../records.ts";
import { readRecordedKpis } from "../recorded_kpis.ts";
import { serviceItself } from "../rules/actor.ts";
import type { Change } from "../rules/change.ts";
import type { Intent } from "../rules/intent.ts";
import { directionOf } from "../rules/kpi.ts";
import { isByMandate } from "../rules/mandate_approval.ts";
import { mandateNamed } from "../rules/mandate.ts";
import type { MandateRecord, Suspension } from "../rules/mandate_record.ts";
import { governed, type Transaction } from "../transaction.ts";
import { readMandate } from "./read_mandate.ts";
import { recordEvent } from "./record_event.ts";

const PAGE_SIZE = 100;

/** Suspends a mandate that is active; any other stays as it is. Returns the mandate after it. */
export function suspend(
  transaction: Transaction,
  mandate: MandateRecord | undefined,
  suspension: Omit<Suspension, "at">,
): MandateRecord | undefined {
  if (mandate?.state !== "active") return mandate;
  const detail = { revision: mandate.revision + 1, suspension, ...serviceItself() };
  return recordEvent(transaction, mandate, "mandate_suspended", detail).mandate;
}

/** Suspends the mandates that approved a change. */
export async function suspendApproving(
  transaction: Transaction,
  { approvals, change_id }: Change,
  reason: Suspension["reason"],
): Promise<void> {
  const ids = new Set(approvals.filter(isByMandate).map(({ approver }) => mandateNamed(approver)!));
  for (const id of ids) suspend(transaction, await readMandate(transaction, id), { reason, change_id });
}

/** Returns the first KPI that is worse than its floor. */
export function findBelowFloor(
  { bounds: { kpi_floor = {} } }: Pick<MandateRecord, "bounds">,
  values: Readonly<Record<string, number>>,
  intent: Pick<Intent, "kpis">,
): { kpi: string; value: number } | undefined {
  for (const [kpi, floor] of Object.entries(kpi_floor)) {
    const value = Object.hasOwn(values, kpi) ? values[kpi]! : undefined;
    if (value !== undefined && directionOf(kpi, intent) * (value - floor) < 0) return { kpi, value };
  }
  return undefined;
}

/** Suspends the mandates whose floor a feed is below. */
export async function suspendBelowFloor(
  transaction: Transaction,
  fed: Readonly<Record<string, number>>,
): Promise<void> {
  const { tx, product } = transaction;
  if (!product.intent.policy.mandates) return;
  for await (const page of listPages(tx, "mandates_by_agent", { limit: PAGE_SIZE, keysOnly: true }))
    for (const { id } of page) {
      const mandate = await readMandate(transaction, id.slice(id.lastIndexOf("\n") + 1));
      const below = mandate && findBelowFloor(mandate, fed, product.intent);
      if (below) suspend(transaction, mandate, { reason: "kpi_floor", ...below });
    }
}

/** Returns the KPI of a mandate that is worse than its floor by the last feeds. */
export async function findBelowNow(
  transaction: Transaction,
  mandate: MandateRecord,
): Promise<{ kpi: string; value: number } | undefined> {
  if (!mandate.bounds.kpi_floor) return undefined;
  return findBelowFloor(mandate, await readRecordedKpis(transaction), transaction.product.intent);
}

/** Suspends the mandates whose changes have a contested value, as the last check of drift found it. */
export async function suspendContested(deps: ChangesDeps): Promise<void> {
  if (!deps.product?.intent.policy.mandates) return;
  for await (const page of listPages(deps.store, "drift", { limit: PAGE_SIZE }))
    for (const { id, value } of page) {
      const change = value.contested_until ? (await readRecord(deps.store, id))?.change : undefined;
      if (change?.approvals.some(isByMandate))
        await governed<void>({ deps }, (transaction) => suspendApproving(transaction, change, "contested"));
    }
}
