import type { Outcome } from "../../core/api_types.ts";
import { signed } from "../../core/format.ts";
import { changeHref } from "../../core/router.tsx";
import { VERDICT, words } from "../../domain/statuses.ts";
import { Mark } from "../../parts/mark.tsx";
import { Moment } from "../../parts/time.tsx";

/** What was expected of each applied change, and what came. */
export function OutcomeTable({ outcomes, more }: { outcomes: readonly Outcome[]; more: boolean }) {
  if (outcomes.length === 0)
    return <p class="quiet">No change was applied yet. Thirty days after an apply, its outcome is final.</p>;
  return (
    <>
      <table class="cards">
        <thead>
          <tr>
            <th scope="col">Applied</th>
            <th scope="col">KPI</th>
            <th scope="col" class="number">
              Expected
            </th>
            <th scope="col" class="number">
              Realised
            </th>
            <th scope="col">Verdict</th>
            <th scope="col">State</th>
          </tr>
        </thead>
        <tbody>
          {outcomes.map((one) => (
            <tr key={one.change_id}>
              <td data-label="Applied">
                <a data-row href={changeHref(one.change_id)}>
                  <Moment at={one.applied_at} />
                </a>
              </td>
              <td data-label="KPI">{one.kpi === null ? <span class="quiet">none named</span> : words(one.kpi)}</td>
              <td data-label="Expected" class="number">
                {one.expected_delta_k === null ? "–" : signed(one.expected_delta_k)}
              </td>
              <td data-label="Realised" class="number">
                {one.realised_delta === null ? "–" : signed(one.realised_delta)}
              </td>
              <td data-label="Verdict">
                <Mark of={VERDICT[one.verdict]} />
              </td>
              <td data-label="State">
                {one.state === "open"
                  ? "open"
                  : `final, ${one.closed_by === "rollback" ? "rolled back" : "30 days over"}`}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
      <p class="quiet">
        {more && "Only the newest 200 are shown. "}Realised is what the KPI did since the apply, up being good. It is a
        correlation.
      </p>
    </>
  );
}
