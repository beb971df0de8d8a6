import { useState } from "preact/hooks";
import type { Change, RuntimePage } from "../core/api_types.ts";
import { get } from "../core/api.ts";
import { useResource } from "../core/resource.tsx";
import { changeHref, goTo, href } from "../core/router.tsx";
import { holds } from "../domain/change_list.ts";
import { shortly } from "../domain/sentences.ts";
import { statusMark } from "../domain/statuses.ts";
import { Dialog } from "./dialog.tsx";
import { Line } from "./field.tsx";
import { Mark } from "./mark.tsx";
import { Sentence } from "./text.tsx";

const SHOWN = 8;
const LOOKED_AT = 200;

/** Finds a page or one of the newest changes; arrows choose, Enter opens. */
export function FindDialog({ pages, onClose }: { pages: readonly (readonly [string, string])[]; onClose: () => void }) {
  const [text, setText] = useState("");
  const [chosen, choose] = useState(0);
  const { data } = useResource("find", (signal) =>
    get<RuntimePage>("api/product/runtime", { limit: LOOKED_AT }, signal),
  );
  const found = resultsOf(text.trim(), pages, data?.changes ?? []);
  const at = Math.min(chosen, found.length - 1);
  const open = (index: number) => {
    const to = found[index]?.to;
    if (to === undefined) return;
    onClose();
    goTo(to);
  };
  return (
    <Dialog title="Find" onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          open(at);
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
          hint={`Looks through the newest ${LOOKED_AT} changes; a whole id is found in any case.`}
          value={text}
          onValue={(given) => {
            setText(given);
            choose(0);
          }}
          first
        />
        <ul class="plain found" aria-label="Found">
          {found.map(({ to, page, change }, index) => (
            <li key={to} class={index === at ? "chosen" : ""}>
              <a href={to} onClick={onClose}>
                {change ? <Sentence parts={shortly(change)} /> : page}
              </a>
              {change && <Mark of={statusMark(change)} />}
            </li>
          ))}
        </ul>
        {found.length === 0 && (
          <p class="quiet" role="status">
            Nothing fits.{" "}
            <a href={href(["changes"], { q: text })} onClick={onClose}>
              Look through all changes
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

function resultsOf(text: string, pages: readonly (readonly [string, string])[], changes: readonly Change[]): Found[] {
  const known = changes.filter((change) => holds(change, text)).slice(0, SHOWN);
  const named = pages.filter(([, title]) => title.toLowerCase().includes(text.toLowerCase()));
  const exact = /^chg_\S+$/.test(text) && !known.some(({ change_id }) => change_id === text);
  return [
    ...(exact ? [{ to: changeHref(text), page: text }] : []),
    ...(text === "" ? [] : known.map((change) => ({ to: changeHref(change.change_id), change }))),
    ...named.map(([to, title]) => ({ to, page: title })),
  ];
}
