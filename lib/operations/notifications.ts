/** Builds the notification for an event, if the event has one. */
import { entryKey } from "../audit/chain.ts";
import type { AuditEntry } from "../audit/entry.ts";
import { findRowEntry, type ActivityRow } from "../projections/activity.ts";
import { outcomes } from "../projections/outcomes.ts";
import { readProjection } from "../projections/snapshot.ts";
import { tryReadTargetValue } from "../changes/operations/host_state.ts";
import { findCarrier, findMove } from "../changes/locations.ts";
import { readRecord } from "../changes/records.ts";
import { isEmergencyApproved, listReviewers } from "../changes/rules/break_glass.ts";
import type { Change } from "../changes/rules/change.ts";
import { parseDetail } from "../changes/rules/event.ts";
import { isOpenChange, isReviewDue, findTimeLimit, findReviewDue } from "../changes/rules/current_state.ts";
import { listMissingConsents } from "../changes/rules/missing_consents.ts";
import { pick, viewOutcomes } from "./change_views.ts";
import type { OperationsDeps } from "./deps.ts";
import type { StreamEvent } from "./event_cursor.ts";
import { type Notification, NOTIFICATION_TYPES, type NotificationType, SENT_FIELDS } from "./notify/notification.ts";
import { describeNotification, type NotificationFacts } from "./notify/sentence.ts";
import { changePageAddress } from "./page_address.ts";

/** Returns the notification for an event; undefined for those without one. */
export async function buildNotification(deps: OperationsDeps, event: StreamEvent): Promise<Notification | undefined> {
  if (event.type === "tick" || !deps.product) return undefined;
  const type = event.type === "audit" ? findEntryType(event.data) : await findRowType(deps, event.data);
  if (!type) return undefined;
  const { product_id, instance_id } = deps.product.identity;
  const [number, timestamp, changeId] =
    event.type === "audit"
      ? [event.data.id, event.data.timestamp, event.data.change_id]
      : [event.data.seq, event.data.at, event.data.ref ?? ""];
  // A mismatched record is not quoted.
  const namesChange = changeId !== "" && type !== "breach.found";
  const change = namesChange ? (await readRecord(deps.store, changeId))?.change : undefined;
  const source = event.type === "audit" ? createEntrySource(event.data) : await readRowSource(deps, event.data);
  if (type === "change.drifted" && change) source.words.values = await readBothValues(deps, change);
  const { text, about } = describeChange(deps, change, { type, ...source.words });
  // Unique over all logs: the random part of the log's origin, then the entry's or the row's number.
  const origin = (await deps.store.get("meta", "chain"))?.value.origin ?? "";
  const id = `evt_${origin.slice(origin.lastIndexOf("/") + 1)}_${event.type}_${number}`;
  return {
    id,
    type,
    timestamp,
    product_id,
    instance_id,
    text,
    ...createLink(deps, type, changeId),
    data: { ...about, ...source.data },
  };
}

/** Returns the sentence, and the data of its change. A malformed record must not block later notifications. */
function describeChange(
  deps: OperationsDeps,
  change: Change | undefined,
  words: Omit<NotificationFacts, "change" | "missing" | "expires_at">,
): { text: string; about: Pick<Notification["data"], "change" | "missing" | "expires_at"> } {
  try {
    const consentStatus = findConsentStatus(deps, change, words.type);
    const { missing, expires_at } = consentStatus;
    const sentChange = change ? pick(change, SENT_FIELDS) : null;
    return {
      text: describeNotification({ change, ...consentStatus, ...words, now: deps.clock.now() }),
      about: { change: sentChange, missing: [...missing], expires_at },
    };
  } catch (error) {
    if (!change) throw error;
    return describeChange(deps, undefined, words);
  }
}

/** Returns a link to the page of the change; a person decides there, never in the chat. */
function createLink(
  { publicUrl }: OperationsDeps,
  type: NotificationType,
  changeId: string,
): Pick<Notification, "url"> {
  if (publicUrl === undefined) return {};
  if (changeId) return { url: changePageAddress(publicUrl, changeId) };
  return { url: `${publicUrl}/#/${type === "breach.found" ? "audit" : ""}` };
}

const ROW_TYPES: Readonly<Record<string, NotificationType>> = {
  outcome: "outcome.verdict",
  guardrail: "guardrail.tripped",
  change_expiring: "change.expiring",
  restore_contested: "change.restore_contested",
  audit_chain: "breach.found",
  evidence_mismatch: "breach.found",
};

/** Returns the type of a row. An emergency has one row when its review is due, and another when it was reviewed. */
async function findRowType({ store }: OperationsDeps, row: ActivityRow): Promise<NotificationType | undefined> {
  const entry = row.kind === "emergency" ? findRowEntry(row) : undefined;
  if (entry === undefined) return ROW_TYPES[row.kind];
  const event = (await store.get("audit", entryKey(entry)))?.value.event_type;
  return event === "consent_decision" ? "change.review_due" : undefined;
}

/** Returns the type of an entry; a malformed one has none, and does not block later ones. */
function findEntryType(entry: AuditEntry | null): NotificationType | undefined {
  const { event_type, detail } = entry ?? {};
  if (typeof event_type !== "string" || typeof detail !== "string") return undefined;
  if (event_type === "change_proposed" || event_type === "consent_decision") {
    const { status } = parseDetail(detail);
    return status && (status === "pending_consent" ? "change.waiting_for_consent" : "change.decided");
  }
  if (event_type === "automation_stopped") return "change.apply_blocked";
  // `change_apply_failed` is the type `change.apply_failed`.
  return NOTIFICATION_TYPES.find((type) => type === event_type.replace("_", "."));
}

/** Facts of an entry or row: `data` to send, and `words` for the sentence. */
interface Source {
  data: Pick<Notification["data"], "audit_entry" | "outcome" | "notice">;
  words: Partial<Pick<NotificationFacts, "entry" | "outcome" | "notice" | "values">>;
}

/** Reads the consented and the current value of a drifted target; undefined if it cannot be read. */
async function readBothValues({ product }: OperationsDeps, change: Change): Promise<NotificationFacts["values"]> {
  const adapter = findCarrier(product!.adapter, change);
  if (!adapter || change.value === undefined || findMove(adapter, change)) return undefined;
  const current = await tryReadTargetValue(adapter, change);
  return current === undefined ? undefined : { consented: change.value, current };
}

function createEntrySource(entry: AuditEntry): Source {
  const { id, event_type, detail, current_hash } = entry;
  return { data: { audit_entry: { id, event_type, detail, current_hash } }, words: { entry } };
}

async function readRowSource(deps: OperationsDeps, row: ActivityRow): Promise<Source> {
  const { kind, ref, title, detail } = row;
  const notice = { title, detail };
  const words = { notice: { title, detail, ref, of_entry: findRowEntry(row) !== undefined } };
  if (kind !== "outcome") return { data: { notice }, words };
  const read = await readProjection(deps, outcomes);
  const record = (await read.get("outcomes", ref ?? ""))?.value;
  const [outcome = null] = await viewOutcomes(deps, read, record ? [record] : []);
  return { data: { outcome, notice }, words: { ...words, outcome } };
}

/** Returns the consents that a change lacks, and the time when it expires or its review is due. */
function findConsentStatus(
  { product }: OperationsDeps,
  change: Change | undefined,
  type: NotificationType,
): Pick<NotificationFacts, "missing" | "expires_at" | "reviewers"> {
  const { intent } = product!;
  if (!change) return { missing: [], expires_at: null };
  return {
    missing:
      isOpenChange(change.status) && !isEmergencyApproved(change, intent) ? listMissingConsents(change, intent) : [],
    expires_at: type === "change.review_due" ? findReviewDue(change) : findTimeLimit(change, intent.policy),
    reviewers: isReviewDue(change) ? listReviewers(change, intent) : undefined,
  };
}
