/** Sentences about a change; texts of users are separate parts, so that they can be shown isolated. */
import { nameActor, nameProposer } from "../../../lib/wording/names.ts";
import { capitalize, type Part } from "../../../lib/wording/part.ts";
import type { Change, ChangeDetail } from "../core/api_types.ts";
import { formatPeople, formatDuration } from "../core/format.ts";

/** Name of the tier's rule in the list of missing approvals. */
const QUORUM = "required_approvers";

/** Fields that describe a request; a list may leave out the value. */
type Request = Pick<
  Change,
  "proposer" | "asked_by" | "kind" | "target" | "tenant_id" | "status" | "affected_users" | "reversible"
> &
  Partial<Pick<Change, "value" | "sets" | "erased" | "unstated">> & {
    /** How many targets a plan sets, where a list leaves out the targets. */
    targets?: number | undefined;
  };

/** Describes the requested action, after "to". */
function describeAction(change: Pick<Request, "kind" | "target" | "value" | "sets" | "targets">): Part[] {
  const targets = change.sets?.length ?? change.targets;
  if (targets !== undefined) return [`set the ${targets} targets of `, { text: change.target, code: true }];
  const target: Part = { text: change.target, code: true };
  const enabled = readSwitch(change.value);
  if (change.kind === "feature_flag" && enabled !== undefined) return ["switch ", target, enabled ? " on" : " off"];
  if (change.kind === "code_patch") return ["patch ", target];
  if (change.kind === "experiment") return ["run an experiment on ", target];
  return [change.value === undefined ? "change " : "set ", target];
}

function readSwitch(value: unknown): boolean | undefined {
  if (typeof value === "boolean") return value;
  const enabled = (value as { enabled?: unknown } | null | undefined)?.enabled;
  return typeof enabled === "boolean" ? enabled : undefined;
}

/** "Ana asks to set crm.followup for tenant t1."; of an agent: "Bot, asked by Ana, asks to …" */
export const describeAsk = (change: Request): Part[] => [...describeProposer(change), "."];

/** "Ana asks to set crm.followup for tenant t1; 40 people are affected; it can be undone." */
export const describeRequest = (change: Request): Part[] => [
  ...describeProposer(change),
  "; ",
  ...describeReach(change),
];

function describeProposer(change: Request): Part[] {
  const asks = change.status === "pending_consent" || change.status === "proposed" ? " asks to " : " asked to ";
  return [
    ...capitalize(nameProposer(change)),
    change.asked_by ? `,${asks}` : asks,
    ...describeAction(change),
    " for tenant ",
    { text: change.tenant_id },
  ];
}

/** Returns true if no user stated this field, so that its value is a default. */
export const isUnstated = ({ unstated }: Pick<Change, "unstated">, field: "risk" | "reversible"): boolean =>
  unstated?.includes(field) ?? false;

/** "40 people are affected; it can be undone." */
function describeReach(
  change: Pick<Change, "affected_users" | "reversible"> & Partial<Pick<Change, "erased" | "unstated">>,
): Part[] {
  const { affected_users, reversible, erased, unstated = [] } = change;
  const affected =
    affected_users === null
      ? `how many people are affected was ${erased ? "erased" : "not stated"}`
      : `${formatPeople(affected_users)} ${affected_users === 1 ? "is" : "are"} affected`;
  if (unstated.includes("reversible")) return [affected, "; whether it can be undone was not stated."];
  return [affected, reversible ? "; it can be undone." : "; it cannot be undone."];
}

/** Describes the status of a change, and who caused it. */
export function describeStatus(change: ChangeDetail, now: number): Part[] {
  const ago = (at: string | null): string => (at === null ? "" : ` ${formatAge(at, now)}`);
  switch (change.status) {
    case "proposed":
    case "pending_consent":
      return [`It has waited ${formatDuration(now - Date.parse(change.created_at))}`, ...describeMissing(change), "."];
    case "approved":
      return ["Approved by ", ...nameApprovers(change), `${ago(change.decided_at)}; nothing has been applied yet.`];
    case "applied":
      return [`Applied${ago(change.applied_at)}; approved by `, ...nameApprovers(change), "."];
    case "rolled_back":
      return [`Rolled back${ago(change.rolled_back_at)}, after it was applied${ago(change.applied_at)}.`];
    case "denied":
      if (change.resolution === "lapsed") return [`Nobody applied it in time; it lapsed${ago(change.decided_at)}.`];
      if (change.resolution === "revoked")
        return [
          ...capitalize(nameActor(change.approver)),
          ` took their consent back${ago(change.decided_at)}; it is closed.`,
        ];
      if (change.resolution === "expired") return [`It was not approved in time; it expired${ago(change.decided_at)}.`];
      return [
        change.resolution === "withdrawn" ? "Withdrawn by " : "Denied by ",
        ...nameActor(change.approver),
        `${ago(change.decided_at)}.`,
      ];
  }
}

/** Describes the missing consents: of the tier's quorum, and of the target's owners. One consent may count for both. */
function describeMissing(change: ChangeDetail): Part[] {
  const { received, needed, more } = countApprovals(change);
  const quorum =
    more > 0 ? ` and needs ${formatMissingConsents(more)}${received > 0 ? ` (${received} of ${needed})` : ""}` : "";
  return [quorum, ...listMissingOwners(change).flatMap((owners): Part[] => ["; ", ...owners])];
}

/** Counts the quorum under the intent in force, by which some recorded approvals may no longer count. */
export function countApprovals({ required_approvers, missing }: Pick<ChangeDetail, "required_approvers" | "missing">): {
  received: number;
  needed: number;
  more: number;
} {
  const more = missing.find(({ rule }) => rule === QUORUM)?.count ?? 0;
  const needed = Math.max(required_approvers, more);
  return { received: needed - more, needed, more };
}

/** Lists the owners that must still consent, a sentence for each rule; rules are named `owners <target patterns>`. */
const listMissingOwners = ({ missing }: ChangeDetail): Part[][] =>
  missing
    .filter(({ rule }) => rule !== QUORUM)
    .map(({ rule, count, of }) => [
      "of the owners of ",
      { text: rule.replace(/^owners /, ""), code: true },
      `, ${count} more must consent: `,
      of.length === 0 ? "no person is left who may" : { text: of.join(", ") },
    ]);

const formatAge = (at: string, now: number): string => {
  const ms = now - Date.parse(at);
  return ms < 60_000 ? "just now" : `${formatDuration(ms)} ago`;
};

const formatMissingConsents = (count: number): string => (count === 1 ? "1 more consent" : `${count} more consents`);

function nameApprovers(change: Change): Part[] {
  if (change.approvals.length === 0) return nameActor(change.approver);
  return change.approvals.flatMap(({ approver }, index) => {
    const joint = index === 0 ? "" : index === change.approvals.length - 1 ? " and " : ", ";
    return [joint, ...nameActor(approver)];
  });
}

/** The fields that name a change in a few words; a list may leave out the value. */
export type ShortChange = Pick<Request, "kind" | "target" | "tenant_id" | "value" | "sets" | "targets">;

/** A few words for titles and lists: "set crm.followup for t1". */
export const describeBriefly = (change: ShortChange): Part[] => [
  ...describeAction(change),
  " for ",
  { text: change.tenant_id },
];

export const toPlainText = (parts: readonly Part[]): string =>
  parts.map((part) => (typeof part === "string" ? part : part.text)).join("");

/** Returns a sentence as plain text in which texts of users are isolated, so that their direction ends with them. */
export const toIsolatedText = (parts: readonly Part[]): string =>
  parts.map((part) => (typeof part === "string" ? part : `\u2068${part.text}\u2069`)).join("");
