/** A change as queries look at it: everything but its value, with the times at which something happened to it. */
import type { Change } from "../../governance/rules/change.ts";
import { isOneOf, sameName } from "../../governance/rules/names.ts";

const FIELDS = [
  "change_id",
  "tenant_id",
  "kind",
  "target",
  "summary",
  "rationale",
  "tier",
  "risk",
  "kpi",
  "expected_delta_k",
  "affected_users",
  "reversible",
  "proposer",
  "proposer_kind",
  "asked_by",
  "status",
  "resolution",
  "created_at",
  "approver",
  "approvals",
  "decided_at",
  "applied_at",
  "rolled_back_at",
] as const satisfies readonly (keyof Change)[];

/** What is kept of a change while it is looked at. */
export type Row = Pick<Change, (typeof FIELDS)[number]>;

/** Of a long rationale so many characters are searched. */
const SEARCHED = 1000;

/** What happens to a change, by which a period is meant; `consented`: somebody approved, whether or not that was enough. */
export const EVENTS = [
  "proposed",
  "consented",
  "decided",
  "approved",
  "denied",
  "applied",
  "rolled_back",
  "closed",
] as const;
export type Event = (typeof EVENTS)[number];

/** How somebody had to do with a change; `either`: in any of these ways. */
export const ROLES = ["proposer", "asker", "approver", "denier", "decider", "either"] as const;
export type Role = (typeof ROLES)[number];

/** The part of a change that queries look at. */
export function rowOf(change: Change): Row {
  const row = Object.fromEntries(FIELDS.flatMap((name) => (name in change ? [[name, change[name]]] : []))) as Row;
  // Whoever edited a record may have left anything in it.
  const approvals = change.approvals.filter((one) => typeof one?.approver === "string" && isTime(one.at));
  return { ...row, approvals, rationale: String(change.rationale ?? "").slice(0, SEARCHED) };
}

const isTime = (value: unknown): value is string => typeof value === "string" && !Number.isNaN(Date.parse(value));

/** Who gave consent, each once. */
export const approversOf = ({ approvals }: Row): string[] => [
  ...new Map(approvals.map(({ approver }) => [sameName(approver), approver])).values(),
];

/** Who had to do with a change in a role. Names of the service itself are nobody's. */
export function peopleOf(row: Row, role: Role): string[] {
  const { resolution } = row;
  const names: Record<Exclude<Role, "either">, (string | null | undefined)[]> = {
    proposer: [row.proposer],
    asker: [row.asked_by],
    approver: approversOf(row),
    denier: [resolution === "denied" ? row.approver : null],
    decider: [...approversOf(row), resolution === "denied" || resolution === "revoked" ? row.approver : null],
  };
  const all = role === "either" ? Object.values(names).flat() : names[role];
  return all.filter((name): name is string => typeof name === "string" && name !== "" && !name.startsWith("policy:"));
}

/** When something happened to a change, in RFC 3339; several times where it did more than once. */
export function timesOf(row: Row, event: Event, by?: string | readonly string[]): string[] {
  const { status, resolution, approvals, created_at, decided_at, applied_at, rolled_back_at } = row;
  const last = approvals.at(-1)?.at ?? null;
  const isDenied = status === "denied";
  const isBy = (name: string): boolean => by === undefined || isOneOf(name, by);
  const consents = approvals.filter(({ approver }) => isBy(approver)).map(({ at }) => at);
  const times: Record<Event, readonly (string | null)[]> = {
    proposed: [created_at],
    consented: consents,
    decided: by === undefined ? [decided_at] : [...consents, isDenied && isBy(row.approver ?? "") ? decided_at : null],
    // What was approved and then revoked or lapsed was approved by its last consent.
    approved: [isDenied ? (resolution === "revoked" || resolution === "lapsed" ? last : null) : approvedAt(row)],
    denied: [isDenied ? decided_at : null],
    applied: [applied_at],
    rolled_back: [rolled_back_at],
    closed: [isDenied ? decided_at : rolled_back_at],
  };
  return times[event].filter(isTime);
}

const approvedAt = ({ status, decided_at }: Row): string | null =>
  status === "approved" || status === "applied" || status === "rolled_back" ? decided_at : null;
