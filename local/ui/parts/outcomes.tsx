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
          .map((one) => [
            one.change_id,
            [
              <ChangeLink id={one.change_id} titles={titles} />,
              <Moment at={one.applied_at} />,
              one.kpi === null ? <span class="quiet">none named</span> : formatTitle(one.kpi),
              one.expected_delta_k === null ? "–" : formatSigned(one.expected_delta_k),
              one.realised_delta === null ? "–" : formatSigned(one.realised_delta),
              <Verdict of={one} />,
            ],
          ])}
      />
      {outcomes.length > shown && (
        <Button class="secondary small" onClick={() => setShown(shown + STEP)} label="Show more" />
      )}
    </>
  );
}
