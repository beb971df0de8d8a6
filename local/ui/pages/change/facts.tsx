/** The facts of a change, and what is not stated, as chips. */
import { isReviewDue } from "../../../../lib/changes/rules/current_state.ts";
import type { ComponentChildren } from "preact";
import type { ChangeDetail } from "../../core/api_types.ts";
import { formatCount, formatDateTime, formatNumber, formatPeople } from "../../core/format.ts";
import { href } from "../../core/router.tsx";
import { isUnstated } from "../../domain/sentences.ts";
import { UserText } from "../../parts/text.tsx";

const NOT_STATED = "not stated";

/** Prefix of the approver's name where a mandate approved. */
const MANDATE_PREFIX = "mandate:";

/** Shows all facts but target and tenant, which the sentence above names. A share is in hundredths of a percent. */
export function ChangeFacts({ change }: { change: ChangeDetail }) {
  const { affected_users: affected, reversible, risk, tier, erased, required_approvers: needed } = change;
  const mandate = change.approvals
    .find(({ approver }) => approver.startsWith(MANDATE_PREFIX))
    ?.approver.slice(MANDATE_PREFIX.length);
  const unstated = (field: "risk" | "reversible") => isUnstated(change, field);
  return (
    <ul class="chips" aria-label="Facts">
      <Chip name="Kind">{change.kind.replaceAll("_", " ")}</Chip>
      <Chip name="People affected" warns={affected === null && !erased}>
        {affected === null ? (erased ? "erased" : NOT_STATED) : formatPeople(affected)}
      </Chip>
      <Chip name="Undo" warns={unstated("reversible") || !reversible}>
        {unstated("reversible") ? NOT_STATED : reversible ? "possible" : "not possible"}
      </Chip>
      <Chip name="Risk" warns={unstated("risk") || risk === "high"}>
        {unstated("risk") ? NOT_STATED : risk}
      </Chip>
      <Chip name="Tier">
        {tier}, {needed === 0 ? "approved by the intent" : formatCount(needed, "approval")}
      </Chip>
      {change.stages && (
        <Chip name="Rollout">
          {formatCount(change.stages.steps.length, "step")}, from {formatNumber(change.stages.steps[0]!.share / 100)}%
          of the users
        </Chip>
      )}
      {mandate !== undefined && (
        <Chip>
          <a href={href(["mandates", mandate])}>Approved by a mandate</a>
        </Chip>
      )}
      {change.promotes !== undefined && (
        <Chip name="Promotes">
          <a href={href(["changes", change.promotes])}>the value of another change</a>
        </Chip>
      )}
      {change.apply_when !== undefined && !change.automation_stopped && (
        <Chip warns>
          Applies by itself{" "}
          {change.apply_when === "approved" ? "once approved" : `at ${formatDateTime(change.apply_when)}`}
        </Chip>
      )}
      {change.tier_reason !== undefined && change.tier_reason !== null && !isReviewDue(change) && (
        <Chip>
          <UserText text={change.tier_reason} />
        </Chip>
      )}
    </ul>
  );
}

const Chip = ({ name, warns = false, children }: { name?: string; warns?: boolean; children: ComponentChildren }) => (
  <li class={warns ? "warn" : undefined}>
    {name && <span class="quiet">{name}: </span>}
    {children}
  </li>
);
