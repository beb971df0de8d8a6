/**
 * Suspends mandates after a rollback of a change that they approved, when its value is contested (another program undid three
 * restores within an hour), or when a KPI is worse than its floor.
 */
import { listRecords } from "../../store/pages.ts";
import type { ChangesDeps } from "../deps.ts";
import { readRecord } from "../records.ts";
import { serviceActor } from "../rules/actor.ts";
import type { Change } from "../rules/change.ts";
import { isMandateApproval } from "../rules/mandate_approval.ts";
import { parseMandateName } from "../rules/mandate.ts";
import type { MandateRecord, Suspension } from "../rules/mandate_record.ts";
import { runTransaction, type Transaction } from "../transaction.ts";
import { findKpiBelowFloor, findKpiBelowFloorNow } from "./kpi_floor.ts";
import { readMandate } from "./read_mandate.ts";
import { recordEvent } from "./record_event.ts";

/** Suspends an active mandate; any other stays as it is. Returns the mandate. */
export function suspend(
  transaction: Transaction,
  mandate: MandateRecord | undefined,
  suspension: Omit<Suspension, "at">,
): MandateRecord | undefined {
  if (mandate?.state !== "active") return mandate;
  const detail = { revision: mandate.revision + 1, suspension, ...serviceActor() };
  return recordEvent(transaction, mandate, "mandate_suspended", detail).mandate;
}

/** Suspends a mandate if a KPI is worse than its floor according to the last feeds. Returns the mandate. */
export async function suspendIfBelowFloor(transaction: Transaction, mandate: MandateRecord): Promise<MandateRecord> {
  const below = mandate.state === "active" ? await findKpiBelowFloorNow(transaction, mandate) : undefined;
  return below ? suspend(transaction, mandate, { reason: "kpi_floor", ...below })! : mandate;
}

/** Suspends the mandates that approved a change; `until`: only mandates that were signed or resumed before this time. */
export async function suspendApproving(
  transaction: Transaction,
  { approvals, change_id }: Change,
  reason: Suspension["reason"],
  until = Infinity,
): Promise<void> {
  const ids = new Set(approvals.filter(isMandateApproval).map(({ approver }) => parseMandateName(approver)!));
  for (const id of ids) {
    // `isNamed`: an approval names the mandate, so a missing record of it is searched for in the log.
    const mandate = await readMandate(transaction, id, { isNamed: true });
    if (mandate && until > findStart(mandate)) suspend(transaction, mandate, { reason, change_id });
  }
}

/** Returns when a mandate was last resumed, or else signed; milliseconds since the epoch. */
const findStart = ({ resumes, signed_at }: MandateRecord): number => Date.parse(resumes.at(-1)?.at ?? signed_at ?? "");

/** Suspends the mandates with a KPI that a feed puts below its floor. */
export async function suspendAfterFeed(transaction: Transaction, fed: Readonly<Record<string, number>>): Promise<void> {
  const { product } = transaction;
  for (const id of await listPossiblyActive(transaction)) {
    const mandate = await readMandate(transaction, id);
    const below = mandate && findKpiBelowFloor(mandate, fed, product.intent);
    if (below) suspend(transaction, mandate, { reason: "kpi_floor", ...below });
  }
}

/** Lists the mandates that may be active, from index rows and from records, so that a missing row or record hides none. */
async function listPossiblyActive({ tx }: Transaction): Promise<Set<string>> {
  const ids = new Set<string>();
  for await (const { id } of listRecords(tx, "mandates_by_agent", { keysOnly: true }))
    ids.add(id.slice(id.lastIndexOf("\n") + 1));
  for await (const { id, value } of listRecords(tx, "mandates")) if (value.state !== "ended") ids.add(id);
  return ids;
}

/** Suspends the mandates of changes whose value the last drift check found contested. */
export async function suspendContested(deps: ChangesDeps): Promise<void> {
  for await (const { value } of listRecords(deps.store, "drift")) {
    // The key of a plan's row also names the entry, so the id of the change is read from the value.
    const change = value.contested_until ? (await readRecord(deps.store, value.change_id))?.change : undefined;
    if (change?.approvals.some(isMandateApproval))
      await runTransaction<void>({ deps }, (transaction) =>
        suspendApproving(transaction, change, "contested", Date.parse(value.contested_until!)),
      );
  }
}
