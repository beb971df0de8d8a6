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
import { UserLink } from "../../parts/text.tsx";

interface Neighbours {
  next: InboxItem | undefined;
  /** Number of other changes that wait for the reader. */
  otherCount: number | undefined;
  keys: KeyAction[];
}

/** Finds the waiting changes before and after a change, in the order of the inbox. */
export function useNeighbours(id: string): Neighbours {
  const name = useValue(personName);
  const { data } = useResource(`inbox of ${name}`, (signal) => readInbox(name, signal));
  const waiting = data ? [...data.reviews, ...data.decidable] : [];
  // A decided change is no longer in the list, so its last index is remembered.
  const lastIndex = useRef(0);
  const index = waiting.findIndex(({ change_id }) => change_id === id);
  const isListed = index !== -1;
  if (isListed) lastIndex.current = index;
  const next = isListed ? waiting[index + 1] : (waiting[lastIndex.current] ?? waiting[0]);
  const previous = waiting[lastIndex.current - 1];
  const waitingCount = data && data.reviews.length + (data.totals.waiting_for_you ?? data.totals.pending);
  const otherCount = waitingCount && waitingCount - (isListed ? 1 : 0);
  const open = (item: InboxItem | undefined) => item && navigate(changeHref(item.change_id));
  return {
    next,
    otherCount,
    keys: [
      { key: "n", label: "Next change that waits for you", run: () => open(next) },
      { key: "b", label: "Previous change that waits for you", run: () => open(previous) },
      { key: "u", label: "Back to the inbox", run: () => navigate(href([])) },
    ],
  };
}

/** "Next: Raise the limit (3 left)" */
export function NextWaiting({ of: { next, otherCount } }: { of: Neighbours }) {
  if (otherCount === undefined) return null;
  if (!next)
    return (
      <p>
        Nothing else waits for you. <a href={href([])}>Back to the inbox</a>
      </p>
    );
  return (
    <p>
      Next: <UserLink href={changeHref(next.change_id)} text={next.title || toPlainText(describeBriefly(next))} /> (
      {formatNumber(otherCount)} left)
    </p>
  );
}
