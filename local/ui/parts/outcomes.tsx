import { useState } from "preact/hooks";
import type { ChangeDetail, Outcome } from "../core/api_types.ts";
import { get } from "../core/api.ts";
import { signed } from "../core/format.ts";
import { useResource } from "../core/resource.tsx";
import { changeHref } from "../core/router.tsx";
import { shortly } from "../domain/sentences.ts";
import { titled } from "../domain/statuses.ts";
import { Sentence, ShortId } from "./text.tsx";
import { Moment } from "./time.tsx";
import { Verdict } from "./verdict.tsx";

/** Rows at a time: each asks for its change's name. */
const STEP = 20;

const ENDED: Readonly<Record<NonNullable<Outcome["ended_by"]>, string>> = {
  horizon: "its time is over",
  rollback: "rolled back",
  guardrail: "rolled back by a guardrail",
  change: "replaced by another change",
};

/** Columns of figures. */
const FIGURES = ["Expected", "Realised"];
const COLUMNS = ["Change", "Applied", "KPI", ...FIGURES, "Verdict", "State"];

/** A table of what was expected of applied changes and what was measured. */
export function OutcomeTable({ outcomes }: { outcomes: readonly Outcome[] }) {
  const [shown, setShown] = useState(STEP);
  return (
    <>
      <table class="cards">
        <thead>
          <tr>
            {COLUMNS.map((name) => (
              <th key={name} scope="col" class={FIGURES.includes(name) ? "number" : undefined}>
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {outcomes.slice(0, shown).map((one) => (
            <Row key={one.change_id} outcome={one} />
          ))}
        </tbody>
      </table>
      {outcomes.length > shown && (
        <button type="button" class="secondary small" onClick={() => setShown(shown + STEP)}>
          Show more
        </button>
      )}
    </>
  );
}

function Row({ outcome: one }: { outcome: Outcome }) {
  const path = `api/product/changes/${encodeURIComponent(one.change_id)}`;
  const { data: change } = useResource(`change ${one.change_id}`, (signal) => get<ChangeDetail>(path, {}, signal), {
    concerns: (news) => news?.type === "audit" && news.data.change_id === one.change_id,
  });
  return (
    <tr>
      <td>
        <a data-row href={changeHref(one.change_id)}>
          {change ? <Sentence parts={shortly(change)} /> : <ShortId of={one.change_id} />}
        </a>
      </td>
      <td data-label="Applied">
        <Moment at={one.applied_at} />
      </td>
      <td data-label="KPI">{one.kpi === null ? <span class="quiet">none named</span> : titled(one.kpi)}</td>
      <td data-label="Expected" class="number">
        {one.expected_delta_k === null ? "–" : signed(one.expected_delta_k)}
      </td>
      <td data-label="Realised" class="number">
        {one.realised_delta === null ? "–" : signed(one.realised_delta)}
      </td>
      <td data-label="Verdict">
        <Verdict of={one} />
      </td>
      <td data-label="State">{one.ended_by === null ? "open" : `final, ${ENDED[one.ended_by]}`}</td>
    </tr>
  );
}
