/** A verdict, with what keeps it from being the change's own. */
import type { Outcome } from "../core/api_types.ts";
import { listCaveats } from "../../../lib/changes/rules/outcome_words.ts";
import { dateTime } from "../core/format.ts";
import { VERDICT } from "../domain/statuses.ts";
import { Mark } from "./mark.tsx";

/** The mark; in brackets until when it is too early, with whom the movement is shared, and whose figure it is. */
export function Verdict({ of: outcome }: { of: Outcome }) {
  const isEarly = outcome.state === "open" && outcome.verdict === "too_early";
  const notes = [...(isEarly ? [`judged from ${dateTime(outcome.judged_from)}`] : []), ...listCaveats(outcome)];
  return (
    <>
      <Mark of={VERDICT[outcome.verdict]} />
      {notes.length > 0 && <span class="quiet"> ({notes.join("; ")})</span>}
    </>
  );
}
