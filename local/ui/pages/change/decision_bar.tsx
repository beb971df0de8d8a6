import { isReviewDue } from "../../../../lib/governance/rules/in_force.ts";
import type { ChangeDetail } from "../../core/api_types.ts";
import { dateTime, ended } from "../../core/format.ts";
import { useValue } from "../../core/hooks.tsx";
import { personName } from "../../core/session.ts";
import { type Deed, DEEDS } from "../../domain/deeds.ts";
import { type Offer, offersOf, type Rules } from "../../domain/offers.ts";
import { Sign } from "../../parts/mark.tsx";
import { Given } from "../../parts/text.tsx";
import type { ComponentChildren } from "preact";

const STYLE = { danger: "danger outline", secondary: "secondary" } as const;

/** What the service said when it refused this person. */
export type Refusals = Partial<Record<Deed, string>>;

/** What can be done, and what cannot with the reason; `tap` is a consent that is given here, without a dialog. */
export function DecisionBar({
  change,
  rules,
  refusals,
  tap,
  onDecide,
}: {
  change: ChangeDetail;
  rules: Rules;
  refusals: Refusals;
  tap?: ComponentChildren;
  onDecide: (deed: Deed) => void;
}) {
  const name = useValue(personName);
  const offers = offersOf(change, name, rules);
  const open = offers.filter(({ refused }) => refused === null);
  const closed = offers.filter(({ refused }) => refused !== null);
  return (
    <section class="decision-bar" aria-label="Decision">
      {tap}
      {isReviewDue(change) && (
        <p class="whole">
          It was approved as an emergency, and the consent is to be reviewed by {dateTime(change.review!.due_at)}. Was
          it right?
        </p>
      )}
      {open.length > 0 && (
        <div class="buttons">
          {open.map(({ deed, label }) => {
            const { look } = DEEDS[deed];
            const withNote = deed === "approve" && tap !== undefined;
            return (
              <button
                key={deed}
                type="button"
                class={withNote ? "secondary" : look && STYLE[look]}
                onClick={() => onDecide(deed)}
              >
                {withNote ? "Approve with a note…" : `${label}…`}
              </button>
            );
          })}
        </div>
      )}
      <ul class="refused">
        {open
          .filter(({ deed }) => refusals[deed])
          .map(({ deed, label }) => (
            <Closed key={`said-${deed}`} label={`${label} was refused`} reason={ended(refusals[deed]!)} />
          ))}
        {byReason(closed).map(([reason, labels]) => (
          <Closed key={reason} label={labels.join(", ")} reason={reason} />
        ))}
      </ul>
    </section>
  );
}

/** What is refused for one reason is told once. */
function byReason(closed: readonly Offer[]): [reason: string, labels: string[]][] {
  const grouped = new Map<string, string[]>();
  for (const { label, refused } of closed) {
    grouped.set(refused!, [...(grouped.get(refused!) ?? []), label]);
  }
  return [...grouped];
}

const Closed = ({ label, reason }: { label: string; reason: string }) => (
  <li>
    <Sign shape="cross" />
    <span>
      <strong>{label}:</strong> <Given text={reason} />
    </span>
  </li>
);
