/** The targets of a plan: a difference for each, folded until it is opened. */
import { Button } from "../../parts/button.tsx";
import { useState } from "preact/hooks";
import { isOpenChange } from "../../../../lib/changes/rules/current_state.ts";
import { isSameTarget } from "../../../../lib/changes/rules/target_key.ts";
import type { Change, ChangeDetail, Operation } from "../../core/api_types.ts";
import { formatCount, formatJson } from "../../core/format.ts";
import { listChangedPaths } from "../../domain/changed_paths.ts";
import { findReplaced } from "../../domain/change_history.ts";
import {
  type Entry,
  type EntryResult,
  listResults,
  resultBadge,
  recordOpened,
  readFailedResults,
  type TargetValue,
} from "../../domain/plan.ts";
import { describeValue } from "../../domain/kinds.ts";
import { formatTitle } from "../../domain/statuses.ts";
import { ValueDiff } from "../../parts/diff.tsx";
import { StatusBadge } from "../../parts/badge.tsx";
import { CodeLine, UserText } from "../../parts/text.tsx";
import { UnopenedEntries } from "./decision_bar.tsx";
import { DryRunStatus, useDryRun } from "./use_dry_run.tsx";

/** Compares the values of a plan with the current ones while it waits, otherwise with the values set before it. */
export const PlanChanges = (props: { change: ChangeDetail; history: readonly Change[] }) =>
  isOpenChange(props.change.status) ? <WaitingPlan {...props} /> : <PlanEntries {...props} />;

function WaitingPlan({ change, history }: { change: ChangeDetail; history: readonly Change[] }) {
  const dryRun = useDryRun(change, "apply");
  return (
    <>
      {dryRun?.adapter && <DryRunStatus of={dryRun} />}
      <PlanEntries change={change} history={history} results={listResults(dryRun?.result?.answer.adapter)} />
    </>
  );
}

function PlanEntries(props: { change: ChangeDetail; history: readonly Change[]; results?: readonly EntryResult[] }) {
  const { change, history, results = [] } = props;
  const [open, setOpen] = useState<ReadonlySet<number>>(new Set());
  const failed = readFailedResults(change);
  const sets = change.sets!;
  const show = (index: number, isOpen: boolean) => {
    if (isOpen) recordOpened(change, index);
    setOpen((now) => new Set(isOpen ? [...now, index] : [...now].filter((openIndex) => openIndex !== index)));
  };
  const findBefore = (entry: Entry): TargetValue => {
    const holds = results.find((result) => isSameTarget(result, entry))?.holds;
    return holds === undefined ? findReplaced(change, history, entry) : holds;
  };
  return (
    <>
      {isOpenChange(change.status) && <UnopenedEntries change={change} />}
      <ul class="rows plan">
        {sets.map((entry, index) => (
          <li key={index}>
            <details open={open.has(index)} onToggle={({ currentTarget }) => show(index, currentTarget.open)}>
              <summary>
                <span>
                  <EntryName of={entry} />{" "}
                  <ShortDifference kind={change.kind} before={findBefore(entry)} after={entry.value} />
                  <FailedResult of={failed.find((result) => isSameTarget(result, entry))} change={change} />
                </span>
              </summary>
              {open.has(index) && (
                <ValueDiff label={`Difference of ${entry.target}`} before={findBefore(entry)} after={entry} />
              )}
            </details>
          </li>
        ))}
      </ul>
      <Button
        class="link"
        onClick={() => sets.forEach((_, index) => show(index, open.size < sets.length))}
        label={open.size < sets.length ? "Open all" : "Close all"}
      />
    </>
  );
}

const EntryName = ({ of: { tenant_id, target } }: { of: Pick<Entry, "tenant_id" | "target"> }) => (
  <>
    <UserText text={target} code /> <span class="quiet">for</span> <UserText text={tenant_id} />
  </>
);

/** Maximum characters of a value in the summary. */
const MAX_SHORT = 40;

/** Sums up a difference in a few words: how many members of an object change; both values if they are short. */
function ShortDifference({ kind, before, after }: { kind: Change["kind"]; before: TargetValue; after: unknown }) {
  const [from, to] = [before ? describeValue(kind, before.value) : undefined, describeValue(kind, after)];
  if (from === to) return <span class="quiet">no difference</span>;
  const paths = before ? listChangedPaths(formatJson(before.value), formatJson(after)) : undefined;
  if (paths) return <span class="quiet">{formatCount(paths.length, "value changes", "values change")}</span>;
  if ((from ?? to).length > MAX_SHORT || to.length > MAX_SHORT)
    return <span class="quiet">{from === undefined ? "new" : "changes"}</span>;
  return <CodeLine text={`${from ?? "nothing"} → ${to}`} />;
}

const FailedResult = ({ of, change }: { of: EntryResult | undefined; change: Change }) =>
  of ? (
    <>
      {" "}
      <StatusBadge of={resultBadge(of, change)} /> {of.error && <UserText text={of.error} />}
    </>
  ) : null;

/** Lists the findings of a dry run for each target of a plan. */
export const PlanDryRun = ({ answer: { adapter }, operation }: { answer: Operation; operation: string }) => (
  <>
    <p>Dry run of each target; nothing was changed. {operation === "apply" ? APPLY : ROLLBACK}</p>
    <ul class="plain">
      {listResults(adapter).map(({ result = "unknown", ...entry }, index) => (
        <li key={index}>
          <EntryName of={entry} />: {(RESULTS[result] ?? formatTitle(result)).toLowerCase()}
        </li>
      ))}
    </ul>
  </>
);

const APPLY = "If a target fails, the targets set before it are set back.";
const ROLLBACK = "Each target goes back to its earlier value, the last one first.";

const RESULTS: Readonly<Record<string, string>> = {
  restores: "its earlier value comes back",
  superseded: "a later change set it, so it stays as it is",
};
