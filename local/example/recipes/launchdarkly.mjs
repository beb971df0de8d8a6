/**
 * LaunchDarkly, REST API v2, version 20240415: a target is a flag in one environment; its value is `{"on": …, "serves": …}`,
 * the variation that the default rule serves. The JSON patch tests what was read, and its comment names the change. The
 * token needs `updateOn` and `updateFallthrough` on the flags.
 *
 *     LD_TOKEN=api-… LD_PROJECT=default LD_ENVIRONMENT=production SVC_ADAPTER_SECRET=… node launchdarkly.mjs
 */
import { isDeepStrictEqual } from "node:util";
import { RequestRejected, request, runRecipe } from "./receiver.mjs";

export function launchdarkly({ url = "https://app.launchdarkly.com", token, project, environment, send }) {
  const headers = { authorization: token, "ld-api-version": "20240415" };
  const toUrl = ({ target }) => `${url}/api/v2/flags/${project}/${encodeURIComponent(target)}`;

  return {
    check: ({ value }) =>
      typeof value?.on === "boolean" && "serves" in value ? undefined : "the value is not {on, serves}",

    async read(change) {
      const response = await request(`${toUrl(change)}?env=${environment}`, { headers, send });
      if (response.status === 404) throw new RequestRejected("the flag does not exist");
      const { variations, environments } = await response.json();
      const { on, fallthrough } = environments[environment];
      if (fallthrough.variation === undefined) throw new RequestRejected("the default rule is a percentage rollout");
      const value = { on, serves: variations[fallthrough.variation].value };
      return { value, version: { on, variation: fallthrough.variation, variations } };
    },

    async write(change, value, { version: { on, variation, variations } }) {
      const next = variations.findIndex((one) => isDeepStrictEqual(one.value, value.serves));
      if (next === -1) throw new RequestRejected("no variation of the flag has this value");
      const [onPath, variationPath] = ["on", "fallthrough/variation"].map(
        (path) => `/environments/${environment}/${path}`,
      );
      const patch = [
        { op: "test", path: onPath, value: on },
        { op: "test", path: variationPath, value: variation },
        { op: "replace", path: onPath, value: value.on },
        { op: "replace", path: variationPath, value: next },
      ];
      await request(toUrl(change), {
        method: "PATCH",
        headers: { ...headers, "content-type": "application/json" },
        body: JSON.stringify({ comment: change.change_id, patch }),
        send,
      });
    },
  };
}

runRecipe(import.meta.url, ({ LD_TOKEN: token, LD_PROJECT: project, LD_ENVIRONMENT: environment }) =>
  launchdarkly({ token, project, environment }),
);
