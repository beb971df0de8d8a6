/** What a feed changes of verdicts that were told before, and the row that tells of it. */
import { type Outcome, type Verdict, VERDICTS } from "../governance/rules/outcome.ts";
import type { Notice } from "./growth_row.ts";
import { movementOf, sharedWords } from "../governance/rules/outcome_words.ts";

/** How many outcomes went to each verdict, and the first of them. */
export interface Changed {
  counts: Partial<Record<Verdict, number>>;
  named: { from: Verdict; to: Outcome }[];
}

export const NOTHING_CHANGED: Changed = { counts: {}, named: [] };

const MOST_NAMED = 10;

/** One more outcome, which went from a verdict to another. */
export const withChange = ({ counts, named }: Changed, from: Verdict, to: Outcome): Changed => ({
  counts: { ...counts, [to.verdict]: (counts[to.verdict] ?? 0) + 1 },
  named: named.length < MOST_NAMED ? [...named, { from, to }] : named,
});

/** One row, however many outcomes changed; none where none did. */
export function rowOf({ counts, named }: Changed, at: string): Omit<Notice, "kind"> | undefined {
  const [first] = named;
  if (!first) return undefined;
  const went = ({ from, to }: Changed["named"][number]): string => `${to.change_id} went from ${from} to ${to.verdict}`;
  const told = (one: Changed["named"][number]): string => [went(one), sharedWords(one.to)].filter(Boolean).join(", ");
  const count = Object.values(counts).reduce((sum, one) => sum + one, 0);
  if (count === 1)
    return { at, title: `The outcome of ${went(first)}`, detail: movementOf(first.to), ref: first.to.change_id };
  const verdicts = VERDICTS.flatMap((verdict) => (counts[verdict] ? [`${counts[verdict]} to ${verdict}`] : []));
  const rest = count > named.length ? `; and ${count - named.length} more` : "";
  return {
    at,
    title: `A feed changed the verdict on ${count} outcomes: ${verdicts.join(", ")}`,
    detail: `${named.map(told).join("; ")}${rest}.`,
    ref: null,
  };
}
