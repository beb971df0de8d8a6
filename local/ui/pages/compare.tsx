/** The differences between two environments, each with a way to promote it. */
import { useState } from "preact/hooks";
import type { FindRow, IntentView } from "../core/api_types.ts";
import { counted, pretty } from "../core/format.ts";
import { useTitle } from "../core/hooks.tsx";
import { useResource } from "../core/resource.tsx";
import { changeHref, href, refine, type Route } from "../core/router.tsx";
import { useFindHelp, useFound, useIntent } from "../core/shared.ts";
import { type Compared, compare, type Held, isSame, listEnvironments, parseName } from "../domain/compare.ts";
import { formatShare } from "../domain/rollout.ts";
import { Diff } from "../parts/diff.tsx";
import { Choice } from "../parts/field.tsx";
import { Failure, Notice, Pending } from "../parts/notice.tsx";
import { PageHead, Panel } from "../parts/panel.tsx";
import { CodeLine, Given } from "../parts/text.tsx";
import { Age } from "../parts/time.tsx";

/** The page. */
export function ComparePage({ route: { query } }: { route: Route }) {
  const { data: intent, error } = useIntent();
  const { data: help, error: noHelp } = useFindHelp();
  useTitle("Compare environments");
  if (!intent || !help)
    return (
      <>
        <PageHead title="Compare environments" />
        <Pending error={error ?? noHelp} what="the environments" />
      </>
    );
  const tenants = help.fields.find(({ field }) => field === "tenant")?.values ?? [];
  const known = listEnvironments(tenants, intent);
  const [rule] = intent.policy?.promotion ?? [];
  const from = query.get("from") ?? rule?.from[0] ?? known[0];
  const isAlike = (one: string) => one !== from && one.split(":")[0] === from?.split(":")[0];
  const to = [query.get("to"), ...(rule?.to ?? []), ...known].find((one) => one && isAlike(one)) ?? undefined;
  const choose = (next: { from?: string; to?: string }) => refine(["compare"], { from, to, ...next });
  const options = (of: readonly (string | undefined)[]) =>
    [...new Set([...of, ...known])].flatMap((one) => (one ? [[one, one.replace(":", " ")] as const] : []));
  return (
    <>
      <PageHead title="Compare environments" lead="The values that approved changes set, in two tenants or systems." />
      <div class="compare-choice">
        <Choice label="From" value={from ?? ""} onValue={(one) => choose({ from: one })} options={options([from])} />
        <Choice
          label="To"
          value={to ?? ""}
          onValue={(one) => choose({ to: one })}
          options={options([to]).filter(([one]) => isAlike(one))}
        />
        <button type="button" class="secondary" disabled={!to} onClick={() => choose({ from: to!, to: from! })}>
          Swap
        </button>
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

/** Changes of which the summaries are read. */
const MAX_NAMES = 1000;

function Differences({ from, to, intent }: { from: string; to: string; intent: IntentView }) {
  const { data, error } = useResource(
    `compare ${from} ${to}`,
    (signal) => compare(from, to, intent, signal),
    { concerns: (news) => news === null || (news.type === "audit" && /applied|rolled|stage/.test(news.data.event_type)) }, // prettier-ignore
  );
  const { data: names, error: noNames } = useFound("is:applied sort:applied", { limit: MAX_NAMES });
  if (!data || (!names && noNames === undefined)) return <Pending error={error} what="the values" />;
  const same = data.rows.filter(isSame);
  const different = data.rows.filter((row) => !isSame(row));
  const setBy = new Map(names?.rows.map((row) => [row.change_id, row]));
  return (
    <Panel title={different.length === 0 ? "Nothing differs" : counted(different.length, "difference")}>
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
              <DifferenceRow key={row.name} row={row} from={parseName(from)} to={parseName(to)} setBy={setBy} />
            ))}
          </tbody>
        </table>
      )}
      {same.length > 0 && (
        <details>
          <summary>{counted(same.length, "target has", "targets have")} the same value</summary>
          <ul class="plain">
            {same.map(({ name, from: held }) => (
              <li key={name}>
                <Given text={name} code /> <ShortValue of={held!} />
              </li>
            ))}
          </ul>
        </details>
      )}
    </Panel>
  );
}

function DifferenceRow({
  row,
  from,
  to,
  setBy,
}: {
  row: Compared;
  from: string;
  to: string;
  setBy: ReadonlyMap<string, FindRow>;
}) {
  const [open, setOpen] = useState(false);
  const text = (held: Held | undefined) => (held?.state === "governed" ? pretty(held.value) : undefined);
  const [before, after] = [text(row.to), text(row.from)];
  const isLong = [before, after].some((one) => one !== undefined && one.length > MAX_SHORT);
  return (
    <>
      <tr>
        <td>
          <Given text={row.name} code />
          {isLong && (
            <button type="button" class="link" aria-expanded={open} onClick={() => setOpen(!open)}>
              {open ? "Hide" : "Show"} the difference
            </button>
          )}
        </td>
        {(
          [
            [from, row.from],
            [to, row.to],
          ] as const
        ).map(([name, held]) => (
          <td key={name} data-label={name}>
            {held ? (
              <Cell held={held} by={setBy.get(held.change_id)} />
            ) : (
              <div class="quiet">Only in {name === from ? to : from}</div>
            )}
          </td>
        ))}
        <td>
          {row.from?.state === "governed" && (
            <a
              class="button secondary small"
              href={href(["propose"], { promotes: row.from.change_id, ...row.there })}
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
            <Diff label={`${to}, and ${from}`} before={before} after={after} />
          </td>
        </tr>
      )}
    </>
  );
}

/** A value, who consented to it, and since when it is set. */
const Cell = ({ held, by }: { held: Held; by: FindRow | undefined }) => (
  <div>
    <ShortValue of={held} />
    <small class="quiet">
      <a href={changeHref(held.change_id)}>
        <Given text={by?.summary || "The change that set it"} />
      </a>
      {by && by.approvers.length > 0 && (
        <>
          , approved by <Given text={by.approvers.join(", ")} />
        </>
      )}
      , <Age at={held.applied_at} />
      {held.shared && ", for all tenants"}
    </small>
  </div>
);

/** Longer values are cut. */
const MAX_SHORT = 60;

function ShortValue({ of }: { of: Held }) {
  if (of.state === "withheld")
    return (
      <span class="quiet">
        Not shown: <Given text={of.problem} />
      </span>
    );
  const text = JSON.stringify(of.value);
  const share = (of.exposure as { share?: number } | undefined)?.share;
  return (
    <>
      <code>
        <CodeLine text={text.length > MAX_SHORT ? `${text.slice(0, MAX_SHORT).toWellFormed()}…` : text} />
      </code>
      {share !== undefined && <> for {formatShare(share)} of the users</>}
    </>
  );
}
