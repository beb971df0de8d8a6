/** What the frame and several pages read alike. */
import type { CapabilityMap, Drift, IntentView, State, Whoami } from "./api_types.ts";
import { get } from "./api.ts";
import { type Resource, useResource } from "./resource.tsx";

/** How the service stands. */
export const useServiceState = (): Resource<State> =>
  useResource("state", (signal) => get<State>("api/state", {}, signal));

/** The intent in force, once it is wanted. The service reads it when it starts, so no single event is news of it. */
export const useIntent = (wanted = true): Resource<IntentView> =>
  useResource(wanted ? "intent" : null, (signal) => get<IntentView>("api/product/intent", {}, signal), {
    concerns: (news) => news === null,
  });

/** What works and what does not, once it is wanted. */
export const useCapabilities = (wanted = true): Resource<CapabilityMap> =>
  useResource(wanted ? "capabilities" : null, (signal) => get<CapabilityMap>("api/capabilities", {}, signal));

/** What the host product shows no more, by change. */
export function useDrift(wanted = true): ReadonlyMap<string, unknown> {
  const { data } = useResource(wanted ? "drift" : null, (signal) =>
    get<Drift>("api/product/drift", {}, signal).catch(() => undefined),
  );
  return new Map([...(data?.drifted ?? []), ...(data?.missing ?? [])].map((episode) => [episode.change_id, episode]));
}

/** Who the service takes the reader for. */
export const useWhoami = (): Resource<Whoami> =>
  useResource("whoami", (signal) => get<Whoami>("api/whoami", {}, signal), { concerns: (news) => news === null });
