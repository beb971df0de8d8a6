import { Button } from "./button.tsx";
import { useState } from "preact/hooks";
import type { Outcome } from "../core/api_types.ts";
import { formatSigned } from "../core/format.ts";
import { formatTitle } from "../domain/statuses.ts";
import { ChangeLink, useChangeTitles } from "./change_name.tsx";
import { Table } from "./table.tsx";
import { Moment } from "./time.tsx";
import { Verdict } from "./verdict.tsx";

const STEP = 20;

/** The newest changes that were ever applied, to name them. */
const EVER_APPLIED = "applied:>2000-01-01 sort:applied";

/** A table of what was expected of applied changes and what was measured. */
export function OutcomeTable({ outcomes }: { outcomes: readonly Outcome[] }) {
  const [shown, setShown] = useState(STEP);
  const titles = useChangeTitles(EVER_APPLIED);
  return (
    <>
      <Table
        columns={["Change", "Applied", "KPI", "Expected", "Realised", "Verdict"]}
        numbers={["Expected", "Realised"]}
        rows={outcomes
          .slice(0, shown)
          .map((outcome) => [
            outcome.change_id,
            [
              <ChangeLink id={outcome.change_id} titles={titles} />,
              <Moment at={outcome.applied_at} />,
              outcome.kpi === null ? <span class="quiet">none named</span> : formatTitle(outcome.kpi),
              outcome.expected_delta_k === null ? "–" : formatSigned(outcome.expected_delta_k),
              outcome.realised_delta === null ? "–" : formatSigned(outcome.realised_delta),
              <Verdict of={outcome} />,
            ],
          ])}
      />
      {outcomes.length > shown && (
        <Button class="secondary small" onClick={() => setShown(shown + STEP)} label="Show more" />
      )}
    </>
  );
}
