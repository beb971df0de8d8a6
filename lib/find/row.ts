/** Rows of the index: changes without their values, and the search terms of their texts. */
import type { ChangesDeps } from "../changes/deps.ts";
import { previewExpiry } from "../changes/expire_changes.ts";
import type { Change } from "../changes/rules/change.ts";
import { normalizeName } from "../changes/rules/names.ts";
import { textTerms } from "../memory/tokens.ts";

/** A change in the index. Rows are immutable: a later state of the change is another row. */
export interface Row {
  change: Omit<Change, "value" | "rationale">;
  /** True if the change has a rationale. */
  reasoned: boolean;
  /** The search terms of all texts, each between spaces. */
  terms: string;
  /** Number of terms. */
  length: number;
}

/** A row that was found. */
export interface FoundRow {
  row: Row;
  /** Relevance for the free words; 0 without free words. */
  score: number;
  /** With `time:`, the milliseconds between the two events; null if one of them did not happen. */
  duration: number | null;
}

/** Makes the row of a change. */
export function makeRow({ value: _, rationale, sets, ...stored }: Change): Row {
  // A record that was edited by hand may have malformed approvals.
  const approvals = stored.approvals.filter(
    (approval) => typeof approval?.approver === "string" && isTime(approval.at),
  );
  const setTargets = sets?.map(({ tenant_id, target }) => ({ tenant_id, target }));
  const change = { ...stored, approvals, ...(setTargets && { sets: setTargets }) };
  const terms = textTerms(listTexts(change, rationale).join("\n"));
  return {
    change,
    reasoned: typeof rationale === "string" && rationale !== "",
    terms: ` ${terms.join(" ")} `,
    length: terms.length,
  };
}

/** Returns rows with expiries applied. The texts of an expiry can be found as if it were recorded already. */
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
  const lateNoteTexts = change.late_notes?.flatMap(({ note, actor }) => [note, actor]) ?? [];
  const approvalTexts = approvals.flatMap(({ approver: name, note }) => [name, note]);
  const reviewTexts = review ? [review.approver, review.note] : [];
  const entryTexts = change.sets?.flatMap((entry) => [entry.target, entry.tenant_id]) ?? [];
  const texts = [
    summary,
    rationale,
    target,
    tenant_id,
    ...entryTexts,
    kpi,
    proposer,
    asked_by,
    ...approvalTexts,
    ...reviewTexts,
    ...lateNoteTexts,
  ];
  // The last decision may be one of the approvals, whose texts are listed already.
  if (!approvals.some((approval) => approval.approver === approver && approval.note === approval_note))
    texts.push(approver, approval_note);
  return texts.filter((text): text is string => typeof text === "string" && text !== "");
}

const isTime = (value: unknown): value is string => typeof value === "string" && !Number.isNaN(Date.parse(value));

/** Lists the people who consented, each once; policies and mandates are left out. */
export const listApprovers = ({ change }: Row): string[] => [
  ...new Map(
    change.approvals
      .filter(({ approver }) => !isRule(approver))
      .map(({ approver }) => [normalizeName(approver), approver]),
  ).values(),
];

/** Returns the person who denied a change; null for a change that expired or was withdrawn. */
export const findDenier = ({ change: { resolution, approver } }: Row): string | null =>
  resolution === "denied" && approver !== null && !isRule(approver) ? approver : null;

/** Returns true for the name of a policy or mandate, which approves without a person. */
export const isRule = (name: string | null): boolean => name !== null && /^(?:policy|mandate):/.test(name);

/** Events of a change that have a time. */
export type Event = "proposed" | "decided" | "applied" | "rolledback";

/** Lists the times of an event, RFC 3339, oldest first. A change whose approval was revoked or expired was decided twice. */
export function listTimes({ change }: Row, event: Event): string[] {
  const { resolution, approvals, created_at, decided_at, applied_at, rolled_back_at } = change;
  const earlierDecision = resolution === "revoked" || resolution === "lapsed" ? (approvals.at(-1)?.at ?? null) : null;
  const times: Record<Event, (string | null)[]> = {
    proposed: [created_at],
    decided: [earlierDecision, decided_at],
    applied: [applied_at],
    rolledback: [rolled_back_at],
  };
  return times[event].filter((time) => isTime(time)) as string[];
}
