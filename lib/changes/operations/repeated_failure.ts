/** Failed rollbacks that the service retries by itself: the same failure is recorded once a day. */
import type { AuditEntry } from "../../audit/entry.ts";
import { DAY_MS } from "../../kit/days.ts";
import { json, type Json } from "../../store/json.ts";
import { POLICY_GUARDRAIL, POLICY_STAGES } from "../rules/actor.ts";
import { parseDetail } from "../rules/event.ts";
import type { OperationRequest } from "../records.ts";
import type { ChangeRecord } from "../rules/record.ts";
import type { Transaction } from "../transaction.ts";
import type { HostFailure } from "./run_adapter.ts";

/** Newest entries of the change among which an earlier failure is searched. */
const MAX_ENTRIES = 50;

const RETRYING_ACTORS: ReadonlySet<string | null> = new Set([POLICY_STAGES, POLICY_GUARDRAIL]);

/** Finds an entry of the last 24 hours with the same failure of a rollback that the service retries. */
export async function findSameFailure(
  { evidence, now }: Transaction,
  { audit }: ChangeRecord,
  { operation, actor, authenticated }: OperationRequest,
  failure: HostFailure,
): Promise<Json<AuditEntry> | undefined> {
  // A request from outside has a value of `authenticated`, even if it states one of these actors.
  if (operation !== "rollback" || authenticated !== null || !RETRYING_ACTORS.has(actor)) return undefined;
  for (const id of audit.slice(-MAX_ENTRIES).reverse()) {
    const entry = await evidence.storedEntry(id);
    if (!entry || Date.parse(entry.timestamp) <= now - DAY_MS) return undefined;
    const { by, stage, error, host } = parseDetail(entry.detail) as { by?: string } & Partial<HostFailure>;
    const isSame = stage === failure.stage && error === failure.error && host === failure.host;
    if (entry.event_type === "change_rollback_failed" && by === actor && isSame) return json(entry);
  }
  return undefined;
}
