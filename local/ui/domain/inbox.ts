/** Items that wait for the reader, and concerns about the service. */
import type { Capability, InboxAnswer, InboxItem, State } from "../core/api_types.ts";
import { getForPerson } from "../core/api.ts";
import { formatCount, formatDateTime } from "../core/format.ts";
import { formatTitle } from "./statuses.ts";

/** Maximum number of rows of a list; a link leads to the remaining items. */
const MAX_ROWS = 40;

/** A change, mandate, KPI or part of the service that needs attention. */
export interface Concern {
  tone: "bad" | "warn";
  title: string;
  detail: string;
  /** The subject: a change, a mandate or a KPI, or else the page that shows it. */
  change_id?: string;
  mandate_id?: string;
  kpi?: string;
  page?: string;
}

/** Waiting items, as the first page shows them. */
export interface Inbox {
  totals: InboxAnswer["totals"];
  /** Pending changes that this person can decide; all pending changes if no name is set. */
  decidable: InboxItem[];
  approved: InboxItem[];
  /** Changes, not listed above, whose emergency consent waits for review. */
  reviews: InboxItem[];
  /** Some decidable or approved changes are not listed. */
  hasMore: boolean;
  concerns: Concern[];
}

/** Reads the inbox of a person; an empty name is no person. */
export async function readInbox(name: string, signal: AbortSignal): Promise<Inbox> {
  const answer = await readWaiting(name, signal);
  const { person, totals, pending, approved, review_due, drifted } = answer;
  const decidable = person === null ? pending.items : answer.waiting_for_you.items;
  return {
    totals,
    decidable,
    approved: approved.items,
    // Pending and approved changes stay in their own lists, whose rows show the review.
    reviews: review_due.items.filter(({ status }) => status !== "approved" && status !== "pending_consent"),
    hasMore: (totals.waiting_for_you ?? totals.pending) > decidable.length || approved.total > approved.items.length,
    concerns: [
      ...drifted.items.map(driftConcern),
      ...answer.mandates.flatMap(mandateConcerns),
      ...answer.worse_kpis.map(kpiConcern),
    ],
  };
}

/** Lists concerns about a mandate that is suspended, ends soon, or waits for the reader's signature. */
function mandateConcerns(mandate: InboxAnswer["mandates"][number]): Concern[] {
  const { mandate_id, agent, state, until, reason, waits_for_you } = mandate;
  const concern = (title: string, detail: string): Concern[] => [{ tone: "warn", title, detail, mandate_id }];
  if (state === "suspended") return concern(`The mandate of ${agent} is suspended`, describeSuspension(reason));
  if (state === "active") return concern(`The mandate of ${agent} ends soon`, `It ends on ${formatDateTime(until)}.`);
  return waits_for_you ? concern(`A mandate for ${agent} waits for your signature`, "Read what it allows first.") : [];
}

const SUSPENSION_REASONS: Readonly<Record<string, string>> = {
  rollback: "A change that it approved was rolled back, or could not be.",
  contested: "Another program keeps changing a value that it approved.",
  target_drifted: "A change that it approved cannot be rolled back: its value was changed outside Countersign.",
  kpi_floor: "A KPI is worse than its floor.",
  loss_accepted: "Entries of the log were lost.",
};

export const describeSuspension = (reason: string | null | undefined): string => SUSPENSION_REASONS[reason ?? ""] ?? "";

/** Describes a KPI that got worse since changes were applied, without naming a change as the cause. */
const kpiConcern = (kpi: string): Concern => ({
  tone: "warn",
  title: `${formatTitle(kpi)} has got worse`,
  detail: "See what was applied before it did.",
  kpi,
});

export const readWaiting = (person: string, signal: AbortSignal, limit = MAX_ROWS): Promise<InboxAnswer> =>
  getForPerson(person, "api/inbox", { limit }, signal);

/** Concerns about overdue items, by their name in the state. */
const OVERDUE: Readonly<Record<string, (count: number) => Omit<Concern, "tone">>> = {
  audit_chain: () => ({
    title: "The audit chain does not hold",
    detail: "No change is accepted until it is restored.",
    page: "audit",
  }),
  stale_kpis: (count) => ({
    title: `${formatCount(count, "KPI has", "KPIs have")} had no data for a week`,
    detail: "Outcomes cannot be judged without them.",
    page: "kpis",
  }),
};

/** Lists faults of the service itself; none until its state is known. */
export function listServiceConcerns(state: State | undefined): Concern[] {
  const overdue = Object.entries(OVERDUE).flatMap(([name, describe]): Concern[] => {
    const count = state?.dimensions.N.items.find(({ item }) => item === name)?.overdue ?? 0;
    return count > 0 ? [{ tone: name === "audit_chain" ? "bad" : "warn", ...describe(count) }] : [];
  });
  // A broken chain is an overdue item already.
  return [...overdue, ...(state?.failing ?? []).filter(({ id }) => id !== "audit_chain").map(capabilityConcern)];
}

const capabilityConcern = ({ id, status, reason }: Capability): Concern => ({
  tone: id === "product_adapter" && status === "failing" ? "bad" : "warn",
  title: `${formatTitle(id)} is ${status}`,
  detail: reason ?? "",
  page: "settings",
});

const driftConcern = ({ change_id, target, tenant_id, drift, title }: InboxItem): Concern => ({
  tone: "bad",
  title: `${target} (${tenant_id}) was changed outside Countersign`,
  detail: `${drift === "missing" ? "It holds nothing now" : "It holds another value now"}, not what “${title}” set.`,
  change_id,
});
