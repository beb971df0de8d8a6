import { useState } from "preact/hooks";
import type { FindRow } from "../core/api_types.ts";
import { figure } from "../core/format.ts";
import { useRested } from "../core/hooks.tsx";
import { changeHref, goTo, href } from "../core/router.tsx";
import { useFound } from "../core/shared.ts";
import { asPrefix, describeFault } from "../domain/find_answer.ts";
import { shortly } from "../domain/sentences.ts";
import { statusMark } from "../domain/statuses.ts";
import { Combobox } from "./combobox.tsx";
import { Dialog } from "./dialog.tsx";
import { Mark } from "./mark.tsx";
import { Failure } from "./notice.tsx";
import { Given, Sentence } from "./text.tsx";

const SHOWN = 8;

/** Finds a page, or a change by a query; arrows choose, Enter opens. */
export function FindDialog({ pages, onClose }: { pages: readonly (readonly [string, string])[]; onClose: () => void }) {
  const [text, setText] = useState("");
  const typed = text.trim();
  const query = asPrefix(useRested(typed));
  const all = href(["changes"], { q: query });
  const { data, error, loading } = useFound(query === "" ? null : query, { limit: SHOWN, concerns: () => false });
  const isLooking = typed !== "" && (loading || query !== asPrefix(typed));
  const named = pages.filter(([, title]) => title.toLowerCase().includes(typed.toLowerCase()));
  const results = [
    ...(isLooking ? [] : (data?.rows ?? [])).map((row) => ({
      to: changeHref(row.change_id),
      content: <Row of={row} />,
    })),
    ...named.map(([to, title]) => ({ to, content: title })),
  ];
  const fault = describeFault(error);
  const open = (to: string) => {
    onClose();
    goTo(to);
  };
  return (
    <Dialog title="Find" onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          if (typed !== "") open(href(["changes"], { q: typed }));
        }}
      >
        <Combobox
          label="A change or a page"
          hint="Words, a query such as is:pending risk:high, or an id."
          value={text}
          onValue={setText}
          options={results.map(({ to, content }) => ({ key: to, content }))}
          onChoose={(index) => open(results[index]!.to)}
          busy={isLooking}
        />
        {!isLooking && (fault === undefined ? <Failure error={error} /> : <p role="status">{fault}</p>)}
        {results.length === 0 && !isLooking && error === undefined && (
          <p class="quiet" role="status">
            No change matches.
          </p>
        )}
        {data && data.total > SHOWN && !isLooking && (
          <p>
            <a href={all} onClick={onClose}>
              All {figure(data.total)} in Changes
            </a>
          </p>
        )}
      </form>
    </Dialog>
  );
}

const Row = ({ of }: { of: FindRow }) => (
  <>
    <span>
      <Given text={of.summary} />
      <small class="quiet">
        <Sentence parts={shortly(of)} />
      </small>
    </span>
    <Mark of={statusMark(of)} />
  </>
);
