/** Movements of KPIs, and the outcomes of changes. */
import { Button } from "../parts/button.tsx";
import { useRef, useState } from "preact/hooks";
import type { State } from "../core/api_types.ts";
import { formatPercent } from "../core/format.ts";
import { usePageKeys, useTitle } from "../core/hooks.tsx";
import { useResource } from "../core/resource.tsx";
import type { Route } from "../core/router.tsx";
import { useServiceState } from "../core/shared.ts";
import { findGoalDirection, type KpiSeries, readKpiSeries, listOfferedKpis } from "../domain/kpi_series.ts";
import { readOutcomes } from "../domain/outcomes.ts";
import { formatTitle } from "../domain/statuses.ts";
import type { ChartLine } from "../parts/chart.tsx";
import { OutcomeTable } from "../parts/outcomes.tsx";
import { PageHead, Panel, PendingPage } from "../parts/panel.tsx";
import { FeedDialog } from "./kpis/feed.tsx";
import { KpiChart, useOperations } from "./kpis/kpi_chart.tsx";
import { KpiTable } from "./kpis/table.tsx";

/** KPIs and outcomes. */
export function KpisPage({ route: { query } }: { route: Route }) {
  const [feeding, setFeeding] = useState(false);
  const { data: state, error } = useServiceState();
  const { data: series, error: off } = useResource("kpi series", readKpiSeries);
  const { data: found } = useResource("outcomes", readOutcomes);
  useTitle("KPIs");
  usePageKeys([{ key: "f", label: "Enter KPI values", run: () => setFeeding(true) }]);
  const names = state && series ? listKpiNames(state, series) : [];
  const chosen = names.includes(query.get("kpi") ?? "") ? query.get("kpi")! : names[0];
  const points = (chosen && series?.[chosen]) || [];
  const events = useOperations(points);
  // The first chart stands complete, or its legend would move what is below it.
  const stood = useRef(false);
  if (state && series && events) stood.current = true;
  if (!state || !series || !stood.current) return <PendingPage title="KPIs" error={off ?? error} what="KPIs" />;
  return (
    <>
      <PageHead
        title="KPIs"
        lead={
          state.E === null
            ? "No KPI has a target and data yet, so nobody can say what the changes did."
            : `The KPIs are ${formatPercent(state.E)} of the way to their targets, by weight.`
        }
      >
        <Button onClick={() => setFeeding(true)} label="Enter KPI values…" />
      </PageHead>
      <Panel title="KPIs">
        <KpiTable state={state} names={names} chosen={chosen} />
        {chosen && points.length > 0 && (
          <>
            <h3>{formatTitle(chosen)}</h3>
            <KpiChart
              key={chosen}
              kpi={chosen}
              points={points}
              marks={events ?? []}
              lines={listGoalLines(chosen, state)}
              direction={findGoalDirection(chosen, state.goals)}
            />
          </>
        )}
      </Panel>
      <Panel title="Outcomes">
        {found?.outcomes.length === 0 && (
          <p class="quiet">No change was applied yet. Seven days after an apply its outcome is final.</p>
        )}
        {found && found.outcomes.length > 0 && <OutcomeTable outcomes={found.outcomes} />}
        <p class="quiet">
          {found && found.next !== null && "Only the newest 200 are shown. "}Realised is what the KPI did since the
          apply; above 0 is better. It is a correlation: other changes in force at the time moved it too, so these
          figures do not add up.
        </p>
      </Panel>
      {feeding && <FeedDialog names={listOfferedKpis(names)} onClose={() => setFeeding(false)} />}
    </>
  );
}

/** Names of KPIs: those of the intent first, then others with a feed. */
const listKpiNames = ({ goals, dimensions }: State, series: KpiSeries): string[] => [
  ...new Set([...goals.map(({ kpi }) => kpi), ...dimensions.E.parts.map(({ kpi }) => kpi), ...Object.keys(series)]),
];

function listGoalLines(kpi: string, { goals, dimensions }: State): ChartLine[] {
  const goal = goals.find((one) => one.kpi === kpi) ?? dimensions.E.parts.find((one) => one.kpi === kpi);
  if (!goal || goal.baseline === null) return [];
  const baseline: ChartLine = { kind: "baseline", label: "Baseline", value: goal.baseline };
  return goal.target === null ? [baseline] : [baseline, { kind: "target", label: "Target", value: goal.target }];
}
