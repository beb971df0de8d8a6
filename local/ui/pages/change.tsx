/** The page of one change, in the order of an approver's questions. */
import type { ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { isOpenChange, isReviewDue } from "../../../lib/changes/rules/current_state.ts";
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
import { useHistory } from "../domain/change_history.ts";
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

/** Loaded after the page, since the history is below the decision. */
const Record = lazy(() => import("./change/record.tsx").then((part) => part.Record));

/** Loaded once the page is shown, before a decision is begun. */
const DecideDialog = lazy(() => import("./change/decide.tsx").then((part) => part.DecideDialog));
/** Loaded before the page is shown, if the change or the reader needs them. */
const Drifted = lazy(() => import("./change/drifted.tsx").then((part) => part.Drifted));
const Rollout = lazy(() => import("./change/rollout.tsx").then((part) => part.Rollout));
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

export function ChangePage({ id }: { id: string }) {
  const path = `api/product/changes/${encodeURIComponent(id)}`;
  const name = useValue(personName);
  const lastRead = useRef<ChangeDetail | undefined>();
  const { data, error, reload } = useResource(
    `change ${id} of ${name}`,
    (signal) => getForPerson<ChangeDetail>(name, path, { seen: 1 }, signal),
    {
      // A tick may have measured a rollout, or found another value on a drifted target, without an entry of the change.
      concerns: (event) =>
        event?.type === "audit"
          ? isRelevantEntry(event.data, id, lastRead.current)
          : event?.type === "tick" && (!!lastRead.current?.drift || !!lastRead.current?.exposure),
    },
  );
  // A name entered in a dialog starts another read: the change stays shown meanwhile, with the dialog over it.
  const change = data ?? (lastRead.current?.change_id === id ? lastRead.current : undefined);
  lastRead.current = change;
  const { data: intent, error: intentError } = useIntent();
  // The history is read first, so that a value is not shown as new before its predecessor is known.
  const { data: history, error: historyError } = useHistory(change);
  const isIntentRead = (intent ?? intentError) !== undefined;
  const isHistoryRead = (history ?? historyError) !== undefined;
  const isRead = change !== undefined && isIntentRead && isHistoryRead;
  const parts = [hasPasskey(name, intent) && ApproveInOneTap, change?.drift && Drifted, change?.stages && Rollout];
  const [areLoaded, setLoaded] = useState(false);
  useEffect(() => {
    if (isRead) void Promise.allSettled(parts.map((part) => part && part.preload())).then(() => setLoaded(true));
  }, [isRead]);
  useTitle(change ? toIsolatedText(describeBriefly(change)) : "Change");
  // All buttons are drawn together: a button that moves under a finger is pressed in place of another.
  if (isRead && areLoaded) return <ChangeView key={id} change={change} error={error} reload={reload} />;
  const isNotFound = error instanceof ServiceError && error.body.code === "change_not_found";
  return (
    <>
      <PageHead title="Change" />
      {isNotFound ? (
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

/** A decision after which the reader went on to the next change. */
interface LastDecision {
  /** The id of the next change, whose page confirms the decision. */
  shownOn: string;
  result: DecisionResult;
  title: string;
  id: string;
}
const lastDecision = createValue<LastDecision | undefined>(undefined);

const isVote = (action: ChangeAction): boolean => action === "approve" || action === "deny";

const hasPasskey = (name: string, intent: IntentView | undefined): boolean =>
  listShownKeys(name, intent?.keys).some(isPasskey);

function ChangeView({ change, error, reload }: { change: ChangeDetail; error: unknown; reload: () => Promise<void> }) {
  const { data: intent } = useIntent();
  const name = useValue(personName);
  const now = useNow();
  const [deciding, setDeciding] = useState<{ action: ChangeAction; change: ChangeDetail } | undefined>();
  const [result, setResult] = useState<DecisionResult | undefined>();
  const [rejections, setRejections] = useState<Rejections>({});
  const [staleError, setStaleError] = useState<ServiceError | undefined>();
  useEffect(() => void DecideDialog.preload().catch(() => {}), []);
  const decide = (action: ChangeAction) => {
    setResult(undefined);
    setStaleError(undefined);
    setDeciding({ action, change });
  };
  const allowed = listAllowedActions(change);
  const isAllowed = (action: ChangeAction) => allowed.includes(action);
  const neighbours = useNeighbours(change.change_id);
  usePageKeys([
    ...KEYS.flatMap(([key, action]) =>
      isAllowed(action)
        ? [{ key, label: `${CHANGE_ACTIONS[action].label} this change`, run: () => decide(action) }]
        : [],
    ),
    ...neighbours.keys,
  ]);
  const { query } = useRoute();
  useEffect(() => {
    if (query.get("do") !== "rollback") return; // `?do=rollback`: opens the dialog once
    replaceQuery(["changes", change.change_id], {});
    if (isAllowed("rollback")) decide("rollback");
  }, [query]);
  // The pressed button may be gone after the decision, so the heading takes the focus.
  useEffect(() => {
    if (result) document.querySelector<HTMLElement>("h1")?.focus();
  }, [result]);
  const close = () => {
    setDeciding(undefined);
    void reload();
  };
  const confirm = (recorded: DecisionResult) => {
    setResult(recorded);
    setStaleError(undefined);
    setRejections({});
    close();
  };
  const goToNext = (next: string) => (recorded: DecisionResult) => {
    lastDecision.set({ shownOn: next, result: recorded, title: change.summary, id: change.change_id });
    setDeciding(undefined);
    navigate(changeHref(next));
  };
  const previous = useValue(lastDecision);
  const recordRejection = (action: ChangeAction) => (message: string) =>
    setRejections({ ...rejections, [action]: message });
  const showStale = async (failure: ServiceError) => {
    await reload();
    setStaleError(failure);
  };
  const canApproveInOneTap = hasPasskey(name, intent) && isAllowed("approve");
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
        {/* The facts above name the unstated fields. */}
        {isOpenChange(change.status) && <Cautions of={listCautions({ ...change, unstated: [] }, now)} />}
        <Succession change={change} onWithdraw={isAllowed("withdraw") ? () => decide("withdraw") : undefined} />
      </header>
      {error !== undefined && <Failure error={error} />}
      {previous?.shownOn === change.change_id && !result && (
        <Confirmation of={previous.result}>
          <p>
            It is on record of <UserLink href={changeHref(previous.id)} text={previous.title} />.
          </p>
        </Confirmation>
      )}
      {result && (
        <Confirmation of={result}>
          <NextWaiting of={neighbours} />
        </Confirmation>
      )}
      {staleError && !canApproveInOneTap && <ChangedSince change={change} error={staleError} />}
      <DecisionBar
        change={change}
        allowed={allowed}
        rejections={rejections}
        onDecide={decide}
        expiresSoon={expiry?.soon ?? false}
        tap={
          canApproveInOneTap ? (
            <ApproveInOneTap
              change={change}
              name={name}
              onDone={confirm}
              onRefused={recordRejection("approve")}
              onStale={showStale}
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
          onDone={confirm}
          onRefused={recordRejection(deciding.action)}
          onNext={isVote(deciding.action) && neighbours.next ? goToNext(neighbours.next.change_id) : undefined}
          onClose={close}
        />
      )}
    </article>
  );
}

const Confirmation = (props: { of: DecisionResult; children: ComponentChildren }) => {
  const { action, answer } = props.of;
  return (
    <Notice tone="good" alert>
      <p>{CHANGE_ACTIONS[action].confirmation}</p>
      {"adapter" in answer && answer.adapter && (
        <p class="quiet">
          The {answer.adapter.name} adapter says {humanizeName(answer.adapter.result)}.
        </p>
      )}
      {answer.audit_entry && <Receipt entry={answer.audit_entry} />}
      {props.children}
    </Notice>
  );
};
