/** How many changes wait, in the window's title: for the reader where a name is given, else for anybody. */
import type { News } from "../core/live.ts";
import { useValue, useWaiting } from "../core/hooks.tsx";
import { useResource } from "../core/resource.tsx";
import { personName } from "../core/session.ts";
import { useServiceState } from "../core/shared.ts";
import { waitingFor } from "../domain/inbox.ts";

/** `isShown`: the page shows the count itself. */
export function TitleCount({ isShown }: { isShown: boolean }) {
  const name = useValue(personName);
  const { data: state } = useServiceState();
  const isAsked = name !== "" && !isShown;
  const own = useResource(
    isAsked ? `waiting for ${name}` : null,
    async (signal) => (await waitingFor(name, signal, 1)).totals,
    { concerns },
  );
  const pending = state && pendingIn(state);
  useWaiting(isShown ? undefined : isAsked && !own.error ? (own.data?.waiting_for_you ?? own.data?.pending) : pending);
  return null;
}

const MOVES = ["change_proposed", "consent_decision"];

const concerns = (news: News): boolean =>
  news === null || (news.type === "audit" && MOVES.includes(news.data.event_type));

/** How many changes wait for consent, as the service's state says. */
const pendingIn = ({ dimensions }: { dimensions: { N: { items: { item: string; open: number }[] } } }): number =>
  dimensions.N.items.find(({ item }) => item === "pending_changes")?.open ?? 0;
