import type { State } from "../../core/api_types.ts";
import { formatNumber, formatPercent } from "../../core/format.ts";
import { href, replaceQuery } from "../../core/router.tsx";
import { type Badge as MarkOf, formatTitle } from "../../domain/statuses.ts";
import { StatusBadge } from "../../parts/badge.tsx";
import { Table } from "../../parts/table.tsx";
import { Age } from "../../parts/time.tsx";

const GOAL_BADGES: Readonly<Record<State["goals"][number]["status"], MarkOf>> = {
  no_data: { word: "No data", shape: "dash", tone: "quiet" },
  stale: { word: "Not fed for a week", shape: "dash", tone: "warn" },
  behind: { word: "Behind", shape: "bang", tone: "bad" },
  under_way: { word: "Better than its baseline", shape: "half", tone: "wait" },
  on_track: { word: "In time", shape: "half", tone: "wait" },
  met: { word: "Target met", shape: "check", tone: "good" },
};

/** Each KPI with its goal; choosing one draws it. */
export function KpiTable(props: { state: State; names: readonly string[]; chosen: string | undefined }) {
  const { state, names, chosen } = props;

  return (
    <Table
      columns={["KPI", "Now", "Baseline", "Target", "Standing", "Fed"]}
      numbers={["Now", "Baseline", "Target"]}
      rows={names.map((kpi) => {
        const part = state.dimensions.E.parts.find((one) => one.kpi === kpi);
        const goal = state.goals.find((one) => one.kpi === kpi);
        const choose = (event: Event) => {
          event.preventDefault();
          replaceQuery(["kpis"], { kpi });
        };
        const cells = [
          <a data-row href={href(["kpis"], { kpi })} onClick={choose}>
            {formatTitle(kpi)}
          </a>,
          formatOptional(part?.value),
          formatOptional(goal?.baseline ?? part?.baseline),
          formatOptional(goal?.target ?? part?.target),
          goal ? (
            <StatusBadge of={GOAL_BADGES[goal.status]} />
          ) : (
            <span class="quiet">
              {part?.reason ?? (part ? `${formatPercent(part.attainment)} attained` : "never fed")}
            </span>
          ),
          part ? <Age at={part.at} /> : "never",
        ];
        return [kpi, cells, kpi === chosen] as const;
      })}
    />
  );
}

const formatOptional = (value: number | null | undefined): string =>
  value === null || value === undefined ? "–" : formatNumber(value);
