import type { ComponentChildren } from "preact";
import type { Change } from "../core/api_types.ts";
import { figure, signed } from "../core/format.ts";
import { changeHref } from "../core/router.tsx";
import { type ShortChange, shortly } from "../domain/sentences.ts";
import { statusMark } from "../domain/statuses.ts";
import { Mark } from "./mark.tsx";
import { Given, Sentence } from "./text.tsx";
import { Age } from "./time.tsx";

type Shown = ShortChange &
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
  change: Shown;
  drift: unknown;
  children?: ComponentChildren;
}) => (
  <article class="change-row">
    <Mark of={statusMark({ ...change, drift })} />
    <div class="change-name">
      <a data-row href={changeHref(change.change_id)}>
        <Given text={change.summary || change.change_id} />
      </a>
      <p class="quiet">
        <Sentence parts={shortly(change)} />
      </p>
    </div>
    <span class="quiet reach">
      {change.affected_users === null ? "People affected: unknown" : `${figure(change.affected_users)} affected`}
    </span>
    <span class="quiet gain">
      {change.expected_delta_k === null ? "" : `expects ${signed(change.expected_delta_k)}`}
    </span>
    <span class="quiet when">
      {children}
      <Age at={change.created_at} />
    </span>
  </article>
);
