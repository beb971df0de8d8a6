import type { Action, ChangeDetail, Policy } from "../../core/api_types.ts";
import { useValue } from "../../core/hooks.tsx";
import { personName } from "../../core/session.ts";
import { ACTION_LABEL, type Offer, offersOf } from "../../domain/offers.ts";
import { Sign } from "../../parts/mark.tsx";
import { Given } from "../../parts/text.tsx";

const STYLE: Partial<Record<Action, string>> = {
  deny: "danger outline",
  rollback: "danger outline",
  withdraw: "secondary",
  revoke: "danger outline",
};

/** What the service said when it refused this person. */
export type Refusals = Partial<Record<Action, string>>;

/** What can be done, and what cannot with the reason. */
export function DecisionBar({
  change,
  policy,
  refusals,
  onDecide,
}: {
  change: ChangeDetail;
  policy: Policy | undefined;
  refusals: Refusals;
  onDecide: (action: Action) => void;
}) {
  const name = useValue(personName);
  const offers = offersOf(change, name, policy);
  const open = offers.filter(({ refused }) => refused === null);
  const closed = offers.filter(({ refused }) => refused !== null);
  return (
    <section class="decision-bar" aria-label="Decision">
      {open.length > 0 && (
        <div class="buttons">
          {open.map(({ action, label }) => (
            <button key={action} type="button" class={STYLE[action] ?? ""} onClick={() => onDecide(action)}>
              {label}…
            </button>
          ))}
        </div>
      )}
      <ul class="refused">
        {open
          .filter(({ action }) => refusals[action])
          .map(({ action }) => (
            <Closed key={`said-${action}`} label={`${ACTION_LABEL[action]} was refused`} reason={refusals[action]!} />
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
