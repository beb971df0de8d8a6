/** The first page: changes that wait for the reader, then concerns and own proposals. */
import { Button, CopyBlock } from "../parts/button.tsx";
import type { InboxItem, Change, ChangeDetail } from "../core/api_types.ts";
import { apiUrl } from "../core/api.ts";
import { formatCount, formatPeople } from "../core/format.ts";
import { useTitle, useValue, useWaitingCount, useNow } from "../core/hooks.tsx";
import { useResource } from "../core/resource.tsx";
import { changeHref, href } from "../core/router.tsx";
import { adminToken, personName } from "../core/session.ts";
import { useFind, useServiceState } from "../core/shared.ts";
import { type Concern, readInbox, listServiceConcerns } from "../domain/inbox.ts";
import { ChangeRow } from "../parts/change_row.tsx";
import { Icon } from "../parts/badge.tsx";
import { Failure, Notice } from "../parts/notice.tsx";
import { PageHead, Panel, PendingPage } from "../parts/panel.tsx";
import { UserText, UserLink, SentenceLine } from "../parts/text.tsx";
import { countApprovals, isUnstated, describeRequest } from "../domain/sentences.ts";
import type { ComponentChildren } from "preact";
import { describeAutomation } from "../../../lib/changes/rules/automation_words.ts";
import { isOpenChange } from "../../../lib/changes/rules/current_state.ts";
import { describeGate } from "../domain/messages.ts";
import { describeTimeLeft } from "../domain/expiry.ts";
import { Age } from "../parts/time.tsx";

export function InboxPage({ onYou }: { onYou: () => void }) {
  const name = useValue(personName);
  const { data, error } = useResource(`inbox of ${name}`, (signal) => readInbox(name, signal));
  const { data: state, error: stateError } = useServiceState();
  const isReady = data !== undefined && (state !== undefined || stateError !== undefined);
  useTitle("Inbox");
  useWaitingCount(data && (data.totals.waiting_for_you ?? data.totals.pending));
  if (!isReady) return <PendingPage title="Inbox" error={error} what="what waits" />;
  const { totals, decidable, approved, reviews, hasMore } = data;
  const { pending, waiting_for_you } = totals;
  const own = waiting_for_you ?? pending;
  const others = pending - own;
  const concerns = [...listServiceConcerns(state), ...data.concerns];
  const isEmpty = pending + totals.approved + reviews.length + concerns.length === 0;
  return (
    <>
      <PageHead
        title="Inbox"
        lead={`${own > 0 ? formatCount(own, "change waits", "changes wait") : "Nothing waits"} for ${waiting_for_you === null ? "" : "your "}consent.`}
      >
        <a class="button secondary" href={href(["propose"])}>
          Propose a change
        </a>
      </PageHead>
      {error !== undefined && <Failure error={error} />}
      {name === "" && !isEmpty && (
        <Notice tone="wait">
          <p>
            This window does not know who you are, so it shows everything.{" "}
            <Button class="link" onClick={onYou} label="Set your name" />
          </p>
        </Notice>
      )}
      {isEmpty && <EmptyInbox />}
      <InboxGroup title="Review due" items={reviews} total={reviews.length} />
      <InboxGroup
        title={waiting_for_you === null ? "Waiting for consent" : "Waits for you"}
        items={decidable}
        total={own}
      />
      <InboxGroup title="Approved, not applied" items={approved} total={totals.approved} />
      {(hasMore || others > 0) && (
        <p>
          {others > 0 && (
            <a href={href(["changes"], { q: "is:pending_consent" })}>
              {formatCount(others, "more waits", "more wait")} for others
            </a>
          )}
          {others > 0 && hasMore && ". "}
          {hasMore && <a href={href(["changes"], { q: "is:approved,pending_consent" })}>Show everything that waits</a>}
        </p>
      )}
      {concerns.length > 0 && (
        <Panel title="Needs attention" aside={<Count of={concerns.length} />}>
          <ul class="rows">
            {concerns.map((concern) => (
              <ConcernRow key={concern.title + (concern.change_id ?? concern.mandate_id ?? "")} concern={concern} />
            ))}
          </ul>
        </Panel>
      )}
      {name !== "" && <YourProposals />}
    </>
  );
}

const Count = ({ of }: { of: number }) => <span class="count">{of}</span>;

function InboxGroup({ title, items, total }: { title: string; items: readonly InboxItem[]; total: number }) {
  if (total === 0) return null;
  return (
    <Panel title={title} aside={<Count of={total} />}>
      <ul class="rows">
        {items.map((item) => (
          <li key={item.change_id}>
            <InboxRow item={item} />
          </li>
        ))}
      </ul>
    </Panel>
  );
}

function ConcernRow({ concern: { tone, title, detail, change_id, page, kpi, mandate_id } }: { concern: Concern }) {
  const address =
    (change_id && changeHref(change_id)) ||
    (mandate_id && href(["mandates", mandate_id])) ||
    (kpi && href(["kpis"], { kpi })) ||
    (page && href([page]));
  return (
    <li>
      <article class="row">
        <p class={`row-title mark ${tone}`}>
          <Icon shape="bang" />
          {address ? <UserLink data-row href={address} text={title} /> : <UserText text={title} />}
        </p>
        <p class="row-words">
          <UserText text={detail} />
        </p>
      </article>
    </li>
  );
}

const MAX_OWN_PROPOSALS = 5;

function YourProposals() {
  const q = "is:mine";
  const { data } = useFind(q, { limit: MAX_OWN_PROPOSALS });
  if (!data || data.total === 0) return null;
  return (
    <Panel title="Your proposals" aside={<Count of={data.total} />}>
      <ul class="found-rows">
        {data.rows.map((row) => (
          <li key={row.change_id}>
            <ChangeRow change={row} drift={row.drift} />
          </li>
        ))}
      </ul>
      {data.total > MAX_OWN_PROPOSALS && <a href={href(["changes"], { q })}>All your proposals</a>}
    </Panel>
  );
}

const EmptyInbox = () => (
  <section class="empty">
    <h2>Nothing waits</h2>
    <p>
      Countersign governs product changes: each is proposed, approved, applied, verified, and can be rolled back. To see
      one go through, propose it from a terminal:
    </p>
    <CopyBlock
      label="A first proposal"
      text={`curl ${apiUrl("api/product/propose")} \\${adminToken.get() === "" ? "" : `\n  -H "X-Svc-Admin-Token: $SVC_ADMIN_TOKEN" \\`}
  -d tenant_id=t1 -d kind=config -d target=ui.banner -d value=true -d summary="Show the banner" -d proposer=you`}
    />
    <p>
      Or <a href={href(["propose"])}>propose one here</a>.
    </p>
  </section>
);

type CountedChange = Pick<Change, "status" | "approvals" | "required_approvers"> &
  Partial<Pick<ChangeDetail, "missing">>;

/** "1 of 2 consents" of a pending change. Approvals count under the intent in force, if the service lists the missing ones. */
function ConsentCount({ change }: { change: CountedChange }) {
  const { status, approvals, required_approvers, missing } = change;
  if (status !== "pending_consent") return null;
  const { received, needed } = missing
    ? countApprovals({ required_approvers, missing })
    : { received: approvals.filter(({ emergency }) => !emergency).length, needed: required_approvers };
  return (
    <span>
      {received} of {formatCount(needed, "consent")}
    </span>
  );
}

/** A change that affects more people carries a warning. */
const MANY_USERS = 1000;

/** Gates that other parts of the row describe, and the freeze, which every page shows. */
const SHOWN_ELSEWHERE: readonly string[] = ["consent", "reversible", "freeze"];

/** A waiting change: title, request, warnings and blocking gates. The row is a link to it. */
function InboxRow({ item }: { item: InboxItem }) {
  const now = useNow();
  // An applied change has no expiry; its review gate shows the date of its review.
  const deadline = isOpenChange(item.status) ? item.expires_at : null;
  const expiry = deadline === null ? undefined : describeTimeLeft(item.status, Date.parse(deadline), now);
  const automation = describeAutomation(item, now);
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
