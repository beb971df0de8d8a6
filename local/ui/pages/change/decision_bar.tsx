import { isReviewDue } from "../../../../lib/changes/rules/in_force.ts";
import type { ChangeDetail, Related } from "../../core/api_types.ts";
import { dateTime, ended } from "../../core/format.ts";
import { listWays } from "../../domain/again.ts";
import { type ChangeAction, CHANGE_ACTIONS } from "../../domain/change_actions.ts";
import { listObstacles } from "../../domain/offers.ts";
import { Named } from "../../parts/change_name.tsx";
import { Sign } from "../../parts/mark.tsx";
import { Unopened } from "../../parts/unopened.tsx";
import { Ways } from "./ways.tsx";
import type { ComponentChildren } from "preact";

const STYLE = { danger: "danger outline", secondary: "secondary" } as const;

/** Messages of the service when it rejected this person. */
export type Refusals = Partial<Record<ChangeAction, string>>;

/** The allowed actions, and the others with the reason; `tap` is a consent that is given here, without a dialog. */
export function DecisionBar({
  change,
  offers,
  refusals,
  tap,
  soon,
  onDecide,
}: {
  change: ChangeDetail;
  offers: readonly ChangeAction[];
  refusals: Refusals;
  tap?: ComponentChildren;
  /** Its time is nearly over. */
  soon: boolean;
  onDecide: (action: ChangeAction) => void;
}) {
  const obstacles = listObstacles(change);
  // Actions of a drifted change stand next to the picture of it.
  const ways = !change.drift && listWays(change).length > 0;
  const isUnusual = (action: ChangeAction) => action === "approve_emergency" && !isUrgent(change, soon);
  const shown = offers.filter((action) => !isUnusual(action));
  const unusual = offers.filter(isUnusual);
  const choose = (action: ChangeAction) => {
    const { label, look } = CHANGE_ACTIONS[action];
    const withNote = action === "approve" && tap !== undefined;
    return (
      <button
        key={action}
        type="button"
        class={withNote ? "secondary" : look && STYLE[look]}
        onClick={() => onDecide(action)}
      >
        {withNote ? "Approve with a note…" : `${label}…`}
      </button>
    );
  };
  return (
    <section class="decision-bar" aria-label="Decision">
      {tap}
      {tap && <Unopened change={change} />}
      {isReviewDue(change) && (
        <p class="whole">
          It was approved as an emergency, and the consent is to be reviewed by {dateTime(change.review!.due_at)}.
          {offers.includes("accept_emergency") && " Was it right?"}
        </p>
      )}
      {(shown.length > 0 || ways) && (
        <div class="buttons">
          {shown.map(choose)}
          {ways && <Ways change={change} />}
        </div>
      )}
      <ul class="refused">
        {offers
          .filter((action) => refusals[action])
          .map((action) => (
            <Closed
              key={action}
              label={`${CHANGE_ACTIONS[action].label} was refused`}
              reason={ended(refusals[action]!)}
              related={change.related}
            />
          ))}
      </ul>
      {unusual.length > 0 && (
        <details>
          <summary>In an emergency</summary>
          {unusual.map(choose)}
        </details>
      )}
      {obstacles.length > 0 && (
        <details>
          <summary>Why not?</summary>
          <ul class="refused">
            {obstacles.map(([title, reason]) => (
              <Closed key={title} label={title} reason={reason} related={change.related} />
            ))}
          </ul>
        </details>
      )}
    </section>
  );
}

/** Returns true where the ordinary way is closed or nearly over. */
const isUrgent = ({ gates }: ChangeDetail, soon: boolean): boolean =>
  soon || gates.some(({ gate, state }) => state === "block" && (gate === "freeze" || gate === "window"));

const Closed = ({ label, reason, related }: { label: string; reason: string; related: readonly Related[] }) => (
  <li>
    <Sign shape="cross" />
    <span>
      <strong>{label}:</strong> <Named text={reason} related={related} />
    </span>
  </li>
);
