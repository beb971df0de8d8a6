/** English for queries: which changes were asked for, what was found, and how far was looked. */
import type { FoundChange } from "../../pulse/query/change_query.ts";
import type { ChangeFilter } from "../../pulse/query/filter.ts";
import type { Event, Role } from "../../pulse/query/row.ts";
import type { Dimension } from "../../pulse/query/groups.ts";
import type { Change, Resolution, Status } from "../../governance/rules/change.ts";
import type { Verdict } from "../../governance/rules/outcome.ts";
import { label, quote } from "../../kit/quote.ts";
import { dayIn, lastDayIn } from "./days.ts";

const STATUS: Record<Status, string> = {
  proposed: "proposed",
  pending_consent: "waiting for consent",
  approved: "approved, not applied yet",
  applied: "applied",
  rolled_back: "rolled back",
  denied: "denied",
};
const ENDED: Record<Resolution, string> = {
  denied: "denied",
  withdrawn: "withdrawn",
  expired: "expired without a decision",
  revoked: "closed by a revoked consent",
  lapsed: "lapsed after its approval",
};
const EVENT: Record<Event, string> = {
  proposed: "proposed",
  consented: "consented to",
  decided: "decided",
  approved: "approved",
  denied: "ended without an apply",
  applied: "applied",
  rolled_back: "rolled back",
  closed: "closed",
};
const ROLE: Record<Role, string> = {
  proposer: "proposed by",
  asker: "asked of a model by",
  approver: "approved by",
  denier: "refused by",
  decider: "decided by",
  either: "that have to do with",
};
const BY: Partial<Record<Dimension, string>> = { tenant_id: "tenant", proposer_kind: "kind of proposer" };

const all = <T>(asked: T | readonly T[]): readonly T[] => (Array.isArray(asked) ? asked : [asked as T]);
const or = (names: readonly string[]): string => names.map(label).join(" or ");

/** `on 2026-11-03`, `from 2026-11-09 to 2026-11-15`, `since 2026-11-16` */
export function daysOf({ from, to }: { from?: string | undefined; to?: string | undefined }): string {
  if (from === undefined) return to === undefined ? "" : ` before ${dayIn(to)}`;
  if (to === undefined) return ` since ${dayIn(from)}`;
  const last = lastDayIn(to);
  return dayIn(from) === last ? ` on ${last}` : ` from ${dayIn(from)} to ${last}`;
}

const countsOf = ({ from, to }: NonNullable<ChangeFilter["affected_users"]>): string =>
  [from === undefined ? "" : `at least ${from}`, to === undefined ? "" : `at most ${to}`].filter(Boolean).join(" and ");

export const standing = ({ status, resolution }: Pick<Change, "status" | "resolution">): string =>
  status === "denied" && resolution !== null ? ENDED[resolution] : STATUS[status];

const VERDICT: Record<Verdict, string> = {
  met: "kept its promise",
  missed: "missed its promise",
  regressed: "got worse",
  inconclusive: "no verdict",
  too_early: "too early to tell",
};
export const verdict = (of: Verdict): string => VERDICT[of];

export const queries = {
  /** The query in words. */
  query(filter: ChangeFilter): string {
    const { person, period, resolution, status, text } = filter;
    const parts = [
      filter.change_id === undefined ? "" : ` ${all(filter.change_id).join(", ")}`,
      filter.tenant_id === undefined ? "" : ` of tenant ${or(all(filter.tenant_id))}`,
      filter.target === undefined ? "" : ` on ${or(all(filter.target))}`,
      filter.kind === undefined ? "" : ` of kind ${or(all(filter.kind))}`,
      filter.tier === undefined ? "" : ` of tier ${or(all(filter.tier))}`,
      filter.risk === undefined ? "" : ` of ${or(all(filter.risk))} risk`,
      filter.kpi === undefined ? "" : ` about ${or(all(filter.kpi))}`,
      filter.proposer_kind === undefined
        ? ""
        : ` proposed by ${all(filter.proposer_kind)
            .map((kind) => `${kind === "agent" ? "an" : "a"} ${kind}`)
            .join(" or ")}`,
      person === undefined ? "" : ` ${ROLE[person.as]} ${or(all(person.name))}`,
      text === undefined ? "" : ` that speak of ${quote(text)}`,
      filter.verdict === undefined ? "" : ` with the verdict ${all(filter.verdict).map(verdict).join(" or ")}`,
      filter.drifted ? " that drift" : "",
      filter.reversible === undefined ? "" : ` that ${filter.reversible ? "can" : "cannot"} be undone`,
      filter.reasoned === undefined ? "" : ` ${filter.reasoned ? "with" : "without"} a rationale`,
      filter.affected_users === undefined ? "" : ` that affect ${countsOf(filter.affected_users)} people`,
      filter.emergency ? " approved in an emergency" : "",
      status === undefined
        ? ""
        : ` that are ${all(status)
            .map((one) => STATUS[one])
            .join(" or ")}`,
      resolution === undefined
        ? ""
        : ` that were ${all(resolution)
            .map((one) => ENDED[one])
            .join(" or ")}`,
      period === undefined || isPlain(filter) ? "" : `${isSaid(filter) ? "" : ` ${EVENT[period.of]}`}${daysOf(period)}`,
    ];
    return `Changes${parts.join("")}`;
  },
  by: (name: string | readonly string[]): string => ` by ${or(all(name))}`,
  /** The first or last of what was found. */
  oneOf: (order: "newest" | "oldest", query: string, total: number): string =>
    total === 0 ? queries.title(query, 0) : `The ${order} of ${total}. ${query}:`,
  /** The same behind another beginning. */
  about: (filter: ChangeFilter): string => queries.query(filter).slice("Changes".length),
  title: (query: string, total: number): string => `${query}: ${total === 0 ? "none" : total}.`,
  looked: (looked: number): string =>
    `Only the newest ${looked.toLocaleString("en")} changes were looked at; older ones are not in this answer.`,
  more: (count: number, how: string): string => `and ${count} more: ${how}`,
  notUnderstood: (words: readonly string[]): string =>
    `Not understood, and left out of this answer: ${words.map((word) => quote(word, 60)).join(", ")}.`,
  notAnswered: (questions: readonly string[]): string =>
    `Not answered here; ask it by itself: ${questions.map((one) => quote(one, 120)).join(", ")}.`,
  leftOut: (words: readonly string[]): string =>
    `Understood, and left out of this answer: ${words.map((word) => quote(word, 60)).join(", ")}.`,
  noChange: (ids: readonly string[]): string => `No change on record has the id ${ids.join(", ")}.`,
  /** A change in a line: what it is, and what became of it. */
  row({ change, outcome, drift }: FoundChange): string {
    const { change_id, target, tenant_id, summary, proposer, asked_by, approvals, resolution } = change;
    const on = (time: string | null): string => (time === null ? "" : ` on ${dayIn(time)}`);
    const approvers = [...new Set(approvals.map(({ approver }) => label(approver)))];
    const life = [
      `proposed${proposer === null ? "" : ` by ${label(proposer)}`}${asked_by ? ` for ${label(asked_by)}` : ""}${on(change.created_at)}`,
      approvers.length > 0 ? `approved by ${approvers.join(" and ")}` : "",
      change.applied_at === null ? "" : `applied${on(change.applied_at)}`,
      change.rolled_back_at === null ? "" : `rolled back${on(change.rolled_back_at)}`,
      change.status !== "denied" ? "" : `${ENDED[resolution ?? "denied"]}${on(change.decided_at)}${noted(change)}`,
      outcome?.kpi ? `${outcome.kpi}: ${verdict(outcome.verdict)}` : "",
      drift ? `${drift.state === "missing" ? "missing on the host" : "drifted"} since ${dayIn(drift.since)}` : "",
    ];
    return `- ${change_id} ${label(target)} (${label(tenant_id)}), ${change.tier}, ${change.risk} risk, ${quote(summary, 120)}: ${standing(change)}; ${life.filter(Boolean).join(", ")}`;
  },
  counts: (by: Dimension, groups: readonly { key: string; count: number }[]): string =>
    `By ${BY[by] ?? by}: ${groups.map(({ key, count }) => `${by === "status" ? (STATUS[key as Status] ?? key) : label(key)} ${count}`).join(", ")}.`,
  /** Who did something most. */
  most(deed: string, groups: readonly { key: string; count: number }[], days: string): string {
    const [first] = groups;
    if (!first) return `Nobody ${deed} anything${days}.`;
    const leaders = groups.filter(({ count }) => count === first.count).map(({ key }) => label(key));
    return `Who ${deed} most${days}: ${leaders.join(" and ")} (${first.count}${leaders.length > 1 ? " each" : ""}). All: ${groups.map(({ key, count }) => `${label(key)} ${count}`).join(", ")}.`;
  },
  deeds: {
    proposed: "proposed",
    approved: "approved",
    denied: "denied",
    decided: "decided",
    applied: "applied",
    rolled_back: "rolled back",
    withdrawn: "withdrew",
    revoked: "revoked",
    expired: "let expire",
    lapsed: "let lapse",
    closed: "closed",
  } satisfies Record<string, string>,
};

const SAID_BY: Partial<Record<Role, readonly Event[]>> = {
  proposer: ["proposed"],
  asker: ["proposed"],
  approver: ["consented", "approved"],
  denier: ["denied"],
  decider: ["decided", "consented"],
};

/** Whether the words for a person, or for how it ended, say the event already. */
export const isSaid = ({ period, resolution, person, proposer_kind }: ChangeFilter): boolean =>
  resolution !== undefined ||
  (period !== undefined && person !== undefined && (SAID_BY[person.as] ?? []).includes(period.of)) ||
  (period?.of === "proposed" && proposer_kind !== undefined);

/** The period of an event that is said already, and in no particular days, says nothing. */
export const isPlain = (filter: ChangeFilter): boolean =>
  filter.period?.from === undefined && filter.period?.to === undefined && isSaid(filter);

/** By whom it was ended, and why. */
function noted({ approver, approval_note, resolution }: Change): string {
  const by = approver === null || resolution === "expired" || resolution === "lapsed" ? "" : ` by ${label(approver)}`;
  return `${by}${approval_note ? `: ${quote(approval_note, 200)}` : ""}`;
}
