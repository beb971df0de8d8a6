/** The differences between two environments, and links that promote their values. */
import { Button } from "../parts/button.tsx";
import { useState } from "preact/hooks";
import type { GovernedValue } from "../../../lib/operations/values.ts";
import type { FindRow, IntentView } from "../core/api_types.ts";
import { formatCount, formatJson } from "../core/format.ts";
import { useTitle } from "../core/hooks.tsx";
import { useResource } from "../core/resource.tsx";
import { changeHref, navigate, href, replaceQuery, type Route } from "../core/router.tsx";
import { storedDraft, personName } from "../core/session.ts";
import { useFindHelp, useFind, useIntent } from "../core/shared.ts";
import {
  type ComparedTarget,
  compare,
  type EnvironmentValue,
  hasSameValue,
  listEnvironments,
  parseName,
} from "../domain/compare.ts";
import { type Draft, parseDraft } from "../domain/draft.ts";
import { formatValue } from "../domain/kinds.ts";
import { formatShare } from "../domain/rollout.ts";
import { ValueDiff } from "../parts/diff.tsx";
import { Choice } from "../parts/field.tsx";
import { Failure, Notice, Pending } from "../parts/notice.tsx";
import { PageHead, Panel, PendingPage } from "../parts/panel.tsx";
import { CodeLine, UserText, UserLink } from "../parts/text.tsx";
import { Age } from "../parts/time.tsx";
import { MAX_ENTRIES } from "./propose/form.tsx";

export function ComparePage({ route: { query } }: { route: Route }) {
  const { data: intent, error } = useIntent();
  const { data: help, error: helpError } = useFindHelp();
  useTitle("Compare environments");
  if (!intent || !help)
    return <PendingPage title="Compare environments" error={error ?? helpError} what="the environments" />;
  const tenants = help.fields.find(({ field }) => field === "tenant")?.values ?? [];
  const environments = listEnvironments(tenants, intent);
  const [rule] = intent.policy?.promotion ?? [];
  const from = query.get("from") ?? rule?.from[0] ?? environments[0];
  const isComparable = (name: string) => name !== from && name.split(":")[0] === from?.split(":")[0];
  const candidates = [query.get("to"), ...(rule?.to ?? []), ...environments];
  const to = candidates.find((name) => name && isComparable(name)) ?? undefined;
  const choose = (next: { from?: string; to?: string }) => replaceQuery(["compare"], { from, to, ...next });
  const listOptions = (...chosen: (string | undefined)[]) =>
    [...new Set([...chosen, ...environments])].flatMap((name) =>
      name ? [[name, name.replace(":", " ")] as const] : [],
    );
  return (
    <>
      <PageHead title="Compare environments" lead="The values that approved changes set, in two tenants or systems." />
      <div class="compare-choice">
        <Choice
          label="From"
          value={from ?? ""}
          onValue={(name) => choose({ from: name })}
          options={listOptions(from)}
        />
        <Choice
          label="To"
          value={to ?? ""}
          onValue={(name) => choose({ to: name })}
          options={listOptions(to).filter(([name]) => isComparable(name))}
        />
        <Button class="secondary" disabled={!to} onClick={() => choose({ from: to!, to: from! })} label="Swap" />
      </div>
      {from && to ? (
        <Differences key={`${from} ${to}`} from={from} to={to} intent={intent} />
      ) : (
        <Notice tone="quiet">
          <p>There is nothing to compare: values are known for fewer than two tenants or systems.</p>
        </Notice>
      )}
    </>
  );
}

/** Maximum number of changes whose summaries are read. */
const MAX_SETTERS = 1000;

function Differences({ from, to, intent }: { from: string; to: string; intent: IntentView }) {
  const [chosen, setChosen] = useState<readonly string[]>([]);
  // `null`: the connection was restored, so events may have been missed. Only applies, rollbacks and stages change these values.
  const { data, error } = useResource(
    `compare ${from} ${to}`,
    (signal) => compare(from, to, intent, signal),
    { concerns: (event) => event === null || (event.type === "audit" && /applied|rolled|stage/.test(event.data.event_type)) }, // prettier-ignore
  );
  const { data: setters, error: settersError } = useFind("is:applied sort:applied", { limit: MAX_SETTERS });
  if (!data || (!setters && settersError === undefined)) return <Pending error={error} what="the values" />;
  const same = data.rows.filter(hasSameValue);
  const different = data.rows.filter((row) => !hasSameValue(row));
  const setBy = new Map(setters?.rows.map((row) => [row.change_id, row]));
  return (
    <Panel title={different.length === 0 ? "Nothing differs" : formatCount(different.length, "difference")}>
      <Failure error={error} />
      {data.isCut && <p>More than 5,000 values are set; the first 5,000 are compared.</p>}
      {different.length > 0 && (
        <table class="cards compare">
          <thead>
            <tr>
              {["Target", parseName(from), parseName(to), "Promote"].map((title) => (
                <th key={title} scope="col">
                  {title}
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            {different.map((row) => (
              <DifferenceRow
                key={row.name}
                row={row}
                from={parseName(from)}
                to={parseName(to)}
                setBy={setBy}
                isChosen={chosen.includes(row.name)}
                onChoose={(isAdded) =>
                  setChosen(isAdded ? [...chosen, row.name] : chosen.filter((name) => name !== row.name))
                }
              />
            ))}
          </tbody>
        </table>
      )}
      <PromoteAll of={different.filter(({ name }) => chosen.includes(name))} from={from} to={to} />
      {same.length > 0 && (
        <details>
          <summary>{formatCount(same.length, "target has", "targets have")} the same value</summary>
          <ul class="plain">
            {same.map(({ name, from: value }) => (
              <li key={name}>
                <UserText text={name} code /> <ShortValue of={value!} />
              </li>
            ))}
          </ul>
        </details>
      )}
    </Panel>
  );
}

/** Offers to promote the chosen differences, whose source values are all governed, as one plan. */
function PromoteAll({ of, from, to }: { of: readonly ComparedTarget[]; from: string; to: string }) {
  const values = of.map((row) => row.from as GovernedValue);
  const kinds = new Set(values.map(({ kind }) => kind));
  if (of.length < 2) return <p class="quiet">Choose two or more targets to promote them as one plan.</p>;
  if (kinds.size > 1) return <p class="quiet">A plan has one kind of change; choose targets of one kind.</p>;
  if (of.length > MAX_ENTRIES) return <p class="quiet">A plan has at most {MAX_ENTRIES} targets.</p>;
  const [kind] = kinds;
  // Between systems, the values of a plan may be of several tenants, so the plan itself is of all.
  const query = {
    kind: kind!,
    tenant_id: to.startsWith("tenant:") ? parseName(to) : "*",
    summary: `Promote ${of.length} values from ${parseName(from)} to ${parseName(to)}`,
  };
  const draft: Draft = {
    ...parseDraft(new URLSearchParams(query), personName.get()),
    sets: of.map(({ destination }, index) => ({ ...destination, value: formatValue(kind!, values[index]!.value) })),
  };
  return (
    <Button
      onClick={() => {
        // The address identifies the draft: the form starts from the draft that is stored for its own address.
        const address = href(["propose"], { plan: to });
        storedDraft.set(JSON.stringify({ address, draft }));
        navigate(address);
      }}
      label={`Promote these ${of.length} as one plan…`}
    />
  );
}

function DifferenceRow(props: {
  row: ComparedTarget;
  from: string;
  to: string;
  setBy: ReadonlyMap<string, FindRow>;
  isChosen: boolean;
  onChoose: (isAdded: boolean) => void;
}) {
  const { row, from, to, setBy, isChosen, onChoose } = props;
  const [open, setOpen] = useState(false);
  const shownValue = (value: EnvironmentValue | undefined) => (value?.state === "governed" ? value : undefined);
  const isLong = [row.to, row.from].some((value) => formatJson(shownValue(value)?.value).length > MAX_SHORT);
  return (
    <>
      <tr>
        <td>
          <label class="check">
            {row.from?.state === "governed" && (
              <input
                type="checkbox"
                checked={isChosen}
                onChange={({ currentTarget }) => onChoose(currentTarget.checked)}
              />
            )}
            <UserText text={row.name} code />
          </label>
          {isLong && (
            <Button
              class="link"
              aria-expanded={open}
              onClick={() => setOpen(!open)}
              label={`${open ? "Hide" : "Show"} the difference`}
            />
          )}
        </td>
        {(
          [
            [from, row.from],
            [to, row.to],
          ] as const
        ).map(([name, value]) => (
          <td key={name} data-label={name}>
            {value ? (
              <ValueCell value={value} setter={setBy.get(value.change_id)} />
            ) : (
              <div class="quiet">Only in {name === from ? to : from}</div>
            )}
          </td>
        ))}
        <td>
          {row.from?.state === "governed" && (
            <a
              class="button secondary small"
              href={promotionHref(row, setBy.get(row.from.change_id))}
              aria-label={`Promote ${row.name}`}
            >
              Promote…
            </a>
          )}
        </td>
      </tr>
      {open && (
        <tr>
          <td colSpan={4}>
            <ValueDiff label={`${to}, and ${from}`} before={shownValue(row.to)} after={shownValue(row.from)} />
          </td>
        </tr>
      )}
    </>
  );
}

/** Returns the address of a proposal that promotes a value; if a plan set the value, without the plan's other targets. */
function promotionHref({ from, destination }: ComparedTarget, setter?: FindRow): string {
  const { change_id, kind, value } = from as GovernedValue;
  if (setter?.targets === undefined) return href(["propose"], { promotes: change_id, ...destination });
  return href(["propose"], { kind, ...destination, value: JSON.stringify(value) });
}

const ValueCell = ({ value, setter }: { value: EnvironmentValue; setter: FindRow | undefined }) => (
  <div>
    <ShortValue of={value} />
    <small class="quiet">
      <UserLink href={changeHref(value.change_id)} text={setter?.summary || "The change that set it"} />
      {setter && setter.approvers.length > 0 && (
        <>
          , approved by <UserText text={setter.approvers.join(", ")} />
        </>
      )}
      , <Age at={value.applied_at} />
      {value.shared && ", for all tenants"}
    </small>
  </div>
);

/** Maximum characters of a value in a row; longer ones are cut. */
const MAX_SHORT = 60;

function ShortValue({ of }: { of: EnvironmentValue }) {
  if (of.state === "withheld")
    return (
      <span class="quiet">
        Not shown: <UserText text={of.problem} />
      </span>
    );
  const text = JSON.stringify(of.value);
  const share = (of.exposure as { share?: number } | undefined)?.share;
  return (
    <>
      <CodeLine text={text.length > MAX_SHORT ? `${text.slice(0, MAX_SHORT).toWellFormed()}…` : text} />
      {share !== undefined && <> for {formatShare(share)} of the users</>}
    </>
  );
}
