/** The actions on a change that the reader may take, and the reasons why others are blocked. */
import { Button } from "../../parts/button.tsx";
import { isReviewDue } from "../../../../lib/changes/rules/current_state.ts";
import type { ChangeDetail, RelatedChange, Change } from "../../core/api_types.ts";
import { formatDateTime, endSentence } from "../../core/format.ts";
import { listFollowUps } from "../../domain/follow_ups.ts";
import { type ChangeAction, CHANGE_ACTIONS, listObstacles } from "../../domain/change_actions.ts";
import { LinkedMessage } from "../../parts/change_name.tsx";
import { Icon } from "../../parts/badge.tsx";
import type { ComponentChildren } from "preact";
import { href } from "../../core/router.tsx";
import { useUnopenedEntries } from "../../domain/plan.ts";
import { UserText } from "../../parts/text.tsx";

const STYLE = { danger: "danger outline", secondary: "secondary" } as const;

/** Messages of rejected requests, by action. */
export type Rejections = Partial<Record<ChangeAction, string>>;

/** The allowed actions, and blocked ones with the reason; `tap` approves without a dialog. */
export function DecisionBar(props: {
  change: ChangeDetail;
  allowed: readonly ChangeAction[];
  rejections: Rejections;
  tap?: ComponentChildren;
  /** It expires within twelve hours. */
  expiresSoon: boolean;
  onDecide: (action: ChangeAction) => void;
}) {
  const { change, allowed, rejections, tap, expiresSoon, onDecide } = props;
  const obstacles = listObstacles(change);
  // A drifted change has its follow-ups in the panel of the drift.
  const hasFollowUps = !change.drift && listFollowUps(change).length > 0;
  const isFolded = (action: ChangeAction) => action === "approve_emergency" && !isUrgent(change, expiresSoon);
  const unfolded = allowed.filter((action) => !isFolded(action));
  const folded = allowed.filter(isFolded);
  const drawButton = (action: ChangeAction) => {
    const { label, style } = CHANGE_ACTIONS[action];
    const offersNote = action === "approve" && tap !== undefined;
    return (
      <Button
        key={action}
        class={offersNote ? "secondary" : style && STYLE[style]}
        onClick={() => onDecide(action)}
        label={offersNote ? "Approve with a note…" : `${label}…`}
      />
    );
  };
  return (
    <section class="decision-bar" aria-label="Decision">
      {tap}
      {tap && <UnopenedEntries change={change} />}
      {isReviewDue(change) && (
        <p class="full-line">
          It was approved as an emergency, and the consent is to be reviewed by {formatDateTime(change.review!.due_at)}.
          {allowed.includes("accept_emergency") && " Was it right?"}
        </p>
      )}
      {(unfolded.length > 0 || hasFollowUps) && (
        <div class="buttons">
          {unfolded.map(drawButton)}
          {hasFollowUps && <FollowUpLinks change={change} />}
        </div>
      )}
      <ul class="refused">
        {allowed
          .filter((action) => rejections[action])
          .map((action) => (
            <Obstacle
              key={action}
              label={`${CHANGE_ACTIONS[action].label} was refused`}
              reason={endSentence(rejections[action]!)}
              related={change.related}
            />
          ))}
      </ul>
      {folded.length > 0 && (
        <details>
          <summary>In an emergency</summary>
          {folded.map(drawButton)}
        </details>
      )}
      {obstacles.length > 0 && (
        <details>
          <summary>Why not?</summary>
          <ul class="refused">
            {obstacles.map(([title, reason]) => (
              <Obstacle key={title} label={title} reason={reason} related={change.related} />
            ))}
          </ul>
        </details>
      )}
    </section>
  );
}

/** Returns true if a freeze or window blocks the change, or if it expires soon. */
const isUrgent = ({ gates }: ChangeDetail, expiresSoon: boolean): boolean =>
  expiresSoon || gates.some(({ gate, state }) => state === "block" && (gate === "freeze" || gate === "window"));

const Obstacle = ({ label, reason, related }: { label: string; reason: string; related: readonly RelatedChange[] }) => (
  <li>
    <Icon shape="cross" />
    <span>
      <strong>{label}:</strong> <LinkedMessage text={reason} related={related} />
    </span>
  </li>
);

/** Links to proposals that start from the change. */
export const FollowUpLinks = ({ change }: { change: ChangeDetail }) => (
  <>
    {listFollowUps(change).map(({ label, take, by = "supersedes" }) => (
      <a key={label} class="button secondary" href={href(["propose"], { [by]: change.change_id, take })}>
        {label}…
      </a>
    ))}
  </>
);

/** Names the differences of a plan that the reader has not opened. */
export function UnopenedEntries({ change }: { change: Change }) {
  const unopened = useUnopenedEntries(change);
  if (!change.sets) return null;
  return (
    <p class="full-line" role="status">
      {unopened.length === 0 ? (
        `All ${change.sets.length} differences opened.`
      ) : (
        <>
          <strong>
            {unopened.length} of {change.sets.length} not opened
          </strong>
          : <UserText text={unopened.map(({ target }) => target).join(", ")} />.
        </>
      )}
    </p>
  );
}
