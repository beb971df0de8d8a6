import type { ComponentChildren } from "preact";
import type { Change } from "../core/api_types.ts";
import { formatNumber, formatSigned } from "../core/format.ts";
import { changeHref } from "../core/router.tsx";
import { type ShortChange, describeBriefly } from "../domain/sentences.ts";
import { statusBadge } from "../domain/statuses.ts";
import { StatusBadge } from "./badge.tsx";
import { UserText, Sentence } from "./text.tsx";
import { Age } from "./time.tsx";

type RowChange = ShortChange &
  Pick<
    Change,
    "change_id" | "status" | "resolution" | "summary" | "affected_users" | "expected_delta_k" | "created_at"
  >;

/** A change in a list; `children` stand before its age. */
export const ChangeRow = (props: { change: RowChange; drift: unknown; children?: ComponentChildren }) => (
  <article class="change-row">
    <StatusBadge of={statusBadge({ ...props.change, drift: props.drift })} />
    <div class="change-name">
      <a data-row href={changeHref(props.change.change_id)}>
        <UserText text={props.change.summary || props.change.change_id} />
      </a>
      <p class="quiet">
        <Sentence parts={describeBriefly(props.change)} />
      </p>
    </div>
    <span class="quiet reach">
      {props.change.affected_users === null
        ? "People affected: unknown"
        : `${formatNumber(props.change.affected_users)} affected`}
    </span>
    <span class="quiet gain">
      {props.change.expected_delta_k === null ? "" : `expects ${formatSigned(props.change.expected_delta_k)}`}
    </span>
    <span class="quiet when">
      {props.children}
      <Age at={props.change.created_at} />
    </span>
  </article>
);
