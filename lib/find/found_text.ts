/** Formats the answer to a query as text: the query, the number of matches, and the first rows. */
import type { FindAnswer, FindRow } from "./answer.ts";
import { minuteText } from "../kit/days.ts";
import { label, quote, shorten } from "../kit/quote.ts";
import type { Citation } from "../memory/history.ts";
import { describeDrift } from "../wording/describe.ts";
import { nameActor, nameChange } from "../wording/names.ts";
import { joinParts, showForeignText } from "../wording/part.ts";

/** Maximum number of rows in a reply. */
export const MAX_SHOWN_ROWS = 10;
const MAX_TITLE_LENGTH = 120;

/** A reply that the service makes without a model. */
export interface Answer {
  text: string;
  citations: Citation[];
  /** True if memories add nothing to the answer. */
  isComplete?: boolean;
}

/** Joins lines with line breaks; empty lines are left out. */
export const joinLines = (...parts: readonly (string | readonly string[])[]): string =>
  parts
    .flat()
    .filter((line) => line !== "")
    .join("\n");

/** Creates citations of records of one kind. */
export const cite = (kind: string, ids: readonly (string | number)[]): Citation[] =>
  ids.map((id) => ({ kind, id: String(id) }));

/** Describes an answer: the query, the number of matches, and the first rows or the groups. */
export function describeFound({ query, rows, total, groups, timed, median, max }: FindAnswer): Answer {
  const hasGroups = groups.length > 0;
  const shown = hasGroups ? [] : rows.slice(0, MAX_SHOWN_ROWS);
  const omitted = total - shown.length;
  return {
    text: joinLines(
      describeQuery(query, total),
      groups.map(({ key, count }) => `- ${label(key)}: ${count}`),
      median != null && max != null
        ? `Median ${durationText(median)}, longest ${durationText(max)}, over ${timed} of ${total}.`
        : "",
      shown.map(describeRow),
      !hasGroups && omitted > 0 ? `… and ${omitted} more: run the query in Find.` : "",
    ),
    citations: cite(
      "change",
      shown.map(({ change_id }) => change_id),
    ),
    isComplete: true,
  };
}

/** Describes a query and the number of its matches. */
export function describeQuery(query: string, total: number): string {
  const count = total === 1 ? "1 change" : `${total} changes`;
  return `Query: ${query === "" ? "(every change)" : query} – ${total === 0 ? "no change matches" : count}.`;
}

/** Describes a change in one line. */
export function describeRow(row: FindRow): string {
  const { change_id, proposer, created_at, expires_at, drift, seconds } = row;
  const facts = [
    describeState(row),
    row.unstated?.includes("risk") ? "risk not stated" : `${row.risk} risk`,
    row.affected_users === null ? "" : `${row.affected_users} users`,
    proposer === null ? "" : `proposed by ${joinParts(nameActor(proposer))} on ${dayText(created_at)}`,
    row.approvers.length === 0
      ? ""
      : `approved by ${row.approvers.map((name) => joinParts(nameActor(name))).join(", ")}`,
    row.verdict === null ? "" : `verdict ${row.verdict.replace("_", " ")}`,
    drift === null ? "" : describeDrift(drift),
    expires_at === null ? "" : `until ${minuteText(expires_at)}`,
    seconds == null ? "" : `took ${durationText(seconds)}`,
  ];
  const name = joinParts(nameChange(row), (part) => showForeignText(part, MAX_TITLE_LENGTH));
  return `- ${name}: ${facts.filter(Boolean).join(", ")}. ${change_id}`;
}

/** Describes the status of a change, and its date. */
export function describeState(
  row: Pick<FindRow, "status" | "resolution" | "decided_at" | "applied_at" | "rolled_back_at">,
): string {
  const { status, resolution, decided_at, applied_at, rolled_back_at } = row;
  const since = (at: string | null): string => (at === null ? "" : ` on ${dayText(at)}`);
  switch (status) {
    case "pending_consent":
    case "proposed":
      return "waiting for consent";
    case "approved":
      return `approved${since(decided_at)}, not applied`;
    case "applied":
      return `applied${since(applied_at)}`;
    case "rolled_back":
      return `rolled back${since(rolled_back_at)}`;
    case "denied":
      return `${resolution ?? "denied"}${since(decided_at)}`;
  }
}

const dayText = (at: string): string => at.slice(0, 10);

/** Formats a duration in days and hours, or in hours and minutes. */
export function durationText(seconds: number): string {
  const [days, hours] = [Math.floor(seconds / 86_400), Math.floor(seconds / 3600) % 24];
  if (days > 0) return `${days} d ${hours} h`;
  const minutes = Math.floor(seconds / 60) % 60;
  return hours > 0 ? `${hours} h ${minutes} min` : `${minutes} min`;
}

/** Shortens a text of a person and puts it in quotation marks. */
export const quoteShortened = (text: string): string => quote(shorten(text, 300));
