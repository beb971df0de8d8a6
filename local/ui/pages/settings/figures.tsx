import type { ComponentChildren } from "preact";
import type { State } from "../../core/api_types.ts";
import { counted, figure, percent } from "../../core/format.ts";
import { changeHref, href } from "../../core/router.tsx";
import { titled, words } from "../../domain/statuses.ts";
import { Facts, Panel } from "../../parts/panel.tsx";
import { ShortId } from "../../parts/text.tsx";

const MAX_GAPS = 3;

/** The four figures of the service, each with its reasons. */
export const Figures = ({ state }: { state: State }) => (
  <Panel title="Figures">
    <Facts
      wide
      of={[
        [`Effect: ${percent(state.E)}`, <Effect state={state} />],
        [`Memory: ${percent(state.M)}`, <Memory state={state} />],
        [`Reliability: ${percent(state.R)}`, <Reliability state={state} />],
        [`Need: ${percent(state.N)}, less is better`, <Need state={state} />],
      ]}
    />
  </Panel>
);

const List = ({ of }: { of: ComponentChildren[] }) => (
  <ul class="reasons">
    {of.map((reason, index) => (
      <li key={index}>{reason}</li>
    ))}
  </ul>
);

function Effect({ state: { dimensions } }: { state: State }) {
  const { parts } = dimensions.E;
  if (parts.length === 0) return <p>No KPI has data.</p>;
  return (
    <List
      of={parts.map(({ kpi, attainment, reason }) => (
        <>
          <a href={href(["kpis"], { kpi })}>{titled(kpi)}</a> {reason ?? `is ${percent(attainment)} of the way`}
        </>
      ))}
    />
  );
}

function Memory({ state: { dimensions } }: { state: State }) {
  const { closed, expected, present, gaps } = dimensions.M;
  if (closed === 0) return <p>No change was closed in 90 days.</p>;
  return (
    <>
      <p>
        {figure(present)} of {figure(expected)} things that should be on record of {counted(closed, "closed change")}{" "}
        are.
      </p>
      <List
        of={gaps.slice(0, MAX_GAPS).map(({ change_id, missing }) => (
          <>
            <a href={changeHref(change_id)} title={change_id}>
              <ShortId of={change_id} />
            </a>{" "}
            has no {missing.join(" and no ")}
          </>
        ))}
      />
    </>
  );
}

function Reliability({ state: { dimensions } }: { state: State }) {
  const { n, failed, causes, interval } = dimensions.R;
  if (n === 0) return <p>Nothing was applied in 30 days.</p>;
  const why = Object.entries(causes).flatMap(([cause, count]) => (count > 0 ? [`${words(cause)} ${count}×`] : []));
  return (
    <p>
      {figure(failed)} of {counted(n, "apply", "applies")} failed in 30 days
      {why.length > 0 && `: ${why.join(", ")}`}.
      {interval && ` 95% confidence: ${percent(interval.low)} to ${percent(interval.high)}.`}
    </p>
  );
}

function Need({ state: { dimensions } }: { state: State }) {
  const { open, overdue, items } = dimensions.N;
  if (open === 0) return <p>Nothing is open.</p>;
  return (
    <>
      <p>
        {figure(overdue)} of {counted(open, "open item")} {overdue === 1 ? "is" : "are"} overdue.
      </p>
      <List
        of={items.map(
          ({ item, open: waiting, overdue: late }) =>
            `${words(item)}: ${figure(waiting)}${late > 0 ? `, ${figure(late)} overdue` : ""}`,
        )}
      />
    </>
  );
}
