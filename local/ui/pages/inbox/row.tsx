import type { ComponentChildren } from "preact";
import { describeAutomation } from "../../../../lib/changes/rules/automation_words.ts";
import { isLive } from "../../../../lib/changes/rules/current_state.ts";
import type { InboxItem } from "../../core/api_types.ts";
import { formatPeople } from "../../core/format.ts";
import { useNow } from "../../core/hooks.tsx";
import { changeHref } from "../../core/router.tsx";
import { describeGate } from "../../domain/messages.ts";
import { describeTimeLeft } from "../../domain/expiry.ts";
import { isUnstated, describeRequest } from "../../domain/sentences.ts";
import { ConsentCount } from "../../parts/consent_count.tsx";
import { Icon } from "../../parts/badge.tsx";
import { UserText, Sentence, UserLink, SentenceLine } from "../../parts/text.tsx";
import { Age } from "../../parts/time.tsx";

/** More affected people than this are a warning. */
const MANY_USERS = 1000;

/** Gates that the row describes otherwise, and the freeze, which every page shows. */
const SHOWN_ELSEWHERE: readonly string[] = ["consent", "reversible", "freeze"];

/** A waiting change: title, request, warnings and blocking gates. The row is a link to it. */
export function InboxRow({ item }: { item: InboxItem }) {
  const now = useNow();
  // An applied change shows the date of its review instead, from its gate.
  const ends = isLive(item.status) ? item.expires_at : null;
  const expiry = ends === null ? undefined : describeTimeLeft(item.status, Date.parse(ends), now);
  const automation = describeAutomation(item, useNow());
  const blocking = item.gates.filter(({ gate }) => !SHOWN_ELSEWHERE.includes(gate));
  return (
    <article class="row">
      <p class="row-title">
        <UserLink data-row href={changeHref(item.change_id)} text={item.title || `${item.kind} of ${item.target}`} />
      </p>
      <SentenceLine class="row-words" parts={describeRequest(item)} />
      <p class="row-meta">
        {item.risk === "high" && <Warning>High risk</Warning>}
        {item.sets_nothing && <Warning>No value set</Warning>}
        {automation && <Warning>{automation[0]!.toUpperCase() + automation.slice(1)}</Warning>}
        {item.value_hint && <Warning>{item.value_hint}</Warning>}
        {!item.reversible && <Warning>Cannot be undone</Warning>}
        {(item.affected_users ?? 0) > MANY_USERS && <Warning>{formatPeople(item.affected_users!)}</Warning>}
        <ConsentCount change={item} />
        <span>
          {item.tier}
          {item.risk !== "high" && (isUnstated(item, "risk") ? ", risk not stated" : `, ${item.risk} risk`)}
        </span>
        <Age at={item.since} />
        {expiry && (expiry.soon ? <Warning>{expiry.text}</Warning> : <span>{expiry.text}</span>)}
        {blocking.map((gate) => (
          <Warning key={gate.gate + gate.message}>
            <UserText text={describeGate(gate)} />
          </Warning>
        ))}
      </p>
    </article>
  );
}

const Warning = ({ children }: { children: ComponentChildren }) => (
  <span class="mark warn">
    <Icon shape="bang" />
    {children}
  </span>
);
