/** The dialog that finds pages and changes, and asks the service. */
import { useState } from "preact/hooks";
import type { ChatAnswer } from "../core/api_types.ts";
import { formatNumber } from "../core/format.ts";
import { useDebounced } from "../core/hooks.tsx";
import { lazy } from "../core/lazy.tsx";
import { changeHref, navigate, href } from "../core/router.tsx";
import { useFind } from "../core/shared.ts";
import { makePrefixQuery, describeQueryFault } from "../domain/find_answer.ts";
import { describeBriefly } from "../domain/sentences.ts";
import { statusBadge } from "../domain/statuses.ts";
import { Dialog } from "./dialog.tsx";
import { Line } from "./field.tsx";
import { StatusBadge } from "./badge.tsx";
import { Failure } from "./notice.tsx";
import { SubmitButton, useSubmit } from "./form_submit.tsx";
import { UserText, Sentence } from "./text.tsx";

const Answer = lazy(() => import("./answer.tsx").then((part) => part.Answer));

const MAX_ROWS = 8;
const MAX_QUERY_LENGTH = 1000; // Longer text can only be a question.

/** Finds a page, or a change by a query; arrows move, Enter opens. Any other text can be asked as a question. */
export function FindDialog({ pages, onClose }: { pages: readonly (readonly [string, string])[]; onClose: () => void }) {
  const [text, setText] = useState("");
  const [answer, setAnswer] = useState<ChatAnswer | undefined>();
  const typed = text.trim();
  const query = makePrefixQuery(useDebounced(typed));
  const isQuery = query !== "" && query.length <= MAX_QUERY_LENGTH;
  const { data, error, loading } = useFind(isQuery ? query : null, { limit: MAX_ROWS, concerns: () => false });
  const isLooking = typed !== "" && (loading || query !== makePrefixQuery(typed));
  const rows = (!isLooking && data?.rows) || [];
  const matchingPages = pages.filter(([, title]) => title.toLowerCase().includes(typed.toLowerCase()));
  const fault = describeQueryFault(error);
  const asking = useSubmit(async () =>
    setAnswer(await import("./answer.tsx").then(({ askService }) => askService({ message: typed }))),
  );
  return (
    <Dialog title="Find" onClose={onClose}>
      <form
        class="find"
        onSubmit={(event) => {
          event.preventDefault();
          if (typed === "" || isLooking) return;
          onClose();
          navigate(
            rows[0] ? changeHref(rows[0].change_id) : (matchingPages[0]?.[0] ?? href(["changes"], { q: typed })),
          );
        }}
        onKeyDown={moveByArrows}
        onClick={({ target }) => (target as Element).closest("a") && onClose()}
      >
        <Line
          label="A change or a page"
          hint="Words, a query such as is:pending risk:high, an id, or a question."
          autocomplete="off"
          maxLength={8000}
          value={text}
          onValue={setText}
          first
        />
        {!isLooking && (fault === undefined ? <Failure error={error} /> : <p role="status">{fault}</p>)}
        <ul class="found" aria-label="Found" aria-busy={isLooking}>
          {rows.map((row) => (
            <li key={row.change_id}>
              <a href={changeHref(row.change_id)}>
                <UserText text={row.summary} />
                <small class="quiet">
                  <Sentence parts={describeBriefly(row)} />
                </small>
              </a>
              <StatusBadge of={statusBadge(row)} />
            </li>
          ))}
          {matchingPages.map(([address, title]) => (
            <li key={address}>
              <a href={address}>{title}</a>
            </li>
          ))}
        </ul>
        {rows.length + matchingPages.length === 0 && !isLooking && error === undefined && (
          <p class="quiet" role="status">
            No change matches.
          </p>
        )}
        {data && data.total > MAX_ROWS && !isLooking && (
          <p>
            <a href={href(["changes"], { q: query })}>All {formatNumber(data.total)} in Changes</a>
          </p>
        )}
      </form>
      {answer && (
        <div onClick={({ target }) => (target as Element).closest("a") && onClose()}>
          <Answer of={answer} key={answer.reply.id} />
        </div>
      )}
      {typed !== "" && (
        <form onSubmit={asking.send}>
          <Failure error={asking.error} alert />
          <SubmitButton verb="Ask the service" busy={asking.busy} />
        </form>
      )}
    </Dialog>
  );
}

/** Moves the focus between the field and the results. */
function moveByArrows(event: KeyboardEvent): void {
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
  if (step === undefined) return;
  const focusable = [...(event.currentTarget as HTMLElement).querySelectorAll<HTMLElement>("input, .found a")];
  focusable[focusable.indexOf(document.activeElement as HTMLElement) + step]?.focus();
  event.preventDefault();
}
