/** The expected gain, the outcome, the chart of the KPI, and the outcomes of similar changes. */
import { capitalize } from "../../../../lib/wording/part.ts";
import type { ChangeDetail, IntentView } from "../../core/api_types.ts";
import { formatCount, formatNumber, formatSigned } from "../../core/format.ts";
import { lazy } from "../../core/lazy.tsx";
import { useResource } from "../../core/resource.tsx";
import { href } from "../../core/router.tsx";
import { useServiceState } from "../../core/shared.ts";
import { readOutcomes, findGoalDirection, readKpiSeries } from "../../domain/kpi_series.ts";
import { listOperations } from "../../domain/kpi_operations.ts";
import { describeMeasuredEffect, formatExpectedGain } from "../../domain/rollout.ts";
import { humanizeSentence, formatTitle, humanizeName } from "../../domain/statuses.ts";
import { Chart, type ChartLine } from "../../parts/chart.tsx";
import { Panel } from "../../parts/panel.tsx";
import { Verdict } from "../../parts/verdict.tsx";

const OutcomeTable = lazy(() => import("../../parts/outcomes.tsx").then((part) => part.OutcomeTable));

const MAX_PRECEDENTS = 8;
/** Age from which the page shows how old the baseline is. */
const STALE_HOURS = 7 * 24;

export function Expectation({ change, intent }: { change: ChangeDetail; intent: IntentView | undefined }) {
  const { kpi, expected_delta_k: expected, outcome } = change;
  return (
    <Panel title="Impact">
      <p>
        {expected === null ? (
          "The proposer stated no expected gain"
        ) : (
          <>
            The proposer expects <strong>{formatExpectedGain(change)}</strong>
          </>
        )}
        {kpi === null ? (
          <>. No KPI chosen, so its effect won't be measured.</>
        ) : (
          <>
            {" "}
            on <a href={href(["kpis"], { kpi })}>{humanizeName(kpi)}</a>.
          </>
        )}
      </p>
      {outcome && (
        <p>
          <Verdict of={outcome} />
          <br />
          {describeMeasuredEffect(change) ?? capitalize([humanizeSentence(outcome.words)])}
          {outcome.later && ` Later it ${outcome.later.words}.`}
          {outcome.side_effects.length > 0 &&
            ` Other KPIs since the apply: ${humanizeSentence(outcome.side_effects.map(({ words: moved }) => moved).join("; "))}.`}
          {(outcome.baseline_age_hours ?? 0) > STALE_HOURS &&
            ` The KPI's value at the apply was ${formatNumber(outcome.baseline_age_hours! / 24)} days old.`}
        </p>
      )}
      {kpi !== null && <KpiChart kpi={kpi} change={change} intent={intent} />}
      <Peers change={change} />
      <Precedents change={change} />
      {kpi !== null && outcome?.basis !== "measurement" && (
        <p class="quiet">All of this is correlation: nothing here shows that a change caused what came after it.</p>
      )}
    </Panel>
  );
}

function KpiChart({ kpi, change, intent }: { kpi: string; change: ChangeDetail; intent: IntentView | undefined }) {
  const { data: series } = useResource("kpi series", readKpiSeries);
  const { data: state } = useServiceState();
  if (!series) return null;
  const points = series[kpi] ?? [];
  if (points.length === 0)
    return (
      <p class="quiet">
        {formatTitle(kpi)} was never fed. <a href={href(["kpis"], { kpi })}>Feed it</a>, or the outcome stays open.
      </p>
    );
  const direction = findGoalDirection(kpi, state?.goals ?? []);
  return (
    <Chart
      label={`${formatTitle(kpi)} over time, with the baseline of this change`}
      points={points}
      lines={listChartLines(kpi, change, intent, points.at(-1)!.value, direction)}
      marks={listOperations([change]).map(({ change: _, ...mark }) => mark)}
    />
  );
}

/** Lists reference levels; before the apply the newest value is the baseline. */
function listChartLines(
  kpi: string,
  change: ChangeDetail,
  intent: IntentView | undefined,
  newest: number,
  direction: 1 | -1,
): ChartLine[] {
  const baseline = change.outcome?.baseline ?? newest;
  const lines: ChartLine[] = [{ kind: "baseline", label: change.outcome ? "At the apply" : "Now", value: baseline }];
  if (change.expected_delta_k !== null)
    lines.push({ kind: "expected", label: "Expected", value: baseline + direction * change.expected_delta_k });
  const guardrail = intent?.policy?.guardrails.find((rule) => rule.kpi === kpi);
  if (guardrail)
    lines.push({
      kind: "guardrail",
      label: guardrail.action === "rollback" ? "Guardrail, rolls back" : "Guardrail, alerts",
      value: baseline - direction * guardrail.max_regression,
    });
  return lines;
}

function Peers({ change: { evidence, kpi } }: { change: ChangeDetail }) {
  if (!evidence) return kpi === null ? null : <p class="quiet">No peer has a similar change.</p>;
  const { n, mean_delta, shared = 0, effective_n, verdicts, match } = evidence;
  const verdictCounts = Object.entries(verdicts)
    .filter(([, count]) => count > 0)
    .map(([verdict, count]) => `${count} ${verdict}`)
    .join(", ");
  return (
    <p>
      Peers: {formatCount(n, "change", "changes")}{" "}
      {match === "target" ? "on this target" : "on targets with the same parent"} gave{" "}
      <strong>{formatSigned(mean_delta)}</strong> on average ({verdictCounts}
      {shared > 0 && `; ${shared} of them moved together with other changes there`}; weighed by trust, as much as{" "}
      {formatNumber(effective_n)} of equal trust).
    </p>
  );
}

/** Other changes that named the same KPI, the newest first. */
function Precedents({ change: { change_id, kpi } }: { change: ChangeDetail }) {
  const { data } = useResource(kpi === null ? null : "outcomes", readOutcomes);
  if (!data) return null;
  const others = data.outcomes.filter((outcome) => outcome.kpi === kpi && outcome.change_id !== change_id);
  if (others.length === 0) return <p class="quiet">No other change named this KPI.</p>;
  return (
    <>
      <h3>Other changes that named {humanizeName(kpi!)}</h3>
      <OutcomeTable outcomes={others.slice(0, MAX_PRECEDENTS)} />
    </>
  );
}
