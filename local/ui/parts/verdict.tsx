/** The verdict on a change, with its caveats. */
import type { Outcome } from "../core/api_types.ts";
import { listCaveats } from "../../../lib/changes/rules/outcome_words.ts";
import { formatDateTime } from "../core/format.ts";
import { VERDICT } from "../domain/statuses.ts";
import { StatusBadge } from "./badge.tsx";

const END_REASONS: Readonly<Record<NonNullable<Outcome["ended_by"]>, string>> = {
  horizon: "final",
  rollback: "rolled back",
  guardrail: "rolled back by a guardrail",
  change: "replaced by another change",
};

/** The badge of the verdict, with its state and caveats in brackets. */
export function Verdict({ of: outcome }: { of: Outcome }) {
  const { ended_by, verdict, judged_from } = outcome;
  const openState = verdict === "too_early" ? `judged from ${formatDateTime(judged_from)}` : "so far";
  const notes = [ended_by === null ? openState : END_REASONS[ended_by], ...listCaveats(outcome)];
  return (
    <>
      <StatusBadge of={VERDICT[verdict]} />
      <span class="quiet"> ({notes.join("; ")})</span>
    </>
  );
}
