/** What waits, and for whom. */
import type {
  Approvals,
  Capability,
  CapabilityMap,
  ChangeDetail,
  Drift,
  IntentView,
  Outcome,
  State,
} from "../core/api_types.ts";
import { get } from "../core/api.ts";
import { counted, figure } from "../core/format.ts";
import { detailsOf } from "./details.ts";
import { mayApprove, type Rules } from "./offers.ts";
import { titled } from "./statuses.ts";

/** Rows that are shown; the rest is behind a link. */
const SHOWN = 40;
const OUTCOMES_SHOWN = 8;

/** A change that cannot be left alone, or a part of the service that fails. */
export interface Concern {
  tone: "bad" | "warn";
  title: string;
  detail: string;
  /** The change it is about, or the page where it shows. */
  change_id?: string;
  page?: string;
}

/** Everything the first page tells. */
export interface Inbox {
  waiting: ChangeDetail[];
  approved: ChangeDetail[];
  /** Their emergency consents wait for review, and they are not among those above. */
  reviews: ChangeDetail[];
  /** There is more than is shown. */
  more: boolean;
  outcomes: { outcome: Outcome; change: ChangeDetail }[];
  outcomesOpen: number;
  concerns: Concern[];
  intent: IntentView;
}

/** Reads what the first page tells. */
export async function readInbox(signal: AbortSignal): Promise<Inbox> {
  const optional = <T>(path: string) => get<T>(path, {}, signal).catch(() => undefined);
  const [approvals, intent, found, drift, state, map] = await Promise.all([
    get<Approvals>("api/product/approvals", { limit: SHOWN }, signal),
    get<IntentView>("api/product/intent", {}, signal),
    get<{ outcomes: Outcome[] }>("api/product/outcomes", { limit: 100 }, signal),
    optional<Drift>("api/product/drift"),
    optional<State>("api/state"),
    optional<CapabilityMap>("api/capabilities"),
  ]);
  const open = found.outcomes.filter((outcome) => outcome.state === "open");
  const measured = open.slice(0, OUTCOMES_SHOWN);
  const live = [...approvals.pending, ...approvals.approved];
  // What can be applied stands there alone: its row says that a review is due, which has time.
  const isLive = (id: string) => live.some(({ change_id }) => change_id === id);
  const due = (approvals.review_due ?? []).filter(({ change_id }) => !isLive(change_id)).slice(0, SHOWN);
  const details = await detailsOf(
    [...live, ...due, ...measured].map(({ change_id }) => change_id),
    signal,
  );
  const waits = details.slice(0, live.length);
  const rest = details.slice(live.length);
  return {
    waiting: waits.filter(({ status }) => status === "pending_consent"),
    approved: waits.filter(({ status }) => status === "approved"),
    reviews: rest.slice(0, due.length),
    more: approvals.next !== null,
    outcomes: measured.map((outcome, index) => ({ outcome, change: rest[due.length + index]! })),
    outcomesOpen: open.length,
    concerns: [
      ...serviceConcerns(state, intent, map),
      ...hostConcerns(drift),
      ...open.filter(({ verdict }) => verdict === "regressed").map(regression),
    ],
    intent,
  };
}

/** Pending changes that this person can move on, and those that wait for others. */
export function splitByName(
  waiting: readonly ChangeDetail[],
  name: string,
  rules: Rules,
): { mine: ChangeDetail[]; others: ChangeDetail[] } {
  if (name === "") return { mine: [...waiting], others: [] };
  const mine = waiting.filter((change) => mayApprove(change, name, rules));
  return { mine, others: waiting.filter((change) => !mine.includes(change)) };
}

function serviceConcerns(state: State | undefined, intent: IntentView, map: CapabilityMap | undefined): Concern[] {
  const overdue = (item: string) => state?.dimensions.N.items.find((one) => one.item === item)?.overdue ?? 0;
  const concerns: Concern[] = [];
  if (overdue("audit_chain") > 0)
    concerns.push({
      tone: "bad",
      title: "The audit chain does not hold",
      detail: "No change is taken until it is mended.",
      page: "audit",
    });
  if (intent.adapter?.status === "failing")
    concerns.push({
      tone: "bad",
      title: `The ${intent.adapter.name} adapter fails`,
      detail: intent.adapter.last_error ?? "",
      page: "system",
    });
  if (overdue("pending_changes") > 0)
    concerns.push({
      tone: "warn",
      title: `${counted(overdue("pending_changes"), "change has", "changes have")} waited more than a day`,
      detail: "The oldest stands first below.",
    });
  if (overdue("stale_kpis") > 0)
    concerns.push({
      tone: "warn",
      title: `${counted(overdue("stale_kpis"), "KPI was", "KPIs were")} not fed for a week`,
      detail: "Outcomes cannot be judged without them.",
      page: "kpis",
    });
  return [...concerns, ...(map?.capabilities ?? []).flatMap(failing)];
}

const TOLD_ALREADY = ["product_adapter", "audit_chain"];

function failing({ id, status, reason }: Capability): Concern[] {
  if ((status !== "failing" && status !== "degraded") || TOLD_ALREADY.includes(id)) return [];
  return [{ tone: "warn", title: `${titled(id)} is ${status}`, detail: reason ?? "", page: "system" }];
}

function hostConcerns(drift: Drift | undefined): Concern[] {
  return [...(drift?.missing ?? []), ...(drift?.drifted ?? [])].map(({ change_id, target, tenant_id, state }) => ({
    tone: "bad",
    title: `The host product no longer shows ${target} of ${tenant_id}`,
    detail: state === "missing" ? "The value is gone." : "It holds something else.",
    change_id,
  }));
}

const regression = ({ change_id, kpi, realised_delta }: Outcome): Concern => ({
  tone: "warn",
  title: `${kpi === null ? "A KPI" : titled(kpi)} is worse since a change was applied`,
  detail: `By ${figure(Math.abs(realised_delta ?? 0))} so far. It is a correlation; look before you roll back.`,
  change_id,
});
