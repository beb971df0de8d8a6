/** A change as queries see it: everything but its values, with the text that free words are looked for in. */
import type { ChangesDeps } from "../changes/deps.ts";
import { previewExpiry } from "../changes/expiry.ts";
import type { Change } from "../changes/rules/change.ts";
import { normalizeName } from "../changes/rules/names.ts";
import { textTerms } from "../memory/tokens.ts";

/** A change in the index. Rows are immutable: a later state of the change is another row. */
export interface Row {
  change: Omit<Change, "value" | "rationale">;
  reasoned: boolean;
  /** The search terms of its texts, each between spaces. */
  terms: string;
  /** How many terms that are. */
  length: number;
}

/** A row that was found. */
export interface FoundRow {
  row: Row;
  /** How well it fits the free words; 0 without any. */
  score: number;
  /** With `time`: milliseconds between its events; null where one of them did not happen. */
  duration: number | null;
}

/** Makes the row of a change. */
export function makeRow({ value: _, rationale, sets, ...stored }: Change): Row {
  // A record that was edited by hand may hold anything.
  const approvals = stored.approvals.filter((one) => typeof one?.approver === "string" && isTime(one.at));
  const named = sets?.map(({ tenant_id, target }) => ({ tenant_id, target }));
  const change = { ...stored, approvals, ...(named && { sets: named }) };
  const terms = textTerms(listTexts(change, rationale).join("\n"));
  return {
    change,
    reasoned: typeof rationale === "string" && rationale !== "",
    terms: ` ${terms.join(" ")} `,
    length: terms.length,
  };
}

/** Returns rows as time has left their changes; the texts of an expiry are found as if it were recorded. */
export async function showRowsAtTime(deps: ChangesDeps, rows: readonly Row[]): Promise<readonly Row[]> {
  const shown = await previewExpiry(deps, rows);
  return shown.map((row, index) => {
    if (row === rows[index]) return row;
    const { approver, approval_note } = row.change;
    const terms = textTerms([approver, approval_note].join("\n"));
    return { ...row, terms: `${row.terms}${terms.join(" ")} `, length: row.length + terms.length };
  });
}

function listTexts(change: Row["change"], rationale: unknown): string[] {
  const { tenant_id, target, summary, kpi, proposer, asked_by, approver, approval_note, approvals, review } = change;
  const late = change.late_notes?.flatMap(({ note, actor }) => [note, actor]) ?? [];
  const approvalTexts = approvals.flatMap(({ approver: name, note }) => [name, note]);
  const reviewed = review ? [review.approver, review.note] : [];
  const entries = change.sets?.flatMap((entry) => [entry.target, entry.tenant_id]) ?? [];
  const all = [
    summary,
    rationale,
    target,
    tenant_id,
    ...entries,
    kpi,
    proposer,
    asked_by,
    ...approvalTexts,
    ...reviewed,
    ...late,
  ];
  // The last decision may be one of the approvals.
  if (!approvals.some((one) => one.approver === approver && one.note === approval_note))
    all.push(approver, approval_note);
  return all.filter((text): text is string => typeof text === "string" && text !== "");
}

const isTime = (value: unknown): value is string => typeof value === "string" && !Number.isNaN(Date.parse(value));

/** The people who consented, each once; a policy or a mandate is nobody. */
export const listApprovers = ({ change }: Row): string[] => [
  ...new Map(
    change.approvals
      .filter(({ approver }) => !isRule(approver))
      .map(({ approver }) => [normalizeName(approver), approver]),
  ).values(),
];

/** The person who denied it; a change that expired or was withdrawn was denied by nobody. */
export const findDenier = ({ change: { resolution, approver } }: Row): string | null =>
  resolution === "denied" && approver !== null && !isRule(approver) ? approver : null;

/** Returns whether a name stands for the intent or a mandate and for no person. */
export const isRule = (name: string | null): boolean => name !== null && /^(?:policy|mandate):/.test(name);

/** Events in the life of a change that have a time. */
export type Event = "proposed" | "decided" | "applied" | "rolledback";

/**
 * The moments of an event, RFC 3339, oldest first. A change that was approved and then revoked or lapsed was decided twice.
 */
export function listTimes({ change }: Row, event: Event): string[] {
  const { resolution, approvals, created_at, decided_at, applied_at, rolled_back_at } = change;
  const undone = resolution === "revoked" || resolution === "lapsed" ? (approvals.at(-1)?.at ?? null) : null;
  const times: Record<Event, (string | null)[]> = {
    proposed: [created_at],
    decided: [undone, decided_at],
    applied: [applied_at],
    rolledback: [rolled_back_at],
  };
  return times[event].filter((time) => isTime(time)) as string[];
}
