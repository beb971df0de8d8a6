import type { ComponentChildren } from "preact";
import { describeAutomation } from "../../../../lib/changes/rules/automation_words.ts";
import { isLive } from "../../../../lib/changes/rules/in_force.ts";
import type { InboxItem } from "../../core/api_types.ts";
import { people } from "../../core/format.ts";
import { useNow } from "../../core/hooks.tsx";
import { changeHref } from "../../core/router.tsx";
import { unnamed } from "../../domain/named.ts";
import { timeLeft } from "../../domain/expiry.ts";
import { isUnstated, describeRequest } from "../../domain/sentences.ts";
import { ConsentCount } from "../../parts/consent_count.tsx";
import { Sign } from "../../parts/mark.tsx";
import { Given, Sentence } from "../../parts/text.tsx";
import { Age } from "../../parts/time.tsx";

/** More people than this make a mark of their own. */
const MANY = 1000;

/** Gates that the row has words for, and the freeze, which stands above every page. */
const SAID_ELSEWHERE: readonly string[] = ["consent", "reversible", "freeze"];

/** A change that waits: its title, what weighs, what is asked, and what is in the way. The whole row leads to it. */
export function InboxRow({ item }: { item: InboxItem }) {
  const now = useNow();
  // An applied change shows the date of its review instead, from its gate.
  const ends = isLive(item.status) ? item.expires_at : null;
  const expiry = ends === null ? undefined : timeLeft(item.status, Date.parse(ends), now);
  const automation = describeAutomation(item, useNow());
  const inTheWay = item.gates.filter(({ gate }) => !SAID_ELSEWHERE.includes(gate));
  return (
    <article class="row">
      <p class="row-title">
        <a data-row href={changeHref(item.change_id)}>
          <Given text={item.title || `${item.kind} of ${item.target}`} />
        </a>
      </p>
      <p class="row-words">
        <Sentence parts={describeRequest(item)} />
      </p>
      <p class="row-meta">
        {item.risk === "high" && <Weighs>High risk</Weighs>}
        {item.sets_nothing && <Weighs>No value set</Weighs>}
        {automation && <Weighs>{automation[0]!.toUpperCase() + automation.slice(1)}</Weighs>}
        {item.value_hint && <Weighs>{item.value_hint}</Weighs>}
        {!item.reversible && <Weighs>Cannot be undone</Weighs>}
        {(item.affected_users ?? 0) > MANY && <Weighs>{people(item.affected_users!)}</Weighs>}
        <ConsentCount change={item} />
        <span>
          {item.tier}
          {item.risk !== "high" && (isUnstated(item, "risk") ? ", risk not stated" : `, ${item.risk} risk`)}
        </span>
        <Age at={item.since} />
        {expiry && (expiry.soon ? <Weighs>{expiry.text}</Weighs> : <span>{expiry.text}</span>)}
        {inTheWay.map((gate) => (
          <Weighs key={gate.gate + gate.message}>
            <Given text={unnamed(gate)} />
          </Weighs>
        ))}
      </p>
    </article>
  );
}

const Weighs = ({ children }: { children: ComponentChildren }) => (
  <span class="mark warn">
    <Sign shape="bang" />
    {children}
  </span>
);
