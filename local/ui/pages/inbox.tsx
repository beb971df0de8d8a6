/** The first page: what waits for the reader, then what else needs somebody. */
import type { ComponentChildren } from "preact";
import type { ChangeDetail, IntentView, Outcome } from "../core/api_types.ts";
import { address } from "../core/api.ts";
import { counted, readable, signed } from "../core/format.ts";
import { useNow, useTitle, useValue } from "../core/hooks.tsx";
import { useResource } from "../core/resource.tsx";
import { changeHref, href } from "../core/router.tsx";
import { adminToken, personName } from "../core/session.ts";
import { type Concern, readInbox, splitByName } from "../domain/inbox.ts";
import { expiryOf } from "../domain/expiry.ts";
import { shortly } from "../domain/sentences.ts";
import { VERDICT, words } from "../domain/statuses.ts";
import { ChangeRow } from "../parts/change_row.tsx";
import { CopyBlock } from "../parts/copy.tsx";
import { Mark, Sign } from "../parts/mark.tsx";
import { Failure, Notice, Pending } from "../parts/notice.tsx";
import { PageHead, Panel } from "../parts/panel.tsx";
import { Given, Sentence } from "../parts/text.tsx";

/** What waits for the reader. */
export function InboxPage({ onYou }: { onYou: () => void }) {
  const { data, error } = useResource("inbox", readInbox);
  const name = useValue(personName);
  useTitle("Inbox");
  if (!data)
    return (
      <>
        <PageHead title="Inbox" />
        <Pending error={error} what="what waits" />
      </>
    );
  const { waiting, approved, reviews, outcomes, outcomesOpen, concerns, intent, more } = data;
  const { mine, others } = splitByName(waiting, name, intent);
  const nothing = waiting.length + approved.length + reviews.length + outcomes.length + concerns.length === 0;
  return (
    <>
      <PageHead
        title="Inbox"
        lead={leadOf({
          mine: mine.length,
          approved: approved.length,
          reviews: reviews.length,
          concerns: concerns.length,
          more,
        })}
      >
        <a role="button" class="secondary" href={href(["propose"])}>
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
      <Group title="Review due" changes={reviews} intent={intent} />
      <Group title={name === "" ? "Waits for consent" : "Waits for you"} changes={mine} intent={intent} />
      <Group title="Waits for others" changes={others} intent={intent} />
      <Group title="Approved, not applied" changes={approved} intent={intent} />
      {more && (
        <p>
          There are more than are shown here:{" "}
          <a href={href(["changes"], { status: "pending_consent" })}>all that wait</a>,{" "}
          <a href={href(["changes"], { status: "approved" })}>all that are approved</a>.
        </p>
      )}
      {outcomes.length > 0 && (
        <Panel title="Outcome open" aside={<Count of={outcomesOpen} />}>
          <ul class="rows">
            {outcomes.map(({ change, outcome }) => (
              <li key={change.change_id}>
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
  approved: number;
  reviews: number;
  concerns: number;
  more: boolean;
}

/** What is shown is the oldest; of the rest nothing is claimed. */
function leadOf({ mine, approved, reviews, concerns, more }: Told): string {
  const parts = [
    mine > 0
      ? `${more ? "At least " : ""}${counted(mine, "change waits", "changes wait")} for your consent`
      : more
        ? "None of the oldest waits for your consent"
        : "Nothing waits for your consent",
    reviews > 0 && `${counted(reviews, "emergency waits", "emergencies wait")} for review`,
    approved > 0 && `${counted(approved, "is", "are")} approved and not applied`,
    concerns > 0 && `${counted(concerns, "thing needs", "things need")} attention`,
  ].filter(Boolean);
  return `${parts.join("; ")}.`;
}

const Count = ({ of }: { of: number }) => <span class="count">{of}</span>;

function Group({ title, changes, intent }: { title: string; changes: readonly ChangeDetail[]; intent: IntentView }) {
  if (changes.length === 0) return null;
  return (
    <Panel title={title} aside={<Count of={changes.length} />}>
      <ul class="rows">
        {changes.map((change) => (
          <li key={change.change_id}>
            <ChangeRow change={change} marked={false}>
              <Obstacles change={change} intent={intent} />
            </ChangeRow>
          </li>
        ))}
      </ul>
    </Panel>
  );
}

/** What is in the way, apart from the consent it waits for. */
function Obstacles({ change, intent }: { change: ChangeDetail; intent: IntentView }) {
  const now = useNow();
  const expiry = expiryOf(change, intent.policy, now);
  const inTheWay = change.gates.filter(
    ({ gate, state }) => state !== "pass" && gate !== "consent" && gate !== "reversible",
  );
  return (
    <>
      {expiry && <Warned soon={expiry.soon}>{expiry.text}</Warned>}
      {inTheWay.map(({ gate, message }) => (
        <Warned key={gate} soon>
          <Given text={readable(message)} />
        </Warned>
      ))}
    </>
  );
}

const Warned = ({ soon, children }: { soon: boolean; children: ComponentChildren }) =>
  soon ? (
    <span class="mark warn">
      <Sign shape="bang" />
      {children}
    </span>
  ) : (
    <span>{children}</span>
  );

function ConcernRow({ concern: { tone, title, detail, change_id, page } }: { concern: Concern }) {
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
      </article>
    </li>
  );
}

const OutcomeRow = ({ change, outcome }: { change: ChangeDetail; outcome: Outcome }) => (
  <article class="row">
    <p class="row-title">
      <a data-row href={changeHref(change.change_id)}>
        <Sentence parts={["Was it worth it to ", ...shortly(change), "?"]} />
      </a>
    </p>
    <p class="row-meta">
      <Mark of={VERDICT[outcome.verdict]} />
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
      text={`curl ${address("api/product/propose-crm-followup")} \\${adminToken.get() === "" ? "" : `\n  -H "X-Svc-Admin-Token: $SVC_ADMIN_TOKEN" \\`}
  -d tenant_id=t1 -d affected_users=40 -d expected_delta_k=1.5 -d proposer=you`}
    />
    <p>
      Or <a href={href(["propose"])}>propose one here</a>.
    </p>
  </section>
);
