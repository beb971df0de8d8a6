import { useState } from "preact/hooks";
import type { Outcome } from "../core/api_types.ts";
import { formatSigned } from "../core/format.ts";
import { changeHref } from "../core/router.tsx";
import { useFind } from "../core/shared.ts";
import { formatTitle } from "../domain/statuses.ts";
import { Table } from "./table.tsx";
import { UserText, ShortId } from "./text.tsx";
import { Moment } from "./time.tsx";
import { Verdict } from "./verdict.tsx";

/** Rows at a time. */
const STEP = 20;

/** The newest changes that were ever applied, to name them. */
const EVER_APPLIED = "applied:>2000-01-01 sort:applied";
const NAMED = 200;

/** A table of what was expected of applied changes and what was measured. */
export function OutcomeTable({ outcomes }: { outcomes: readonly Outcome[] }) {
  const [shown, setShown] = useState(STEP);
  const { data: found } = useFind(EVER_APPLIED, { limit: NAMED });
  const names = new Map(found?.rows.map((row) => [row.change_id, row]));
  return (
    <>
      <Table
        columns={["Change", "Applied", "KPI", "Expected", "Realised", "Verdict"]}
        numbers={["Expected", "Realised"]}
        rows={outcomes.slice(0, shown).map((one) => [
          one.change_id,
          [
            <a data-row href={changeHref(one.change_id)}>
              {names.has(one.change_id) ? (
                <UserText text={names.get(one.change_id)!.summary || names.get(one.change_id)!.target} />
              ) : (
                <ShortId of={one.change_id} />
              )}
            </a>,
            <Moment at={one.applied_at} />,
            one.kpi === null ? <span class="quiet">none named</span> : formatTitle(one.kpi),
            one.expected_delta_k === null ? "–" : formatSigned(one.expected_delta_k),
            one.realised_delta === null ? "–" : formatSigned(one.realised_delta),
            <Verdict of={one} />,
          ],
        ])}
      />
      {outcomes.length > shown && (
        <button type="button" class="secondary small" onClick={() => setShown(shown + STEP)}>
          Show more
        </button>
      )}
    </>
  );
}
