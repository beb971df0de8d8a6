/** Which events are worth a notification, and what it says. */
import type { AuditEntry } from "../audit/entry.ts";
import type { PulseDeps } from "./deps.ts";
import type { Change } from "../governance/rules/change.ts";
import type { Outcome } from "../governance/rules/outcome.ts";
import { shownOutcome } from "./changes.ts";
import type { PulseEvent } from "./event_cursor.ts";
import type { GrowthRow } from "../follow/growth_row.ts";
import { outcomes } from "../follow/outcomes.ts";
import { reading } from "../follow/reading.ts";

export const NOTIFICATION_TYPES = [
  "change.waiting_for_consent",
  "change.decided",
  "change.applied",
  "change.apply_failed",
  "change.rolled_back",
  "change.rollback_failed",
  "change.drifted",
  "outcome.verdict",
  "guardrail.tripped",
] as const;
export type NotificationType = (typeof NOTIFICATION_TYPES)[number];

/** A webhook's body. `id` is the same however often it is sent. */
export interface Notification {
  id: string;
  type: NotificationType;
  /** When it happened. */
  timestamp: string;
  product_id: string;
  instance_id: string;
  data: {
    change: ChangeShown | null;
    /** The entry that records it. */
    audit_entry?: Pick<AuditEntry, "id" | "event_type" | "detail" | "current_hash">;
    outcome?: Outcome | null;
    /** What the service noticed. */
    notice?: Pick<GrowthRow, "title" | "detail">;
  };
}

const SHOWN = [
  "change_id",
  "tenant_id",
  "kind",
  "target",
  "summary",
  "tier",
  "risk",
  "status",
  "proposer",
  "required_approvers",
] as const;
type ChangeShown = Pick<Change, (typeof SHOWN)[number]>;

/** The notification for an event; undefined for those that nobody needs to be told of. */
export async function notificationOf(deps: PulseDeps, event: PulseEvent): Promise<Notification | undefined> {
  if (event.type === "tick" || !deps.product) return undefined;
  const type = event.type === "audit" ? typeOfEntry(event.data) : typeOfRow(event.data);
  if (!type) return undefined;
  const { product_id, instance_id } = deps.product.identity;
  const at = event.type === "audit" ? event.data.timestamp : event.data.at;
  const id = await idOf(deps, event);
  const data = event.type === "audit" ? await entryData(deps, event.data) : await rowData(deps, event.data, type);
  return { id, type, timestamp: at, product_id, instance_id, data };
}

/** Unique over all logs: the random part of the log's origin, then the entry's or the row's number. */
async function idOf({ store }: PulseDeps, { type, data }: Exclude<PulseEvent, { type: "tick" }>): Promise<string> {
  const origin = (await store.get("meta", "chain"))?.value.origin ?? "";
  const number = type === "audit" ? data.id : data.seq;
  return `evt_${origin.slice(origin.lastIndexOf("/") + 1)}_${type}_${number}`;
}

function typeOfEntry({ event_type, detail }: AuditEntry): NotificationType | undefined {
  switch (event_type) {
    case "change_proposed":
    case "consent_decision": {
      const { status } = JSON.parse(detail) as { status: string };
      return status === "pending_consent" ? "change.waiting_for_consent" : "change.decided";
    }
    case "change_applied":
      return "change.applied";
    case "change_apply_failed":
      return "change.apply_failed";
    case "change_rolled_back":
      return "change.rolled_back";
    case "change_rollback_failed":
      return "change.rollback_failed";
    case "change_drifted":
      return "change.drifted";
    default:
      return undefined;
  }
}

const typeOfRow = ({ kind }: GrowthRow): NotificationType | undefined =>
  kind === "outcome" ? "outcome.verdict" : kind === "guardrail" ? "guardrail.tripped" : undefined;

async function entryData({ store }: PulseDeps, entry: AuditEntry): Promise<Notification["data"]> {
  const { id, event_type, detail, current_hash } = entry;
  const record = (await store.get("changes", entry.change_id))?.value;
  return { change: shown(record), audit_entry: { id, event_type, detail, current_hash } };
}

async function rowData(deps: PulseDeps, row: GrowthRow, type: NotificationType): Promise<Notification["data"]> {
  const { store } = deps;
  const ref = row.ref ?? "";
  const record = ref === "" ? undefined : (await store.get("changes", ref))?.value;
  const notice = { title: row.title, detail: row.detail };
  if (type !== "outcome.verdict") return { change: shown(record), notice };
  const { get, state } = await reading(deps, outcomes);
  const outcome = (await get("outcomes", ref))?.value;
  return { change: shown(record), outcome: outcome ? shownOutcome(deps, state.kpis, outcome) : null, notice };
}

const shown = (record: { change: Change } | undefined): ChangeShown | null =>
  record ? (Object.fromEntries(SHOWN.map((field) => [field, record.change[field]])) as ChangeShown) : null;
