/** Changes: all of them, or those that match the query in the address. */
import { useEffect, useRef, useState } from "preact/hooks";
import type { FindAnswer, FindRow, QueryField, SavedQuestion } from "../core/api_types.ts";
import { formatCount, formatNumber, LOCALE } from "../core/format.ts";
import { focusPage, useTitle } from "../core/hooks.tsx";
import { navigate, href, type Route } from "../core/router.tsx";
import { useFindHelp, useFind } from "../core/shared.ts";
import { describeDuration, parseGroup, describeQueryFault, describeTimes } from "../domain/find_answer.ts";
import { completeQuery } from "../domain/query_completion.ts";
import { formatTitle, humanizeName } from "../domain/statuses.ts";
import { ChangeRow } from "../parts/change_row.tsx";
import { Line } from "../parts/field.tsx";
import { Notice, Pending } from "../parts/notice.tsx";
import { PageHead } from "../parts/panel.tsx";
import { Table } from "../parts/table.tsx";
import { UserText } from "../parts/text.tsx";

const PAGE_SIZE = 50;

export function ChangesPage({ route: { query } }: { route: Route }) {
  const q = query.get("q") ?? "";
  const after = query.get("after") ?? undefined;
  const { data: help } = useFindHelp();
  const { data, error } = useFind(q, { limit: PAGE_SIZE, after });
  const fault = describeQueryFault(error);
  useTitle(q === "" ? "Changes" : `${q} · Changes`);
  // The frame does this only for another path; a page of the list has another query.
  useEffect(() => {
    if (after === undefined) return;
    scrollTo(0, 0);
    focusPage();
  }, [after]);
  return (
    <>
      <PageHead title="Changes" lead={<span role="status">{describeAnswer(q, data, error)}</span>}>
        <a class="button secondary" href={href(["compare"])}>
          Compare environments
        </a>
        <a class="button secondary" href={href(["propose"])}>
          Propose a change
        </a>
      </PageHead>
      <QueryForm q={q} fields={help?.fields ?? []} />
      <SavedQuestions questions={help?.saved ?? []} q={q} />
      {fault !== undefined && (
        <Notice tone="bad" alert>
          <p>
            <UserText text={fault} />
          </p>
        </Notice>
      )}
      {fault === undefined && (!data || error !== undefined) && <Pending error={error} what="changes" />}
      {data && error === undefined && (
        <FoundChanges key={`${q} ${after}`} answer={data} q={q} isFirst={after === undefined} />
      )}
    </>
  );
}

/** Returns a line in each state, so that nothing below moves when the answer comes. */
function describeAnswer(q: string, answer: FindAnswer | undefined, error: unknown): string {
  if (error !== undefined) return "The query failed.";
  if (!answer) return "Looking…";
  return q === ""
    ? `${formatCount(answer.total, "change")}, newest first.`
    : `${formatCount(answer.total, "change matches", "changes match")}.`;
}

/** Keeps the shown rows in their places while they are updated; `refresh` shows the current list. */
function useSteadyRows(rows: readonly FindRow[]) {
  const shownRows = useRef(rows);
  const [, draw] = useState({});
  const current = new Map(rows.map((row) => [row.change_id, row]));
  const shownIds = new Set(shownRows.current.map(({ change_id }) => change_id));
  const newerCount = rows.filter(({ change_id }) => !shownIds.has(change_id)).length;
  shownRows.current = shownRows.current.map((row) => current.get(row.change_id) ?? row);
  const refresh = () => {
    shownRows.current = rows;
    draw({});
  };
  const isChanged = newerCount > 0 || rows.length !== shownRows.current.length;
  return { rows: shownRows.current, newerCount, isChanged, refresh };
}

function QueryForm({ q, fields }: { q: string; fields: readonly QueryField[] }) {
  const [text, setText] = useState(q);
  useEffect(() => setText(q), [q]);
  return (
    <form
      role="search"
      class="query"
      onSubmit={(event) => {
        event.preventDefault();
        navigate(href(["changes"], { q: text.trim() }));
      }}
    >
      <Line
        label="Query"
        hint="Words and terms such as is:pending or risk:high; all must match. A minus excludes."
        list="completions"
        autocomplete="off"
        maxLength={1000}
        value={text}
        onValue={setText}
      />
      <datalist id="completions">
        {completeQuery(text, fields).map((query) => (
          <option key={query} value={query} />
        ))}
      </datalist>
      <button type="submit">Find</button>
    </form>
  );
}

function FoundChanges({ answer, q, isFirst }: { answer: FindAnswer; q: string; isFirst: boolean }) {
  const { query, groups, next } = answer;
  const { rows, newerCount, isChanged, refresh } = useSteadyRows(answer.rows);
  const times = describeTimes(answer);
  return (
    <div class="answer">
      {query !== "" && (
        <p>
          <span class="quiet">Query:</span> <UserText text={query} code />
        </p>
      )}
      {q === "" && rows.length === 0 && (
        <p class="quiet">
          Nothing was proposed yet. <a href={href(["propose"])}>Propose a change</a>
        </p>
      )}
      {times !== undefined && <p>{times}</p>}
      {groups.length > 0 && (
        <Table
          class="groups"
          caption={`Changes by ${humanizeName(parseGroup(query) ?? "")}`}
          columns={[formatTitle(parseGroup(query) ?? ""), "Changes"]}
          numbers={["Changes"]}
          rows={groups.map(({ key, count }) => [key, [<UserText text={key} />, formatNumber(count)]])}
        />
      )}
      {rows.length > 0 && (
        <ul class="found-rows" aria-label="Changes found">
          {rows.map((row) => (
            <li key={row.change_id}>
              <ChangeRow change={row} drift={row.drift}>
                <RowFacts of={row} />
              </ChangeRow>
            </li>
          ))}
        </ul>
      )}
      {isChanged && (
        <button type="button" class="secondary small newer" onClick={refresh}>
          {newerCount > 0 ? formatCount(newerCount, "newer change") : "This list has changed"}: show
        </button>
      )}
      <p class="pager">
        {!isFirst && <a href={href(["changes"], { q })}>First page</a>}
        {next !== null && <a href={href(["changes"], { q, after: next })}>Next page</a>}
      </p>
    </div>
  );
}

const RowFacts = ({ of: { seconds, status, approvers, required_approvers } }: { of: FindRow }) => (
  <>
    {seconds != null && <span class="took">took {describeDuration(seconds)}</span>}
    {status === "pending_consent" && (
      <span>
        {approvers.length} of {formatCount(required_approvers, "consent")}
      </span>
    )}
  </>
);

const LANGUAGE = LOCALE.toLowerCase().startsWith("zh") ? "zh" : "en";

const SavedQuestions = ({ questions, q }: { questions: readonly SavedQuestion[]; q: string }) => (
  <details key={q} class="saved">
    <summary>Saved questions</summary>
    <ul lang={LANGUAGE}>
      {questions.map(({ id, title, query }) => (
        <li key={id}>
          <a href={href(["changes"], { q: query })} title={query} aria-current={query === q ? "true" : undefined}>
            {title[LANGUAGE]}
          </a>
        </li>
      ))}
    </ul>
  </details>
);
