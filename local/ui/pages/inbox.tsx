/** The first page: what waits for the reader, then what else needs somebody. */
import { useState } from "preact/hooks";
import type { Change, InboxItem, Outcome } from "../core/api_types.ts";
import { address } from "../core/api.ts";
import { counted, signed } from "../core/format.ts";
import { useTitle, useValue, useWaiting } from "../core/hooks.tsx";
import { lazy } from "../core/lazy.tsx";
import { useResource } from "../core/resource.tsx";
import { changeHref, href } from "../core/router.tsx";
import { adminToken, personName } from "../core/session.ts";
import { useCapabilities, useIntent, useServiceState } from "../core/shared.ts";
import { type Concern, readInbox, readOutcomes, serviceConcerns } from "../domain/inbox.ts";
import { shortly } from "../domain/sentences.ts";
import { words } from "../domain/statuses.ts";
import { CopyBlock } from "../parts/copy.tsx";
import { Sign } from "../parts/mark.tsx";
import { Failure, Notice, Pending } from "../parts/notice.tsx";
import { PageHead, Panel } from "../parts/panel.tsx";
import { Given, Sentence } from "../parts/text.tsx";
import { Verdict } from "../parts/verdict.tsx";
import { InboxRow } from "./inbox/row.tsx";

const OutsideValue = lazy(() => import("./inbox/outside_value.tsx").then((part) => part.OutsideValue));

/** What waits for the reader; what is worth a look beside it is read once that stands. */
export function InboxPage({ onYou }: { onYou: () => void }) {
  const name = useValue(personName);
  const { data, error } = useResource(`inbox of ${name}`, (signal) => readInbox(name, signal));
  const { data: state, error: noState } = useServiceState();
  const stands = data !== undefined && (state !== undefined || noState !== undefined);
  const { data: intent } = useIntent(stands);
  const map = useCapabilities(stands);
  const outcomes = useResource(stands ? "open outcomes" : null, readOutcomes);
  useTitle("Inbox");
  useWaiting(data && (data.totals.waiting_for_you ?? data.totals.pending));
  if (!stands)
    return (
      <>
        <PageHead title="Inbox" />
        <Pending error={error} what="what waits" />
      </>
    );
  const { totals, mine, others, approved, reviews, more } = data;
  const { pending, waiting_for_you } = totals;
  const concerns = [...serviceConcerns(state, intent, map.data), ...data.drifted, ...(outcomes.data?.concerns ?? [])];
  const isRead = !map.loading && !outcomes.loading;
  const open = outcomes.data?.total ?? 0;
  const nothing = isRead && pending + totals.approved + reviews.length + open + concerns.length === 0;
  return (
    <>
      <PageHead
        title="Inbox"
        lead={leadOf({
          mine: waiting_for_you ?? pending,
          whose: waiting_for_you === null ? "" : "your ",
          approved: totals.approved,
          reviews: reviews.length,
          concerns: concerns.length,
        })}
      >
        <a class="button secondary" href={href(["propose"])}>
          Propose a change
        </a>
      </PageHead>
      {error !== undefined && <Failure error={error} />}
      {name === "" && !nothing && (
        <Notice tone="wait">
          <p>
            This window does not know who you are, so it shows everything.{" "}
            <button type="button" class="link" onClick={onYou}>
              Say who you are
            </button>
          </p>
        </Notice>
      )}
      {nothing && <Empty />}
      {concerns.length > 0 && (
        <Panel title="Needs attention" aside={<Count of={concerns.length} />}>
          <ul class="rows">
            {concerns.map((concern) => (
              <ConcernRow key={concern.title + (concern.change_id ?? "")} concern={concern} />
            ))}
          </ul>
        </Panel>
      )}
      <Group title="Review due" items={reviews} total={reviews.length} />
      <Group
        title={waiting_for_you === null ? "Waits for consent" : "Waits for you"}
        items={mine}
        total={waiting_for_you ?? pending}
      />
      <Group title="Waits for others" items={others} total={pending - (waiting_for_you ?? pending)} />
      <Group title="Approved, not applied" items={approved} total={totals.approved} />
      {more && (
        <p>
          There are more than are shown here: <a href={href(["find"], { q: "is:pending_consent" })}>all that wait</a>,{" "}
          <a href={href(["find"], { q: "is:approved" })}>all that are approved</a>.
        </p>
      )}
      {!isRead && <Pending error={outcomes.error} what="outcomes" />}
      {outcomes.data && open > 0 && (
        <Panel title="Outcome open" aside={<Count of={open} />}>
          <ul class="rows">
            {outcomes.data.shown.map(({ change, outcome }) => (
              <li key={outcome.change_id}>
                <OutcomeRow change={change} outcome={outcome} />
              </li>
            ))}
          </ul>
        </Panel>
      )}
    </>
  );
}

interface Told {
  mine: number;
  /** Nobody is named: what waits is nobody's own. */
  whose: "your " | "";
  approved: number;
  reviews: number;
  concerns: number;
}

function leadOf({ mine, whose, approved, reviews, concerns }: Told): string {
  const parts = [
    `${mine > 0 ? counted(mine, "change waits", "changes wait") : "Nothing waits"} for ${whose}consent`,
    reviews > 0 && `${counted(reviews, "emergency waits", "emergencies wait")} for review`,
    approved > 0 && `${counted(approved, "is", "are")} approved and not applied`,
    concerns > 0 && `${counted(concerns, "thing needs", "things need")} attention`,
  ].filter(Boolean);
  return `${parts.join("; ")}.`;
}

const Count = ({ of }: { of: number }) => <span class="count">{of}</span>;

/** The first of a list, and how many there are; a list that has none is left out. */
function Group({ title, items, total }: { title: string; items: readonly InboxItem[]; total: number }) {
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

function ConcernRow({ concern: { tone, title, detail, change_id, page, drifted } }: { concern: Concern }) {
  const [open, setOpen] = useState(false);
  const to = change_id ? changeHref(change_id) : page ? href([page]) : undefined;
  return (
    <li>
      <article class="row">
        <p class={`row-title mark ${tone}`}>
          <Sign shape="bang" />
          {to ? (
            <a data-row href={to}>
              <Given text={title} />
            </a>
          ) : (
            <Given text={title} />
          )}
        </p>
        <p class="row-words">
          <Given text={detail} />
        </p>
        {drifted && change_id && (
          <details onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
            <summary>Compare both values</summary>
            {open && <OutsideValue id={change_id} />}
          </details>
        )}
      </article>
    </li>
  );
}

const OutcomeRow = ({ change, outcome }: { change: Change; outcome: Outcome }) => (
  <article class="row">
    <p class="row-title">
      <a data-row href={changeHref(outcome.change_id)}>
        <Sentence parts={["Was it worth it to ", ...shortly(change), "?"]} />
      </a>
    </p>
    <p class="row-meta">
      <Verdict of={outcome} />
      <span>
        {outcome.expected_delta_k === null ? "No gain was stated" : `Expected ${signed(outcome.expected_delta_k)}`}
        {outcome.kpi && ` on ${words(outcome.kpi)}`};{" "}
        {outcome.realised_delta === null ? "not measured yet" : `${signed(outcome.realised_delta)} so far`}
      </span>
    </p>
  </article>
);

const Empty = () => (
  <section class="empty">
    <h2>Nothing waits</h2>
    <p>Every change is decided, applied or closed. To see one go through, propose it from a terminal:</p>
    <CopyBlock
      label="A first proposal"
      text={`curl ${address("api/product/propose")} \\${adminToken.get() === "" ? "" : `\n  -H "X-Svc-Admin-Token: $SVC_ADMIN_TOKEN" \\`}
  -d tenant_id=t1 -d kind=config -d target=ui.banner -d value=true -d summary="Show the banner" -d proposer=you`}
    />
    <p>
      Or <a href={href(["propose"])}>propose one here</a>.
    </p>
  </section>
);
