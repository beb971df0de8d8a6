/** The next and previous waiting changes, shown after a decision and opened by keys. */
import { useRef } from "preact/hooks";
import type { InboxItem } from "../../core/api_types.ts";
import { formatNumber } from "../../core/format.ts";
import { type KeyAction, useValue } from "../../core/hooks.tsx";
import { useResource } from "../../core/resource.tsx";
import { changeHref, navigate, href } from "../../core/router.tsx";
import { personName } from "../../core/session.ts";
import { readInbox } from "../../domain/inbox.ts";
import { describeBriefly, toPlainText } from "../../domain/sentences.ts";
import { UserText } from "../../parts/text.tsx";

interface Neighbours {
  next: InboxItem | undefined;
  /** Changes that wait for the reader, apart from this one. */
  left: number | undefined;
  keys: KeyAction[];
}

/** Finds the waiting changes before and after a change, in the order of the inbox. */
export function useNeighbours(id: string): Neighbours {
  const name = useValue(personName);
  const { data } = useResource(`inbox of ${name}`, (signal) => readInbox(name, signal));
  const waiting = data ? [...data.reviews, ...data.mine] : [];
  // A decided change is no longer in the list, so its last index is remembered.
  const lastIndex = useRef(0);
  const at = waiting.findIndex(({ change_id }) => change_id === id);
  if (at !== -1) lastIndex.current = at;
  const next = at === -1 ? (waiting[lastIndex.current] ?? waiting[0]) : waiting[at + 1];
  const before = waiting[(at === -1 ? lastIndex.current : at) - 1];
  const left = data && data.reviews.length + (data.totals.waiting_for_you ?? data.totals.pending) - (at === -1 ? 0 : 1);
  const open = (item: InboxItem | undefined) => item && navigate(changeHref(item.change_id));
  return {
    next,
    left,
    keys: [
      { key: "n", label: "Next change that waits for you", run: () => open(next) },
      { key: "b", label: "The one before", run: () => open(before) },
      { key: "u", label: "Back to the inbox", run: () => navigate(href([])) },
    ],
  };
}

/** "Next: Raise the limit (3 left)" */
export function NextWaiting({ of: { next, left } }: { of: Neighbours }) {
  if (left === undefined) return null;
  if (!next)
    return (
      <p>
        Nothing else waits for you. <a href={href([])}>Back to the inbox</a>
      </p>
    );
  return (
    <p>
      Next:{" "}
      <a href={changeHref(next.change_id)}>{<UserText text={next.title || toPlainText(describeBriefly(next))} />}</a> (
      {formatNumber(left)} left)
    </p>
  );
}
