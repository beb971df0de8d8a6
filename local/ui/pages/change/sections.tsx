/** The panels with the value and the gates of a change. */
import { describeNoValue } from "../../domain/cautions.ts";
import { isOpenChange } from "../../../../lib/changes/rules/current_state.ts";
import type { ChangeDetail, Gate } from "../../core/api_types.ts";
import { lazy } from "../../core/lazy.tsx";
import { changeHref } from "../../core/router.tsx";
import { listRelated } from "../../domain/follow_ups.ts";
import { useHistory, findReplaced } from "../../domain/change_history.ts";
import { isPatch } from "../../domain/text_diff.ts";
import { type Badge, formatTitle } from "../../domain/statuses.ts";
import { Cautions, Failure } from "../../parts/notice.tsx";
import { ChangeNames, LinkedMessage } from "../../parts/change_name.tsx";
import { ValueDiff } from "../../parts/diff.tsx";
import { StatusBadge } from "../../parts/badge.tsx";
import { Panel } from "../../parts/panel.tsx";
import { UserText, Prose, SentenceLine } from "../../parts/text.tsx";
import { Moment } from "../../parts/time.tsx";
import { HostPreview } from "./host_preview.tsx";

const PlanChanges = lazy(() => import("./plan.tsx").then((part) => part.PlanChanges));

/** The new value of the change, compared with the earlier one, and the reason. */
export function ValuePanel({ change }: { change: ChangeDetail }) {
  const { data: history, error } = useHistory(change);
  const before = history && findReplaced(change, history);
  // A closed change, and a plan whose history was not read, show only this; an open change shows it with its dry run or instead.
  const recorded = history ? <RecordedDifference change={change} before={before} /> : <Failure error={error} />;
  const live = listRelated(change, "live");
  const shownIds = [change, ...live].map(({ change_id }) => change_id);
  const others = (history ?? []).filter(({ change_id }) => !shownIds.includes(change_id)).slice(0, 5);
  return (
    <Panel title="Changes">
      {change.erased ? (
        <p>
          Its content was erased on <Moment at={change.erased.at} />: texts and values are gone. The log and the digest
          stay.
        </p>
      ) : change.sets && history ? (
        <PlanChanges change={change} history={history} />
      ) : !isOpenChange(change.status) || change.sets ? (
        recorded
      ) : isPatch(change.value) ? (
        <>
          {recorded}
          <HostPreview change={change} />
        </>
      ) : (
        <HostPreview change={change} before={before}>
          {change.value !== undefined && recorded}
        </HostPreview>
      )}
      {!change.erased && !isOpenChange(change.status) && change.value_hint !== undefined && (
        <Cautions of={[[change.value_hint]]} />
      )}
      {!change.erased && (
        <>
          <h3>Why</h3>
          <Prose text={change.rationale} empty="No rationale was given." />
          <LateRationale change={change} />
        </>
      )}
      {live.length > 0 && (
        <>
          <h3>What else waits for this target</h3>
          <ChangeNames of={live} />
        </>
      )}
      {others.length > 0 && (
        <details>
          <summary>Other changes on this target</summary>
          <ChangeNames of={others} />
        </details>
      )}
    </Panel>
  );
}

/** The new value of the change, compared with the value that the service set there before. */
const RecordedDifference = ({ change, before }: { change: ChangeDetail; before: ReturnType<typeof findReplaced> }) =>
  change.value === undefined ? (
    <SentenceLine parts={describeNoValue(change.target)} />
  ) : (
    <>
      {!isPatch(change.value) && (
        <p class="quiet">
          {before ? (
            <>
              Against what <a href={changeHref(before.by)}>the change before it</a> set:
            </>
          ) : (
            <>
              Nothing was set at <UserText text={change.target} code /> through this service before; the change sets:
            </>
          )}
        </p>
      )}
      <ValueDiff label="Before and after" before={before} after={change} />
    </>
  );

/** A rationale that was added after the decision. */
function LateRationale({ change: { late_notes = [] } }: { change: ChangeDetail }) {
  const late = late_notes.find(({ item }) => item === "rationale");
  if (!late) return null;
  return (
    <>
      <p class="quiet">
        Added later by <UserText text={late.actor ?? "an unnamed person"} />, <Moment at={late.at} />:
      </p>
      <Prose text={late.note} />
    </>
  );
}

/** Returns true for a missing consent of a pending change, which is not a fault. */
const isAwaited = (gate: Gate["gate"], { status }: ChangeDetail): boolean =>
  status === "pending_consent" && (gate === "consent" || gate === "owners");

const AWAITED_BADGE: Badge = { word: "Waits", shape: "quarter", tone: "wait" };

const GATE_BADGES: Readonly<Record<Gate["state"], Badge>> = {
  pass: { shape: "check", tone: "good", word: "Passes" },
  block: { shape: "cross", tone: "bad", word: "Blocks" },
  warn: { shape: "bang", tone: "warn", word: "Warns" },
};

export const Gates = ({ change }: { change: ChangeDetail }) =>
  change.gates.length === 0 ? null : (
    <Panel title="Gates">
      <ul class="gates">
        {change.gates.map(({ gate, state, message }) => (
          <li key={gate}>
            <StatusBadge of={isAwaited(gate, change) ? AWAITED_BADGE : GATE_BADGES[state]} />
            <span>
              <strong>{formatTitle(gate)}</strong> <LinkedMessage text={message} related={change.related} />
            </span>
          </li>
        ))}
      </ul>
    </Panel>
  );
