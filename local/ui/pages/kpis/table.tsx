import type { State } from "../../core/api_types.ts";
import { figure, percent } from "../../core/format.ts";
import { href, refine } from "../../core/router.tsx";
import { type Mark as MarkOf, titled } from "../../domain/statuses.ts";
import { Mark } from "../../parts/mark.tsx";
import { Age } from "../../parts/time.tsx";

const GOAL: Readonly<Record<State["goals"][number]["status"], MarkOf>> = {
  no_data: { word: "No data", shape: "dash", tone: "quiet" },
  stale: { word: "Not fed for a week", shape: "dash", tone: "warn" },
  behind: { word: "Behind", shape: "bang", tone: "bad" },
  under_way: { word: "Better than its baseline", shape: "half", tone: "wait" },
  on_track: { word: "In time", shape: "half", tone: "wait" },
  met: { word: "Target met", shape: "check", tone: "good" },
};

/** Each KPI with its goal; choosing one draws it. */
export function KpiTable({
  state,
  names,
  chosen,
}: {
  state: State;
  names: readonly string[];
  chosen: string | undefined;
}) {
  return (
    <table class="cards">
      <thead>
        <tr>
          <th scope="col">KPI</th>
          <th scope="col" class="number">
            Now
          </th>
          <th scope="col" class="number">
            Baseline
          </th>
          <th scope="col" class="number">
            Target
          </th>
          <th scope="col">Standing</th>
          <th scope="col">Fed</th>
        </tr>
      </thead>
      <tbody>
        {names.map((kpi) => {
          const part = state.dimensions.E.parts.find((one) => one.kpi === kpi);
          const goal = state.goals.find((one) => one.kpi === kpi);
          const target = goal?.target ?? part?.target ?? null;
          return (
            <tr key={kpi} aria-current={kpi === chosen ? "true" : undefined}>
              <td>
                <a
                  data-row
                  href={href(["kpis"], { kpi })}
                  onClick={(event) => {
                    event.preventDefault();
                    refine(["kpis"], { kpi });
                  }}
                >
                  {titled(kpi)}
                </a>
              </td>
              <td data-label="Now" class="number">
                {part ? figure(part.value) : "–"}
              </td>
              <td data-label="Baseline" class="number">
                {numberOr(goal?.baseline ?? part?.baseline)}
              </td>
              <td data-label="Target" class="number">
                {numberOr(target)}
              </td>
              <td data-label="Standing">
                {goal ? (
                  <Mark of={GOAL[goal.status]} />
                ) : (
                  <span class="quiet">
                    {part?.reason ?? (part ? `${percent(part.attainment)} attained` : "never fed")}
                  </span>
                )}
              </td>
              <td data-label="Fed">{part ? <Age at={part.at} /> : "never"}</td>
            </tr>
          );
        })}
      </tbody>
    </table>
  );
}

const numberOr = (given: number | null | undefined): string =>
  given === null || given === undefined ? "–" : figure(given);
