import type { ComponentChildren } from "preact";
import type { State } from "../../core/api_types.ts";
import { counted, figure, percent } from "../../core/format.ts";
import { changeHref, href } from "../../core/router.tsx";
import { titled, words } from "../../domain/statuses.ts";
import { ShortId } from "../../parts/text.tsx";

/** E, M, R and N, each with its reasons. */
export const Dimensions = ({ state }: { state: State }) => (
  <div class="dimensions">
    <Dimension letter="E" name="Effect" meaning="How far the KPIs are on their way." value={state.E} good="up">
      <Effect state={state} />
    </Dimension>
    <Dimension letter="M" name="Memory" meaning="What should be on record, and is." value={state.M} good="up">
      <Memory state={state} />
    </Dimension>
    <Dimension letter="R" name="Reliability" meaning="Applies that held." value={state.R} good="up">
      <Reliability state={state} />
    </Dimension>
    <Dimension letter="N" name="Need" meaning="What is overdue: the less, the better." value={state.N} good="down">
      <Need state={state} />
    </Dimension>
  </div>
);

function Dimension({
  letter,
  name,
  meaning,
  value,
  good,
  children,
}: {
  letter: string;
  name: string;
  /** What the value says, for whoever meets it first. */
  meaning: string;
  value: number | null;
  good: "up" | "down";
  children: ComponentChildren;
}) {
  return (
    <section class="panel dimension" aria-label={name}>
      <h2>
        <span class="letter" aria-hidden="true">
          {letter}
        </span>
        {name}
      </h2>
      <p class="quiet">{meaning}</p>
      <p class="value">{percent(value)}</p>
      {value === null ? (
        <div class="meter" />
      ) : (
        <meter class={`meter ${good}`} min={0} max={1} value={value} aria-label={name} />
      )}
      {children}
    </section>
  );
}

function Effect({ state: { dimensions } }: { state: State }) {
  const { parts } = dimensions.E;
  if (parts.length === 0) return <p class="quiet">No KPI was fed yet.</p>;
  return (
    <ul class="reasons">
      {parts.map(({ kpi, attainment, reason }) => (
        <li key={kpi}>
          <a href={href(["kpis"], { kpi })}>{titled(kpi)}</a> {reason ?? `is ${percent(attainment)} of the way`}
        </li>
      ))}
    </ul>
  );
}

const GAPS = 3;

function Memory({ state: { dimensions } }: { state: State }) {
  const { closed, expected, present, missing, gaps } = dimensions.M;
  if (closed === 0) return <p class="quiet">No change was closed in 90 days.</p>;
  const lacking = Object.entries(missing).filter(([, count]) => count > 0);
  return (
    <>
      <p>
        {figure(present)} of {figure(expected)} things that should be on record of {counted(closed, "closed change")}{" "}
        are.
      </p>
      {lacking.length > 0 && <p>Missing: {lacking.map(([what, count]) => `${what} ${count}×`).join(", ")}.</p>}
      <ul class="reasons">
        {gaps.slice(0, GAPS).map(({ change_id, missing: items }) => (
          <li key={change_id}>
            <a href={changeHref(change_id)} title={change_id}>
              <ShortId of={change_id} />
            </a>{" "}
            has no {items.join(" and no ")}
          </li>
        ))}
      </ul>
    </>
  );
}

function Reliability({ state: { dimensions } }: { state: State }) {
  const { n, failed, causes, interval } = dimensions.R;
  if (n === 0) return <p class="quiet">Nothing was applied in 30 days.</p>;
  const why = Object.entries(causes).filter(([, count]) => count > 0);
  return (
    <>
      <p>
        {figure(failed)} of {counted(n, "apply", "applies")} failed in 30 days
        {why.length > 0 && `: ${why.map(([cause, count]) => `${words(cause)} ${count}×`).join(", ")}`}.
      </p>
      {interval && (
        <p class="quiet">
          With so few, it lies between {percent(interval.low)} and {percent(interval.high)}, 95 times of 100.
        </p>
      )}
    </>
  );
}

function Need({ state: { dimensions } }: { state: State }) {
  const { open, overdue, items } = dimensions.N;
  if (open === 0) return <p class="quiet">Nothing is open.</p>;
  return (
    <>
      <p>
        {figure(overdue)} of {counted(open, "open item")} {overdue === 1 ? "is" : "are"} overdue.
      </p>
      <ul class="reasons">
        {items.map(({ item, open: waiting, overdue: late }) => (
          <li key={item}>
            {words(item)}: {figure(waiting)}
            {late > 0 && `, ${figure(late)} overdue`}
          </li>
        ))}
      </ul>
    </>
  );
}
