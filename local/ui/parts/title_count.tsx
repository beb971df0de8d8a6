/** The number of waiting changes in the window title: for the reader, or for anybody if no name is set. */
import type { ServiceEvent } from "../core/live.ts";
import { useValue, useWaitingCount } from "../core/hooks.tsx";
import { useResource } from "../core/resource.tsx";
import { personName } from "../core/session.ts";
import { useServiceState } from "../core/shared.ts";
import { readWaiting } from "../domain/inbox.ts";

/** `isShown`: the page shows the count itself. */
export function TitleCount({ isShown }: { isShown: boolean }) {
  const name = useValue(personName);
  const { data: state } = useServiceState();
  const readsOwnCount = name !== "" && !isShown;
  const own = useResource(
    readsOwnCount ? `waiting for ${name}` : null,
    async (signal) => (await readWaiting(name, signal, 1)).totals,
    { concerns },
  );
  const pending = state && countPending(state);
  useWaitingCount(
    isShown ? undefined : readsOwnCount && !own.error ? (own.data?.waiting_for_you ?? own.data?.pending) : pending,
  );
  return null;
}

const MOVES = ["change_proposed", "consent_decision"];

const concerns = (event: ServiceEvent): boolean =>
  event === null || (event.type === "audit" && MOVES.includes(event.data.event_type));

/** Returns the number of pending changes in the service's state. */
const countPending = ({ dimensions }: { dimensions: { N: { items: { item: string; open: number }[] } } }): number =>
  dimensions.N.items.find(({ item }) => item === "pending_changes")?.open ?? 0;
