import { useState } from "preact/hooks";
import type { Change } from "../core/api_types.ts";
import { figure } from "../core/format.ts";
import { useRested } from "../core/hooks.tsx";
import { useResource } from "../core/resource.tsx";
import { changeHref, goTo, href } from "../core/router.tsx";
import { filterOf, readPage } from "../domain/change_list.ts";
import { shortly } from "../domain/sentences.ts";
import { statusMark } from "../domain/statuses.ts";
import { Dialog } from "./dialog.tsx";
import { Line } from "./field.tsx";
import { Mark } from "./mark.tsx";
import { Failure } from "./notice.tsx";
import { Given, Sentence } from "./text.tsx";

const SHOWN = 8;

/** Finds a page or a change, among all; arrows choose, Enter opens. */
export function FindDialog({ pages, onClose }: { pages: readonly (readonly [string, string])[]; onClose: () => void }) {
  const [text, setText] = useState("");
  const [chosen, choose] = useState(0);
  const typed = text.trim();
  const asked = useRested(typed);
  const all = href(["changes"], { text: typed });
  const { data, error, loading } = useResource(
    asked === "" ? null : `find ${asked}`,
    (signal) => readPage(filterOf(new URLSearchParams({ text: asked })), { limit: SHOWN, signal }),
    { concerns: () => false },
  );
  const isLooking = typed !== "" && (loading || asked !== typed);
  const found = resultsOf(typed, pages, isLooking ? [] : (data?.changes ?? []));
  const at = Math.min(chosen, found.length - 1);
  const open = (to: string) => {
    onClose();
    goTo(to);
  };
  return (
    <Dialog title="Find" onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (found[at]) open(found[at].to);
          else if (typed !== "") open(all);
        }}
        onKeyDown={(event) => {
          const step = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
          if (step === 0) return;
          event.preventDefault();
          choose(Math.max(0, Math.min(found.length - 1, at + step)));
        }}
      >
        <Line
          label="A change or a page"
          hint="Words of a title, a reason or a target, or a whole id."
          value={text}
          onValue={(given) => {
            setText(given);
            choose(0);
          }}
          maxLength={200}
          first
        />
        <ul class="found" aria-label="Found" aria-busy={isLooking}>
          {found.map(({ to, page, change }, index) => (
            <li key={to} class={index === at ? "chosen" : ""}>
              <a href={to} onClick={onClose}>
                {change ? <Given text={change.summary} /> : page}
                {change && (
                  <small class="quiet">
                    <Sentence parts={shortly(change)} />
                  </small>
                )}
              </a>
              {change && <Mark of={statusMark(change)} />}
            </li>
          ))}
        </ul>
        {!isLooking && <Failure error={error} />}
        {found.length === 0 && !isLooking && error === undefined && (
          <p class="quiet" role="status">
            Nothing matches.
          </p>
        )}
        {data && data.total > SHOWN && !isLooking && (
          <p>
            <a href={all} onClick={onClose}>
              All {figure(data.total)} that fit
            </a>
          </p>
        )}
      </form>
    </Dialog>
  );
}

interface Found {
  to: string;
  page?: string;
  change?: Change;
}

/** A whole id leads to its change also where the service did not look so far back. */
function resultsOf(text: string, pages: readonly (readonly [string, string])[], changes: readonly Change[]): Found[] {
  const named = pages.filter(([, title]) => title.toLowerCase().includes(text.toLowerCase()));
  const exact = /^chg_\S+$/.test(text) && !changes.some(({ change_id }) => change_id === text);
  return [
    ...(exact ? [{ to: changeHref(text), page: text }] : []),
    ...changes.map((change) => ({ to: changeHref(change.change_id), change })),
    ...named.map(([to, title]) => ({ to, page: title })),
  ];
}
