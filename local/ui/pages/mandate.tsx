/** One mandate: its bounds, its use, and the changes that it approved. */
import { Button } from "../parts/button.tsx";
import { useState } from "preact/hooks";
import { normalizeName } from "../../../lib/changes/rules/names.ts";
import type { MandateDetail } from "../core/api_types.ts";
import { get } from "../core/api.ts";
import { formatCount } from "../core/format.ts";
import { useTitle, useValue } from "../core/hooks.tsx";
import { lazy } from "../core/lazy.tsx";
import { useResource } from "../core/resource.tsx";
import { changeHref, href, navigate } from "../core/router.tsx";
import { personName } from "../core/session.ts";
import { useIntent } from "../core/shared.ts";
import { toRecordedName, listShownKeys } from "../domain/keys.ts";
import { describeSuspension } from "../domain/inbox.ts";
import { describeBounds, RESTRICTIONS, MANDATE_BADGES, useMandates } from "../domain/mandates.ts";
import { readOutcomes } from "../domain/kpi_series.ts";
import { statusBadge, VERDICT } from "../domain/statuses.ts";
import type { RecordedAnswer } from "../parts/action_dialog.tsx";
import { StatusBadge } from "../parts/badge.tsx";
import { Failure } from "../parts/notice.tsx";
import { Facts, PageHead, Panel, PendingPage } from "../parts/panel.tsx";
import { UserText, Prose, SentenceList, UserLink } from "../parts/text.tsx";
import { Timeline } from "../parts/timeline.tsx";
import { Age, Moment } from "../parts/time.tsx";

const DecideMandate = lazy(() => import("./mandates/decide.tsx").then((part) => part.DecideMandate));
const SignMandate = lazy(() => import("./mandates/decide.tsx").then((part) => part.SignMandate));

export function MandatePage({ id }: { id: string }) {
  const path = `api/product/mandates/${encodeURIComponent(id)}`;
  const { data, error, reload } = useResource(`mandate ${id}`, (signal) => get<MandateDetail>(path, {}, signal));
  const title = data ? `Mandate of ${data.agent}` : "Mandate";
  useTitle(title);
  if (data) return <MandateView mandate={data} title={title} error={error} reload={reload} />;
  return <PendingPage title={title} error={error} what="the mandate" />;
}

function MandateView(props: { mandate: MandateDetail; title: string; error: unknown; reload: () => Promise<void> }) {
  const { mandate, title, error, reload } = props;
  const name = toRecordedName(useValue(personName));
  const { data: intent } = useIntent();
  const [action, setAction] = useState<"narrow" | "revoke" | undefined>();
  const { state, used, left, missing, signatures, note, ended, inactive } = mandate;
  const maySign = missing.some(({ of }) => of.some((signer) => normalizeName(signer) === normalizeName(name)));
  const hasKey = listShownKeys(name, intent?.keys).length > 0;
  const { reload: reloadList } = useMandates();
  const restrictions = hasKey ? RESTRICTIONS[state] : [];
  const closeAndReload = () => {
    setAction(undefined);
    void reload();
  };
  const onDecided = ({ audit_entry }: RecordedAnswer) => {
    // An unsigned draft is removed without an entry: nothing is left to show, and no event updates the list.
    if (!audit_entry) void reloadList().then(() => navigate(href(["mandates"])));
    else closeAndReload();
  };
  return (
    <>
      <PageHead
        title={<UserText text={title} />}
        lead={
          <>
            <StatusBadge of={MANDATE_BADGES[state]} />{" "}
            {describeSuspension(mandate.suspension?.reason) || (state !== "draft" && inactive)}
            {mandate.suspension?.change_id && (
              <>
                {" "}
                <a href={changeHref(mandate.suspension.change_id)}>Open that change</a>
              </>
            )}
          </>
        }
      >
        {restrictions.includes("narrow") && (
          <Button class="secondary" onClick={() => setAction("narrow")} label="Narrow…" />
        )}
        {restrictions.includes("revoke") && (
          <Button class="danger outline" onClick={() => setAction("revoke")} label="Revoke…" />
        )}
      </PageHead>
      <Failure error={error} />
      <div class="columns main-first">
        <div>
          <Panel title="What it allows">
            <SentenceList label="What it allows" of={describeBounds(mandate)} />
            {note !== "" && <Prose text={note} />}
            {mandate.systems.length > 0 && (
              <p class="quiet">
                Target systems: <UserText text={mandate.systems.map((system) => system.name).join(", ")} />
              </p>
            )}
          </Panel>
          {(state === "draft" || state === "suspended") && (
            <Panel title={state === "draft" ? "Sign it" : "Resume it"}>
              {missing.map(({ rule, count, of }) => (
                <p key={rule}>
                  {formatCount(count, "more signature")} of <UserText text={of.join(", ") || "nobody who may"} />
                  {rule.startsWith("owners") && (
                    <>
                      , <UserText text={rule} />
                    </>
                  )}
                  .
                </p>
              ))}
              {maySign && <SignMandate key={name} mandate={mandate} name={name} onDone={closeAndReload} />}
            </Panel>
          )}
          <Results mandate={mandate} />
        </div>
        <div>
          <Panel title="Used and left">
            <Facts
              wide
              of={[
                ["Today (UTC)", `${used.today} used, ${left.today} left`],
                ["Waiting to be applied", `${used.open} used, ${left.open} left`],
                [ended ? "Ended" : "Ends", <Moment at={ended?.at ?? mandate.until} />],
                ...signatures.map(({ approver, at }) => [`Signed by ${approver}`, <Age at={at} />] as const),
              ]}
            />
          </Panel>
          {mandate.audit_entries.length > 0 && <Timeline entries={mandate.audit_entries} />}
        </div>
      </div>
      {action && (
        <DecideMandate action={action} mandate={mandate} onClose={() => setAction(undefined)} onDone={onDecided} />
      )}
    </>
  );
}

/** The changes that the mandate approved, of which the service lists the newest 100, with their statuses and verdicts. */
function Results({ mandate: { changes } }: { mandate: MandateDetail }) {
  const { data } = useResource(changes.length > 0 ? "outcomes" : null, readOutcomes);
  const verdicts = new Map(data?.outcomes.map((outcome) => [outcome.change_id, outcome.verdict]));
  const counts = Object.entries(Object.groupBy(changes, ({ status }) => status));
  if (changes.length === 0)
    return (
      <Panel title="Results">
        <p class="quiet">It has approved nothing yet.</p>
      </Panel>
    );
  return (
    <Panel title="Results">
      <p>
        {changes.length === 100 ? "The newest 100 changes" : formatCount(changes.length, "change")}:{" "}
        {counts
          .map(
            ([status, some]) =>
              `${some!.length} ${statusBadge({ status, resolution: null } as never).word.toLowerCase()}`,
          )
          .join(", ")}
        .
      </p>
      <ul class="plain">
        {changes.map(({ change_id, summary, target, tenant_id, status, at }) => (
          <li key={change_id}>
            <UserLink href={changeHref(change_id)} text={summary} /> <UserText text={target} code /> for{" "}
            <UserText text={tenant_id} />, <Age at={at} />{" "}
            <StatusBadge of={statusBadge({ status, resolution: null })} />{" "}
            {verdicts.has(change_id) && <StatusBadge of={VERDICT[verdicts.get(change_id)!]} />}
          </li>
        ))}
      </ul>
    </Panel>
  );
}
