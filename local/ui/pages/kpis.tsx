/** Movements of KPIs, and the outcomes of changes. */
import { Button } from "../parts/button.tsx";
import { useRef, useState } from "preact/hooks";
import type { State } from "../core/api_types.ts";
import { formatPercent, formatNumber, formatDateTime } from "../core/format.ts";
import { usePageKeys, useTitle } from "../core/hooks.tsx";
import { useResource } from "../core/resource.tsx";
import { type Route, href, replaceQuery, changeHref } from "../core/router.tsx";
import { useServiceState, useFind } from "../core/shared.ts";
import {
  findGoalDirection,
  type KpiSeries,
  readKpiSeries,
  listOfferedKpis,
  readOutcomes,
  type KpiPoint,
} from "../domain/kpi_series.ts";
import { formatTitle, type Badge } from "../domain/statuses.ts";
import { type ChartLine, Chart, type ChartEvent } from "../parts/chart.tsx";
import { OutcomeTable } from "../parts/outcomes.tsx";
import { PageHead, Panel, PendingPage } from "../parts/panel.tsx";
import { StatusBadge } from "../parts/badge.tsx";
import { Table } from "../parts/table.tsx";
import { Age } from "../parts/time.tsx";
import { type Fall, findFall, listOperations, listOperationQueries } from "../domain/kpi_operations.ts";
import { UserLink } from "../parts/text.tsx";
import { makeSignableAction } from "../domain/statement.ts";
import { type ActionForm, ActionDialog } from "../parts/action_dialog.tsx";
import { Line } from "../parts/field.tsx";

export function KpisPage({ route: { query } }: { route: Route }) {
  const [feeding, setFeeding] = useState(false);
  const { data: state, error } = useServiceState();
  const { data: series, error: seriesError } = useResource("kpi series", readKpiSeries);
  const { data: found } = useResource("outcomes", readOutcomes);
  useTitle("KPIs");
  usePageKeys([{ key: "f", label: "Enter KPI values", run: () => setFeeding(true) }]);
  const names = state && series ? listKpiNames(state, series) : [];
  const chosen = names.includes(query.get("kpi") ?? "") ? query.get("kpi")! : names[0];
  const points = (chosen && series?.[chosen]) || [];
  const events = useOperations(points);
  // The page is first drawn with all events, or the chart's legend would grow and move the content below.
  const isComplete = useRef(false);
  if (state && series && events) isComplete.current = true;
  if (!state || !series || !isComplete.current)
    return <PendingPage title="KPIs" error={seriesError ?? error} what="KPIs" />;
  return (
    <>
      <PageHead
        title="KPIs"
        lead={
          state.E === null
            ? "No KPI has a target and data yet, so the effect of changes is not known."
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
          {found && found.next !== null && "Only the newest 200 are shown. "}Realised is how the KPI moved since the
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

const findByKpi = <T extends { kpi: string }>(items: readonly T[], kpi: string): T | undefined =>
  items.find((item) => item.kpi === kpi);

function listGoalLines(kpi: string, { goals, dimensions }: State): ChartLine[] {
  const goal = findByKpi(goals, kpi) ?? findByKpi(dimensions.E.parts, kpi);
  if (!goal || goal.baseline === null) return [];
  const baseline: ChartLine = { kind: "baseline", label: "Baseline", value: goal.baseline };
  return goal.target === null ? [baseline] : [baseline, { kind: "target", label: "Target", value: goal.target }];
}

const GOAL_BADGES: Readonly<Record<State["goals"][number]["status"], Badge>> = {
  no_data: { word: "No data", shape: "dash", tone: "quiet" },
  stale: { word: "Not fed for a week", shape: "dash", tone: "warn" },
  behind: { word: "Behind", shape: "bang", tone: "bad" },
  under_way: { word: "Better than its baseline", shape: "half", tone: "wait" },
  on_track: { word: "In time", shape: "half", tone: "wait" },
  met: { word: "Target met", shape: "check", tone: "good" },
};

/** Each KPI with its goal; choosing a KPI draws its chart. */
function KpiTable(props: { state: State; names: readonly string[]; chosen: string | undefined }) {
  const { state, names, chosen } = props;
  return (
    <Table
      columns={["KPI", "Now", "Baseline", "Target", "Standing", "Fed"]}
      numbers={["Now", "Baseline", "Target"]}
      rows={names.map((kpi) => {
        const part = findByKpi(state.dimensions.E.parts, kpi);
        const goal = findByKpi(state.goals, kpi);
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

const MAX_FOUND = 200;
const DAY_S = 86_400;

/** Finds up to 200 applies and 200 rollbacks from a day before the first of these values on; undefined until both are read. */
function useOperations(points: readonly KpiPoint[]): ChartEvent[] | undefined {
  const [appliedQuery = null, rolledBackQuery = null] = listOperationQueries(points);
  const applies = useFind(appliedQuery, { limit: MAX_FOUND });
  const rollbacks = useFind(rolledBackQuery, { limit: MAX_FOUND });
  if (applies.loading || rollbacks.loading) return undefined;
  return listOperations([...(applies.data?.rows ?? []), ...(rollbacks.data?.rows ?? [])], (points[0]?.at ?? 0) - DAY_S);
}

/** A KPI with the operations of its period, and the operations just before its largest move for the worse. */
function KpiChart(props: {
  kpi: string;
  points: readonly KpiPoint[];
  lines: readonly ChartLine[];
  marks: readonly ChartEvent[];
  direction: 1 | -1;
}) {
  const { kpi, points, lines, marks, direction } = props;
  const fall = findFall(points, direction, marks);
  return (
    <>
      <Chart label={`${formatTitle(kpi)} over time`} points={points} lines={lines} marks={marks} />
      {fall && <BeforeFall kpi={kpi} fall={fall} />}
    </>
  );
}

function BeforeFall({ kpi, fall: { from, to, before } }: { kpi: string; fall: Fall }) {
  return (
    <>
      <h3>Largest move for the worse</h3>
      <p>
        {formatTitle(kpi)} went from {formatNumber(from.value)} ({formatDateTime(from.at * 1000)}) to{" "}
        {formatNumber(to.value)} ({formatDateTime(to.at * 1000)}).{" "}
        {before.length === 0 ? "Nothing was applied before it in this period." : "Before it, newest first:"}
      </p>
      <ul class="plain">
        {before.map(({ label, at, change }) => (
          <li key={`${label} ${at}`}>
            {formatDateTime(at * 1000)}, {label.toLowerCase()}:{" "}
            <UserLink href={changeHref(change!.change_id)} text={change!.summary || change!.target} />
          </li>
        ))}
      </ul>
      <p class="quiet">Only the order in time is known: it does not show that a change caused the move.</p>
    </>
  );
}

const FEED: ActionForm = {
  label: "Save",
  title: "Enter KPI values",
  path: "api/product/kpi",
  decision: "feed_kpis",
  says: "enters these KPI values",
  explanation: "Fields left empty keep their value. One invalid number rejects them all.",
  noteHint: "Where do the values come from?",
  isNameless: true,
};

/** Feeds the KPIs that are filled in. */
function FeedDialog({ names, onClose }: { names: readonly string[]; onClose: () => void }) {
  const [values, setValues] = useState<Record<string, string>>({});
  const entered = Object.entries(values).flatMap(([kpi, text]) => (text.trim() ? [[kpi, text.trim()] as const] : []));
  const kpis = Object.fromEntries(entered.map(([kpi, text]) => [kpi, Number(text)]));
  return (
    <ActionDialog
      of={FEED}
      fields={Object.fromEntries(entered)}
      signed={{
        signable: ({ name, note }) => makeSignableAction({ decision: "feed_kpis", actor: name, note, kpis }),
        facts: entered.map(([kpi, text]) => [formatTitle(kpi), text]),
      }}
      onClose={onClose}
      onDone={onClose}
    >
      {(faultOf) => (
        <div class="grid">
          {names.map((kpi, index) => (
            <Line
              key={kpi}
              label={formatTitle(kpi)}
              inputMode="decimal"
              value={values[kpi] ?? ""}
              onValue={(text) => setValues({ ...values, [kpi]: text })}
              error={faultOf(kpi)}
              first={index === 0}
            />
          ))}
        </div>
      )}
    </ActionDialog>
  );
}
