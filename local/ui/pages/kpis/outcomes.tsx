import { useState } from "preact/hooks";
import type { ChangeDetail, Outcome } from "../../core/api_types.ts";
import { get } from "../../core/api.ts";
import { signed } from "../../core/format.ts";
import { useResource } from "../../core/resource.tsx";
import { changeHref } from "../../core/router.tsx";
import { shortly } from "../../domain/sentences.ts";
import { titled } from "../../domain/statuses.ts";
import { Sentence, ShortId } from "../../parts/text.tsx";
import { Moment } from "../../parts/time.tsx";
import { Verdict } from "../../parts/verdict.tsx";

/** Rows at a time: each asks for its change's name. */
const STEP = 20;

const ENDED: Readonly<Record<NonNullable<Outcome["ended_by"]>, string>> = {
  horizon: "its time is over",
  rollback: "rolled back",
  guardrail: "rolled back by a guardrail",
  change: "replaced by another change",
};

/** What was expected of each applied change, and what came. */
export function OutcomeTable({ outcomes, more }: { outcomes: readonly Outcome[]; more: boolean }) {
  const [shown, setShown] = useState(STEP);
  if (outcomes.length === 0)
    return <p class="quiet">No change was applied yet. Seven days after an apply its outcome is final.</p>;
  return (
    <>
      <table class="cards">
        <thead>
          <tr>
            <th scope="col">Change</th>
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
      <p class="quiet">
        {more && "Only the newest 200 are shown. "}Realised is what the KPI did since the apply, up being good. It is a
        correlation: where other changes were in force too, the movement is theirs as well, so these figures do not add
        up.
      </p>
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
