/** Which events are worth a notification, and what it says. */
import type { AuditEntry } from "../audit/entry.ts";
import type { PulseDeps } from "./deps.ts";
import type { Change } from "../governance/rules/change.ts";
import type { Outcome } from "../governance/rules/outcome.ts";
import { pick, shownOutcome } from "./change_views.ts";
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
  /** Where a person reads it in the console, where the service knows its address. */
  url?: string;
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
] as const satisfies readonly (keyof Change)[];
type ChangeShown = Pick<Change, (typeof SHOWN)[number]>;

/** The notification for an event; undefined for those that nobody needs to be told of. */
export async function notificationOf(deps: PulseDeps, event: PulseEvent): Promise<Notification | undefined> {
  const type = typeOf(event);
  if (event.type === "tick" || !type || !deps.product) return undefined;
  const { product_id, instance_id } = deps.product.identity;
  const [number, timestamp, changeId, told] =
    event.type === "audit"
      ? [event.data.id, event.data.timestamp, event.data.change_id, toldByEntry(event.data)]
      : [event.data.seq, event.data.at, event.data.ref ?? "", await toldByRow(deps, event.data)];
  const change = changeId === "" ? undefined : (await deps.store.get("changes", changeId))?.value.change;
  const data = { change: change ? pick(change, SHOWN) : null, ...told };
  // Unique over all logs: the random part of the log's origin, then the entry's or the row's number.
  const origin = (await deps.store.get("meta", "chain"))?.value.origin ?? "";
  const id = `evt_${origin.slice(origin.lastIndexOf("/") + 1)}_${event.type}_${number}`;
  return { id, type, timestamp, product_id, instance_id, ...placeOf(deps, changeId), data };
}

/** A link to the change. It is for reading: a button in a chat is no signature. */
const placeOf = ({ publicUrl }: PulseDeps, changeId: string): Pick<Notification, "url"> =>
  publicUrl === undefined ? {} : { url: `${publicUrl}/#/${changeId && `changes/${encodeURIComponent(changeId)}`}` };

function typeOf({ type: source, data }: PulseEvent): NotificationType | undefined {
  if (source === "tick") return undefined;
  if (source === "growth")
    return data.kind === "outcome" ? "outcome.verdict" : data.kind === "guardrail" ? "guardrail.tripped" : undefined;
  const { event_type, detail } = data;
  if (event_type === "change_proposed" || event_type === "consent_decision") {
    const { status } = JSON.parse(detail) as { status: string };
    return status === "pending_consent" ? "change.waiting_for_consent" : "change.decided";
  }
  return NOTIFICATION_TYPES.find((type) => type === event_type.replace("_", "."));
}

type Told = Omit<Notification["data"], "change">;

const toldByEntry = ({ id, event_type, detail, current_hash }: AuditEntry): Told => ({
  audit_entry: { id, event_type, detail, current_hash },
});

async function toldByRow(deps: PulseDeps, { kind, ref, title, detail }: GrowthRow): Promise<Told> {
  const notice = { title, detail };
  if (kind !== "outcome") return { notice };
  const { get, state } = await reading(deps, outcomes);
  const outcome = (await get("outcomes", ref ?? ""))?.value;
  return { outcome: outcome ? shownOutcome(deps, state.kpis, outcome) : null, notice };
}
