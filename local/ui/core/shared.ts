/** Reads that the frame and several pages share. */
import type { CapabilityMap, Drift, FindAnswer, FindHelp, IntentView, State, Whoami } from "./api_types.ts";
import { get } from "./api.ts";
import { useValue } from "./hooks.tsx";
import { type ResourceOptions, type Resource, useResource } from "./resource.tsx";
import { personName } from "./session.ts";

/** Reads the service's state. */
export const useServiceState = (): Resource<State> =>
  useResource("state", (signal) => get<State>("api/state", {}, signal));

/** Reads the intent in force if `wanted`. It changes only when the service restarts, so no event concerns it. */
export const useIntent = (wanted = true): Resource<IntentView> =>
  useResource(wanted ? "intent" : null, (signal) => get<IntentView>("api/product/intent", {}, signal), {
    concerns: (news) => news === null,
  });

/** Reads the capabilities if `wanted`. */
export const useCapabilities = (wanted = true): Resource<CapabilityMap> =>
  useResource(wanted ? "capabilities" : null, (signal) => get<CapabilityMap>("api/capabilities", {}, signal));

/** Reads the drifted changes, by id: their values were changed or removed outside Countersign. */
export function useDrift(wanted = true): ReadonlyMap<string, unknown> {
  const { data } = useResource(wanted ? "drift" : null, (signal) =>
    get<Drift>("api/product/drift", {}, signal).catch(() => undefined),
  );
  return new Map([...(data?.drifted ?? []), ...(data?.missing ?? [])].map((episode) => [episode.change_id, episode]));
}

/** Reads the identity and permissions of the reader. */
export const useWhoami = (): Resource<Whoami> =>
  useResource("whoami", (signal) => get<Whoami>("api/whoami", {}, signal), { concerns: (news) => news === null });

/** Returns the name that a proxy or a token proves, under which alone the service accepts decisions; null if there is none. */
export const findProvenName = (me: Whoami | undefined): string | null =>
  me?.authenticated === "proxy" || me?.authenticated === "jwt" ? me.name : null;

/** Reads saved questions and the fields of the query language; new names appear after a reload. */
export const useFindHelp = (): Resource<FindHelp> =>
  useResource("find help", (signal) => get<FindHelp>("api/find/saved", {}, signal), {
    concerns: (news) => news === null,
  });

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
