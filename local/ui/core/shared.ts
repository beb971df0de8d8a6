/** Reads that the frame and several pages share. */
import type { CapabilityMap, Drift, FindAnswer, FindHelp, IntentView, State, Whoami } from "./api_types.ts";
import { get } from "./api.ts";
import { useValue } from "./hooks.tsx";
import { type ResourceOptions, type Resource, useResource } from "./resource.tsx";
import { personName } from "./session.ts";

/** How the service stands. */
export const useServiceState = (): Resource<State> =>
  useResource("state", (signal) => get<State>("api/state", {}, signal));

/** The intent in force, once it is wanted. The service reads it when it starts, so no single event is news of it. */
export const useIntent = (wanted = true): Resource<IntentView> =>
  useResource(wanted ? "intent" : null, (signal) => get<IntentView>("api/product/intent", {}, signal), {
    concerns: (news) => news === null,
  });

/** Reads the capabilities, once they are wanted. */
export const useCapabilities = (wanted = true): Resource<CapabilityMap> =>
  useResource(wanted ? "capabilities" : null, (signal) => get<CapabilityMap>("api/capabilities", {}, signal));

/** Reads the changes whose values the host product shows no more. */
export function useDrift(wanted = true): ReadonlyMap<string, unknown> {
  const { data } = useResource(wanted ? "drift" : null, (signal) =>
    get<Drift>("api/product/drift", {}, signal).catch(() => undefined),
  );
  return new Map([...(data?.drifted ?? []), ...(data?.missing ?? [])].map((episode) => [episode.change_id, episode]));
}

/** Who the service takes the reader for. */
export const useWhoami = (): Resource<Whoami> =>
  useResource("whoami", (signal) => get<Whoami>("api/whoami", {}, signal), { concerns: (news) => news === null });

/** Saved questions and the fields of a query. A name that is added shows with the next visit. */
export const useFindHelp = (): Resource<FindHelp> =>
  useResource("find help", (signal) => get<FindHelp>("api/find/saved", {}, signal), {
    concerns: (news) => news === null,
  });

/** A page of the changes that a query finds for the reader, on their calendar; `null` reads nothing. */
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
