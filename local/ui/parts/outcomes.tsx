import { useState } from "preact/hooks";
import type { ChangeDetail, Outcome } from "../core/api_types.ts";
import { get } from "../core/api.ts";
import { signed } from "../core/format.ts";
import { useResource } from "../core/resource.tsx";
import { changeHref } from "../core/router.tsx";
import { shortly } from "../domain/sentences.ts";
import { titled } from "../domain/statuses.ts";
import { Table } from "./table.tsx";
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

/** A table of what was expected of applied changes and what was measured. */
export function OutcomeTable({ outcomes }: { outcomes: readonly Outcome[] }) {
  const [shown, setShown] = useState(STEP);
  return (
    <>
      <Table
        columns={["Change", "Applied", "KPI", "Expected", "Realised", "Verdict", "State"]}
        numbers={["Expected", "Realised"]}
        rows={outcomes
          .slice(0, shown)
          .map((one) => [
            one.change_id,
            [
              <Name id={one.change_id} />,
              <Moment at={one.applied_at} />,
              one.kpi === null ? <span class="quiet">none named</span> : titled(one.kpi),
              one.expected_delta_k === null ? "–" : signed(one.expected_delta_k),
              one.realised_delta === null ? "–" : signed(one.realised_delta),
              <Verdict of={one} />,
              one.ended_by === null ? "open" : `final, ${ENDED[one.ended_by]}`,
            ],
          ])}
      />
      {outcomes.length > shown && (
        <button type="button" class="secondary small" onClick={() => setShown(shown + STEP)}>
          Show more
        </button>
      )}
    </>
  );
}

function Name({ id }: { id: string }) {
  const path = `api/product/changes/${encodeURIComponent(id)}`;
  const { data: change } = useResource(`change ${id}`, (signal) => get<ChangeDetail>(path, {}, signal), {
    concerns: (news) => news?.type === "audit" && news.data.change_id === id,
  });
  return (
    <a data-row href={changeHref(id)}>
      {change ? <Sentence parts={shortly(change)} /> : <ShortId of={id} />}
    </a>
  );
}
