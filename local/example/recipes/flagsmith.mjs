/**
 * Flagsmith, Admin API v1: a target is a feature in one environment, its value `{"enabled": …, "value": …}`. The API has
 * no conditional write: an edit between the last read and the write is lost. It has no comment: its audit log names the key. Not for
 * environments with feature versioning. The key needs the right to update feature states.
 *
 *     FLAGSMITH_KEY=… FLAGSMITH_ENVIRONMENT=… SVC_ADAPTER_SECRET=… node flagsmith.mjs
 */
import { isDeepStrictEqual } from "node:util";
import { Conflict, RequestRejected, request, runRecipe } from "./receiver.mjs";

export function flagsmith({ url = "https://api.flagsmith.com", token, environment, send }) {
  const headers = { authorization: `Api-Key ${token}` };
  const states = `${url}/api/v1/environments/${environment}/featurestates/`;

  const system = {
    check: ({ value }) =>
      typeof value?.enabled === "boolean" && ["string", "number", "boolean"].includes(typeof value.value)
        ? undefined
        : "the value is not {enabled, value} with text, a number or a boolean",

    async read({ target }) {
      const response = await request(`${states}?feature_name=${encodeURIComponent(target)}`, { headers, send });
      const [state] = (await response.json()).results ?? [];
      if (!state) throw new RequestRejected("the feature does not exist");
      const { id, enabled, feature_state_value } = state;
      return { value: { enabled, value: feature_state_value }, version: id };
    },

    async write(change, { enabled, value }, read) {
      if (!isDeepStrictEqual(await system.read(change), read)) throw new Conflict();
      await request(`${states}${read.version}/`, {
        method: "PATCH",
        headers: { ...headers, "content-type": "application/json" },
        body: JSON.stringify({ enabled, feature_state_value: value }),
        send,
      });
    },
  };
  return system;
}

runRecipe(import.meta.url, ({ FLAGSMITH_KEY: token, FLAGSMITH_ENVIRONMENT: environment }) =>
  flagsmith({ token, environment }),
);
