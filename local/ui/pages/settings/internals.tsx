/** The figures of the service, its peers, and actions to run now. */
import { Button } from "../../parts/button.tsx";
import { useState } from "preact/hooks";
import type { ActionList, ActionName, ActionRecord, PeerRow, Peers, State } from "../../core/api_types.ts";
import { post } from "../../core/api.ts";
import { formatCount, formatNumber, formatPercent } from "../../core/format.ts";
import { changeHref, href } from "../../core/router.tsx";
import { type Badge, formatTitle, humanizeName } from "../../domain/statuses.ts";
import { StatusBadge } from "../../parts/badge.tsx";
import { Failure } from "../../parts/notice.tsx";
import { Facts, Panel, ReadPanel } from "../../parts/panel.tsx";
import { Table } from "../../parts/table.tsx";
import { UserText, Json, ShortId } from "../../parts/text.tsx";
import { Age } from "../../parts/time.tsx";

const MAX_GAPS = 3;

/** The four figures of the service, each with its reasons. */
export function Figures({ state }: { state: State }) {
  const { E, M, R, N } = state.dimensions;
  const causes = Object.entries(R.causes).flatMap(([cause, count]) =>
    count > 0 ? [`${humanizeName(cause)} ${count}×`] : [],
  );
  const effect = E.parts.map(({ kpi, attainment, reason }) => (
    <p key={kpi}>
      <a href={href(["kpis"], { kpi })}>{formatTitle(kpi)}</a> {reason ?? `is ${formatPercent(attainment)} of the way`}
    </p>
  ));
  const memory = (
    <>
      {formatNumber(M.present)} of {formatNumber(M.expected)} things that should be on record of{" "}
      {formatCount(M.closed, "closed change")} are.
      {M.gaps.slice(0, MAX_GAPS).map(({ change_id, missing }) => (
        <p key={change_id}>
          <a href={changeHref(change_id)} title={change_id}>
            <ShortId of={change_id} />
          </a>{" "}
          has no {missing.join(" and no ")}
        </p>
      ))}
    </>
  );
  const reliability = [
    `${formatNumber(R.failed)} of ${formatCount(R.n, "apply", "applies")} failed in 30 days`,
    causes.length > 0 && `: ${causes.join(", ")}`,
    R.interval && `. 95% confidence: ${formatPercent(R.interval.low)} to ${formatPercent(R.interval.high)}`,
    ".",
  ];
  const items = N.items.map(
    ({ item, open, overdue }) =>
      `${humanizeName(item)}: ${formatNumber(open)}${overdue > 0 ? `, ${formatNumber(overdue)} overdue` : ""}`,
  );
  const need = `${formatNumber(N.overdue)} of ${formatCount(N.open, "open item")} ${N.overdue === 1 ? "is" : "are"} overdue (${items.join("; ")}).`; // prettier-ignore
  return (
    <Panel title="Figures">
      <Facts
        wide
        of={[
          [`Effect: ${formatPercent(state.E)}`, effect.length > 0 ? effect : "No KPI has data."],
          [`Memory: ${formatPercent(state.M)}`, M.closed > 0 ? memory : "No change was closed in 90 days."],
          [`Reliability: ${formatPercent(state.R)}`, R.n > 0 ? reliability : "Nothing was applied in 30 days."],
          [`Need: ${formatPercent(state.N)}, less is better`, N.open > 0 ? need : "Nothing is open."],
        ]}
      />
    </Panel>
  );
}

const PEER_BADGES: Readonly<Record<PeerRow["state"], Badge>> = {
  up: { word: "Up", shape: "full", tone: "good" },
  down: { word: "Down", shape: "cross", tone: "bad" },
  unknown: { word: "Unknown", shape: "ring", tone: "quiet" },
};

export const PeerTable = () => (
  <ReadPanel<Peers> title="Peers" path="peers">
    {({ peers, self }) => (
      <>
        {peers.length === 0 ? (
          <p class="quiet">
            No peer is configured; <code>--cross-link-peers</code> names them.
          </p>
        ) : (
          <Table
            columns={["Peer", "State", "Relation", "Trust", "Last seen", "Its log"]}
            rows={peers.map((peer) => [
              peer.address,
              [
                <UserText text={peer.instance_id ?? peer.address} />,
                <StatusBadge of={PEER_BADGES[peer.state]} />,
                humanizeName(peer.relation ?? "not known yet"),
                peer.trust === null ? null : formatNumber(peer.trust),
                peer.last_seen_at === null ? "never" : <Age at={peer.last_seen_at} />,
                humanizeName(peer.log ?? "unknown"),
              ],
            ])}
          />
        )}
        <p class="quiet">
          This is <UserText text={self.instance_id ?? "an instance without a product"} code />.
        </p>
      </>
    )}
  </ReadPanel>
);

/** All actions, for a service that does not list the available ones. */
const ACTIONS: ActionName[] = [
  "cycle", "verify_audit", "check_drift", "evaluate_outcomes", "sync_peers", "run_next_task", "write_report", "checkpoint",
]; // prettier-ignore

const ACTION_BADGES: Readonly<Record<ActionRecord["status"], Badge>> = {
  running: { word: "Running", shape: "half", tone: "wait" },
  completed: { word: "Completed", shape: "check", tone: "good" },
  failed: { word: "Failed", shape: "bang", tone: "bad" },
  disabled: { word: "Off here", shape: "ring", tone: "quiet" },
  interrupted: { word: "Interrupted", shape: "cross", tone: "warn" },
};

const MAX_SHOWN_ACTIONS = 8;

/** Actions to run now instead of waiting for the cycle, and the newest runs. */
export const Actions = () => (
  <ReadPanel<ActionList> title="Run now" path="action/list" query={{ limit: MAX_SHOWN_ACTIONS }}>
    {(list, reload) => <ActionRows of={list} reload={reload} />}
  </ReadPanel>
);

function ActionRows({ of: { actions, available = ACTIONS }, reload }: { of: ActionList; reload: () => Promise<void> }) {
  const [running, setRunning] = useState<ActionName | undefined>();
  const [failure, setFailure] = useState<unknown>();
  const run = async (action: ActionName) => {
    if (running) return;
    setRunning(action);
    setFailure(undefined);
    await post<ActionRecord>("api/action/run-now", { action }).catch(setFailure);
    setRunning(undefined);
    await reload();
  };
  return (
    <>
      <div class="buttons" role="group" aria-label="Run now">
        {available.map((action) => (
          <Button
            key={action}
            class="secondary small"
            aria-disabled={running !== undefined}
            aria-busy={running === action}
            onClick={() => void run(action)}
            label={formatTitle(action)}
          />
        ))}
      </div>
      <Failure error={failure} alert />
      <ul class="plain history" aria-live="polite">
        {actions.map((record) => (
          <li key={record.action_id}>
            <details class="inline">
              <summary>
                <StatusBadge of={ACTION_BADGES[record.status]} /> {formatTitle(record.action)}{" "}
                <span class="quiet">
                  <Age at={record.started_at} />
                  {record.duration_ms !== null && `, ${record.duration_ms} ms`}
                </span>
              </summary>
              <Json label={`Result of ${record.action}`} of={record.result} />
            </details>
          </li>
        ))}
      </ul>
    </>
  );
}
