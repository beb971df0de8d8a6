/** The page of one change, in the order of an approver's questions. */
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { isLive, isReviewDue } from "../../../lib/changes/rules/current_state.ts";
import type { ChangeDetail, IntentView } from "../core/api_types.ts";
import { getForPerson, ServiceError } from "../core/api.ts";
import { useNow, usePageKeys, useTitle, useValue } from "../core/hooks.tsx";
import { lazy } from "../core/lazy.tsx";
import { useResource } from "../core/resource.tsx";
import { changeHref, navigate, href, replaceQuery, useRoute } from "../core/router.tsx";
import { personName } from "../core/session.ts";
import { useIntent } from "../core/shared.ts";
import { createValue } from "../core/value.ts";
import { isRelevantEntry } from "../domain/follow_ups.ts";
import { readHistory } from "../domain/change_history.ts";
import { listCautions } from "../domain/cautions.ts";
import { describeExpiry } from "../domain/expiry.ts";
import { type ChangeAction, CHANGE_ACTIONS, listAllowedActions } from "../domain/change_actions.ts";
import { isPasskey, listShownKeys } from "../domain/keys.ts";
import { describeAsk, toIsolatedText, describeBriefly, describeStatus } from "../domain/sentences.ts";
import { REVIEW_DUE, statusBadge, humanizeName } from "../domain/statuses.ts";
import { Cautions, Failure, Notice, Pending, Receipt } from "../parts/notice.tsx";
import { StatusBadge } from "../parts/badge.tsx";
import { Heading, PageHead } from "../parts/panel.tsx";
import { UserText, Sentence, UserLink, SentenceLine } from "../parts/text.tsx";
import { ChangedSince } from "./change/changed_since.tsx";
import { DecisionBar, type Rejections } from "./change/decision_bar.tsx";
import { Succession } from "./change/succession.tsx";
import { Expectation } from "./change/expectation.tsx";
import { LateNotes } from "./change/late_note.tsx";
import type { DecisionResult } from "./change/decide.tsx";
import { Gates, ValuePanel } from "./change/sections.tsx";
import { ChangeFacts } from "./change/facts.tsx";
import { NextWaiting, useNeighbours } from "./change/next_waiting.tsx";

/** The history stands below the decision, so its code comes after the page. */
const Record = lazy(() => import("./change/record.tsx").then((part) => part.Record));

/** Loaded behind the page, so that it is there when it is wanted. */
const DecideDialog = lazy(() => import("./change/decide.tsx").then((part) => part.DecideDialog));
/** Only what has drifted needs it. */
const Drifted = lazy(() => import("./change/drifted.tsx").then((part) => part.Drifted));
/** Only a rollout needs it. */
const Rollout = lazy(() => import("./change/rollout.tsx").then((part) => part.Rollout));
/** Only those who have passkeys need it. */
const ApproveInOneTap = lazy(() => import("./change/decide.tsx").then((part) => part.ApproveInOneTap));

const KEYS: readonly (readonly [string, ChangeAction])[] = [
  ["a", "approve"],
  ["d", "deny"],
  ["p", "apply"],
  ["r", "rollback"],
  ["w", "withdraw"],
  ["v", "revoke"],
  ["h", "hold"],
];

/** The page of one change. */
export function ChangePage({ id }: { id: string }) {
  const path = `api/product/changes/${encodeURIComponent(id)}`;
  const name = useValue(personName);
  const shown = useRef<ChangeDetail | undefined>();
  const { data, error, reload } = useResource(
    `change ${id} of ${name}`,
    (signal) => getForPerson<ChangeDetail>(name, path, { seen: 1 }, signal),
    {
      concerns: (event) =>
        event?.type === "audit"
          ? isRelevantEntry(event.data, id, shown.current)
          : event?.type === "tick" && (!!shown.current?.drift || !!shown.current?.exposure),
    },
  );
  // A name entered in a dialog starts another read: the change stays shown meanwhile, with the dialog over it.
  const change = data ?? (shown.current?.change_id === id ? shown.current : undefined);
  shown.current = change;
  const { data: intent, error: noIntent } = useIntent();
  // The history is read first, so that a value is not shown as new before its predecessor is known.
  const { data: history, error: noHistory } = useResource(change ? `history ${id}` : null, (signal) =>
    readHistory(change!, signal),
  );
  const isRead = (data: unknown, fault: unknown) => data !== undefined || fault !== undefined;
  const known = change !== undefined && isRead(intent, noIntent) && isRead(history, noHistory);
  const signs = hasPasskey(name, intent);
  const needed = [signs && ApproveInOneTap, change?.drift && Drifted, change?.stages && Rollout];
  const [ready, setReady] = useState(false);
  useEffect(() => {
    if (known) void Promise.allSettled(needed.map((part) => part && part.ahead())).then(() => setReady(true));
  }, [known]);
  useTitle(change ? toIsolatedText(describeBriefly(change)) : "Change");
  // Buttons are shown immediately: one that moves under a finger is pressed in place of another.
  if (known && ready) return <ChangeView key={id} change={change} error={error} reload={reload} />;
  const unknown = error instanceof ServiceError && error.body.code === "change_not_found";
  return (
    <>
      <PageHead title="Change" />
      {unknown ? (
        <Notice tone="warn">
          <p>
            There is no change <UserText text={id} code />. <a href={href(["changes"])}>See all changes</a>.
          </p>
        </Notice>
      ) : (
        <Pending error={error} what="the change" />
      )}
    </>
  );
}

/** A decision after which the reader went on to another change; the page of that change confirms it. */
const lastDecision = createValue<{ at: string; decided: DecisionResult; title: string; id: string } | undefined>(
  undefined,
);

const isVote = (action: ChangeAction): boolean => action === "approve" || action === "deny";

const hasPasskey = (name: string, intent: IntentView | undefined): boolean =>
  listShownKeys(name, intent?.keys).some(isPasskey);

function ChangeView({ change, error, reload }: { change: ChangeDetail; error: unknown; reload: () => Promise<void> }) {
  const { data: intent } = useIntent();
  const name = useValue(personName);
  const now = useNow();
  const [deciding, setDeciding] = useState<{ action: ChangeAction; change: ChangeDetail } | undefined>();
  const [decided, setDecided] = useState<DecisionResult | undefined>();
  const [refusals, setRefusals] = useState<Rejections>({});
  const [missed, setMissed] = useState<ServiceError | undefined>();
  useEffect(() => void DecideDialog.ahead().catch(() => {}), []);
  const decide = (action: ChangeAction) => {
    setDecided(undefined);
    setMissed(undefined);
    setDeciding({ action, change });
  };
  const offers = listAllowedActions(change);
  const isOpen = (action: ChangeAction) => offers.includes(action);
  const neighbours = useNeighbours(change.change_id);
  usePageKeys([
    ...KEYS.flatMap(([key, action]) =>
      isOpen(action) ? [{ key, label: `${CHANGE_ACTIONS[action].label} this change`, run: () => decide(action) }] : [],
    ),
    ...neighbours.keys,
  ]);
  const { query } = useRoute();
  useEffect(() => {
    if (query.get("do") !== "rollback") return;
    replaceQuery(["changes", change.change_id], {});
    if (isOpen("rollback")) decide("rollback");
  }, [query]);
  // The button that was pressed is gone when the change has moved on.
  useEffect(() => {
    if (decided) document.querySelector<HTMLElement>("h1")?.focus();
  }, [decided]);
  const close = () => {
    setDeciding(undefined);
    void reload();
  };
  const done = (result: DecisionResult) => {
    setDecided(result);
    setMissed(undefined);
    setRefusals({});
    close();
  };
  const goToNext = (next: string) => (result: DecisionResult) => {
    lastDecision.set({ at: next, decided: result, title: change.summary, id: change.change_id });
    setDeciding(undefined);
    navigate(changeHref(next));
  };
  const before = useValue(lastDecision);
  const recordRejection = (action: ChangeAction) => (message: string) =>
    setRefusals({ ...refusals, [action]: message });
  const stale = async (failure: ServiceError) => {
    await reload();
    setMissed(failure);
  };
  const taps = hasPasskey(name, intent) && isOpen("approve");
  const expiry = describeExpiry(change, intent?.policy, now);
  return (
    <article class="change">
      <header class="page-head change-head">
        <p class="row-meta">
          <StatusBadge of={statusBadge(change)} />
          {isReviewDue(change) && <StatusBadge of={REVIEW_DUE} />}
          {expiry && <span>{expiry.text}</span>}
        </p>
        <Heading>
          {change.summary.trim() === "" ? (
            <Sentence parts={describeBriefly(change)} />
          ) : (
            <UserText text={change.summary} />
          )}
        </Heading>
        <SentenceLine class="lead" parts={describeAsk(change)} />
        <ChangeFacts change={change} />
        <SentenceLine parts={describeStatus(change, now)} />
        {isLive(change.status) && <Cautions of={listCautions({ ...change, unstated: [] }, now)} />}
        <Succession change={change} onWithdraw={isOpen("withdraw") ? () => decide("withdraw") : undefined} />
      </header>
      {error !== undefined && <Failure error={error} />}
      {before?.at === change.change_id && !decided && (
        <Done decided={before.decided}>
          <p>
            It is on record of <UserLink href={changeHref(before.id)} text={before.title} />.
          </p>
        </Done>
      )}
      {decided && (
        <Done decided={decided}>
          <NextWaiting of={neighbours} />
        </Done>
      )}
      {missed && !taps && <ChangedSince now={change} error={missed} />}
      <DecisionBar
        change={change}
        offers={offers}
        refusals={refusals}
        onDecide={decide}
        soon={expiry?.soon ?? false}
        tap={
          taps ? (
            <ApproveInOneTap
              change={change}
              name={name}
              onDone={done}
              onRefused={recordRejection("approve")}
              onStale={stale}
            />
          ) : undefined
        }
      />
      {change.drift && <Drifted change={change} onRestore={() => decide("restore")} />}
      <div class="columns main-first">
        <div>
          {change.exposure && <Rollout change={change} />}
          <ValuePanel change={change} />
          {change.stages && !change.exposure && <Rollout change={change} />}
          <Expectation change={change} intent={intent} />
          <Gates change={change} />
          <LateNotes change={change} onDone={reload} />
        </div>
        <div>
          <Record change={change} intent={intent} />
        </div>
      </div>
      {deciding && (
        <DecideDialog
          change={deciding.change}
          action={deciding.action}
          onDone={done}
          onRefused={recordRejection(deciding.action)}
          onNext={isVote(deciding.action) && neighbours.next ? goToNext(neighbours.next.change_id) : undefined}
          onClose={close}
        />
      )}
    </article>
  );
}

const Done = ({ decided: { action, answer }, children }: { decided: DecisionResult; children: ComponentChildren }) => (
  <Notice tone="good" alert>
    <p>{CHANGE_ACTIONS[action].done}</p>
    {"adapter" in answer && answer.adapter && (
      <p class="quiet">
        The {answer.adapter.name} adapter says {humanizeName(answer.adapter.result)}.
      </p>
    )}
    {answer.audit_entry && <Receipt entry={answer.audit_entry} />}
    {children}
  </Notice>
);
