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
export const ChangeRow = ({
  change,
  drift,
  children,
}: {
  change: RowChange;
  drift: unknown;
  children?: ComponentChildren;
}) => (
  <article class="change-row">
    <StatusBadge of={statusBadge({ ...change, drift })} />
    <div class="change-name">
      <a data-row href={changeHref(change.change_id)}>
        <UserText text={change.summary || change.change_id} />
      </a>
      <p class="quiet">
        <Sentence parts={describeBriefly(change)} />
      </p>
    </div>
    <span class="quiet reach">
      {change.affected_users === null ? "People affected: unknown" : `${formatNumber(change.affected_users)} affected`}
    </span>
    <span class="quiet gain">
      {change.expected_delta_k === null ? "" : `expects ${formatSigned(change.expected_delta_k)}`}
    </span>
    <span class="quiet when">
      {children}
      <Age at={change.created_at} />
    </span>
  </article>
);
