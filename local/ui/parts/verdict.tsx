/** A verdict, with what keeps it from being the change's own. */
import type { Outcome } from "../core/api_types.ts";
import { caveatsOf } from "../../../lib/changes/rules/outcome_words.ts";
import { VERDICT } from "../domain/statuses.ts";
import { Mark } from "./mark.tsx";
import { Moment } from "./time.tsx";

/** The mark; until when it is too early; with whom the movement is shared, and whose figure it is. */
export function Verdict({ of: outcome }: { of: Outcome }) {
  const caveats = caveatsOf(outcome).join("; ");
  return (
    <>
      <Mark of={VERDICT[outcome.verdict]} />
      {outcome.state === "open" && outcome.verdict === "too_early" && (
        <span class="quiet">
          {" "}
          judged from <Moment at={outcome.judged_from} />
        </span>
      )}
      {caveats !== "" && <span class="quiet"> {caveats}</span>}
    </>
  );
}
