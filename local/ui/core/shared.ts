/** What the frame and several pages read alike. */
import type { IntentView, State, Whoami } from "./api_types.ts";
import { get } from "./api.ts";
import { type Resource, useResource } from "./resource.tsx";

/** How the service stands. */
export const useServiceState = (): Resource<State> =>
  useResource("state", (signal) => get<State>("api/state", {}, signal));

/** The intent in force. The service reads it when it starts, so no single event is news of it. */
export const useIntent = (): Resource<IntentView> =>
  useResource("intent", (signal) => get<IntentView>("api/product/intent", {}, signal), {
    concerns: (news) => news === null,
  });

/** Who the service takes the reader for. */
export const useWhoami = (): Resource<Whoami> =>
  useResource("whoami", (signal) => get<Whoami>("api/whoami", {}, signal), { concerns: (news) => news === null });
