import { isReviewDue } from "../../../../lib/changes/rules/in_force.ts";
import type { ChangeDetail, Related } from "../../core/api_types.ts";
import { dateTime, ended } from "../../core/format.ts";
import { useValue } from "../../core/hooks.tsx";
import { personName } from "../../core/session.ts";
import { waysOn } from "../../domain/again.ts";
import { type ChangeAction, CHANGE_ACTIONS } from "../../domain/change_actions.ts";
import { type Offer, offersOf, type Rules } from "../../domain/offers.ts";
import { Named } from "../../parts/change_name.tsx";
import { Sign } from "../../parts/mark.tsx";
import { Ways } from "./ways.tsx";
import type { ComponentChildren } from "preact";

const STYLE = { danger: "danger outline", secondary: "secondary" } as const;

/** What the service said when it refused this person. */
export type Refusals = Partial<Record<ChangeAction, string>>;

/** What can be done, and what cannot with the reason; `tap` is a consent that is given here, without a dialog. */
export function DecisionBar({
  change,
  rules,
  refusals,
  tap,
  soon,
  onDecide,
}: {
  change: ChangeDetail;
  rules: Rules;
  refusals: Refusals;
  tap?: ComponentChildren;
  /** Its time is nearly over. */
  soon: boolean;
  onDecide: (action: ChangeAction) => void;
}) {
  const name = useValue(personName);
  const offers = offersOf(change, name, rules);
  const open = offers.filter(({ refused }) => refused === null);
  // Those of a drifted change stand beside the picture of it.
  const ways = !change.drift && waysOn(change).length > 0;
  const closed = offers.filter(({ refused }) => refused !== null);
  const isUnusual = ({ action }: Offer) => action === "approve_emergency" && !isUrgent(change, soon);
  const shown = open.filter((offer) => !isUnusual(offer));
  const unusual = open.filter(isUnusual);
  const choose = ({ action, label }: Offer) => {
    const { look } = CHANGE_ACTIONS[action];
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
      {isReviewDue(change) && (
        <p class="whole">
          It was approved as an emergency, and the consent is to be reviewed by {dateTime(change.review!.due_at)}. Was
          it right?
        </p>
      )}
      {(shown.length > 0 || ways) && (
        <div class="buttons">
          {shown.map(choose)}
          {ways && <Ways change={change} />}
        </div>
      )}
      <ul class="refused">
        {open
          .filter(({ action }) => refusals[action])
          .map(({ action, label }) => (
            <Closed
              key={`said-${action}`}
              label={`${label} was refused`}
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
      {closed.length > 0 && (
        <details>
          <summary>Why not?</summary>
          <ul class="refused">
            {groupByReason(closed).map(([reason, labels]) => (
              <Closed key={reason} label={labels.join(", ")} reason={reason} related={change.related} />
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

/** Groups what is refused for the same reason. */
function groupByReason(closed: readonly Offer[]): [reason: string, labels: string[]][] {
  const grouped = new Map<string, string[]>();
  for (const { label, refused } of closed) {
    grouped.set(refused!, [...(grouped.get(refused!) ?? []), label]);
  }
  return [...grouped];
}

const Closed = ({ label, reason, related }: { label: string; reason: string; related: readonly Related[] }) => (
  <li>
    <Sign shape="cross" />
    <span>
      <strong>{label}:</strong> <Named text={reason} related={related} />
    </span>
  </li>
);
