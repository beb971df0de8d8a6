import type { ComponentChildren } from "preact";
import type { Change } from "../core/api_types.ts";
import { changeHref } from "../core/router.tsx";
import { requestOf } from "../domain/sentences.ts";
import { statusMark } from "../domain/statuses.ts";
import { Mark } from "./mark.tsx";
import { Given, Sentence } from "./text.tsx";
import { Age } from "./time.tsx";

/** A change in a list: its sentence, the proposer's words, how it stands (unless the list says so). The whole row leads to it. */
export function ChangeRow({
  change,
  marked = true,
  children,
}: {
  change: Change;
  marked?: boolean;
  children?: ComponentChildren;
}) {
  return (
    <article class="row">
      <p class="row-title">
        <a data-row href={changeHref(change.change_id)}>
          <Sentence parts={requestOf(change)} />
        </a>
      </p>
      <p class="row-words">
        <Given text={change.summary} />
      </p>
      <p class="row-meta">
        {marked && <Mark of={statusMark(change)} />}
        <ConsentCount change={change} />
        <span>
          {change.tier}, {change.risk} risk
        </span>
        <Age at={change.created_at} />
        {children}
      </p>
    </article>
  );
}

/** "1 of 2 consents", for what still waits. */
export const ConsentCount = ({ change }: { change: Change }) =>
  change.status === "pending_consent" ? (
    <span>
      {change.approvals.filter(({ emergency }) => !emergency).length} of {change.required_approvers}{" "}
      {change.required_approvers === 1 ? "consent" : "consents"}
    </span>
  ) : null;
