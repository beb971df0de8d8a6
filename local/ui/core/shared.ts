/** Reads that the frame and several pages share. */
import type { CapabilityMap, Drift, FindAnswer, FindHelp, IntentView, State, Whoami } from "./api_types.ts";
import { get } from "./api.ts";
import { useValue } from "./hooks.tsx";
import type { ServiceEvent } from "./live.ts";
import { type ResourceOptions, type Resource, useResource } from "./resource.tsx";
import { personName } from "./session.ts";

export const useServiceState = (): Resource<State> =>
  useResource("state", (signal) => get<State>("api/state", {}, signal));

/** For data that no event of the service changes: they are read again only when anything may have changed. */
const UNCHANGED_BY_EVENTS = { concerns: (event: ServiceEvent) => event === null };

/** Reads the intent in force, which changes only when the service restarts. */
export const useIntent = (): Resource<IntentView> =>
  useResource("intent", (signal) => get<IntentView>("api/product/intent", {}, signal), UNCHANGED_BY_EVENTS);

export const useCapabilities = (): Resource<CapabilityMap> =>
  useResource("capabilities", (signal) => get<CapabilityMap>("api/capabilities", {}, signal));

/** Reads the drifted changes by id, if `isWanted`: their values were changed or removed outside Countersign. A failed read gives none. */
export function useDrift(isWanted: boolean): ReadonlyMap<string, unknown> {
  const { data } = useResource(isWanted ? "drift" : null, (signal) =>
    get<Drift>("api/product/drift", {}, signal).catch(() => undefined),
  );
  return new Map([...(data?.drifted ?? []), ...(data?.missing ?? [])].map((episode) => [episode.change_id, episode]));
}

export const useWhoami = (): Resource<Whoami> =>
  useResource("whoami", (signal) => get<Whoami>("api/whoami", {}, signal), UNCHANGED_BY_EVENTS);

/** Returns the name that a proxy or a token proves, the only one under which the service accepts decisions; null if there is none. */
export const findProvenName = (me: Whoami | undefined): string | null =>
  me?.authenticated === "proxy" || me?.authenticated === "jwt" ? me.name : null;

/** Reads saved questions and the fields of the query language; new names appear after a reload. */
export const useFindHelp = (): Resource<FindHelp> =>
  useResource("find help", (signal) => get<FindHelp>("api/find/saved", {}, signal), UNCHANGED_BY_EVENTS);

/** Reads a page of the changes that match a query, with dates in the reader's time zone; `null` reads nothing. */
export function useFind(
  q: string | null,
  { limit, after, concerns }: { limit: number; after?: string | undefined } & ResourceOptions,
): Resource<FindAnswer> {
  const person = useValue(personName);
  const { timeZone: tz } = new Intl.DateTimeFormat().resolvedOptions();
  const query = { q: q ?? "", limit, after, tz, person };
  const read = (signal: AbortSignal) => get<FindAnswer>("api/find", query, signal);
  return useResource(q === null ? null : `find ${JSON.stringify(query)}`, read, concerns ? { concerns } : {});
}
