/**
 * GrowthBook, REST API v2: a target is a feature, its value the feature's default value in all environments. A write creates a
 * draft, compares its base with the version that was read, and publishes it; the comment names the change. The key needs the rights to edit and
 * publish features; where approvals are required, also the right to bypass them.
 *
 *     GROWTHBOOK_KEY=secret_… SVC_ADAPTER_SECRET=… node growthbook.mjs
 */
import { Conflict, RequestRejected, request, runRecipe } from "./receiver.mjs";

export function growthbook({ url = "https://api.growthbook.io/api", token, send }) {
  const headers = { authorization: `Bearer ${token}`, "content-type": "application/json" };
  const toUrl = ({ target }) => `${url}/v2/features/${encodeURIComponent(target)}`;
  const call = (address, method, body) => request(address, { method, headers, body: JSON.stringify(body), send });

  return {
    async read(change) {
      const response = await request(toUrl(change), { headers, send });
      if (response.status === 404) throw new RequestRejected("the feature does not exist");
      const { feature } = await response.json();
      const { defaultValue, valueType, revision } = feature;
      const value = valueType === "string" ? defaultValue : JSON.parse(defaultValue);
      return { value, version: { valueType, number: revision.version } };
    },

    async write(change, value, { version: { valueType, number } }) {
      const comment = change.change_id;
      const { revision } = await (await call(`${toUrl(change)}/revisions`, "POST", { comment })).json();
      const draft = `${toUrl(change)}/revisions/${revision.version}`;
      try {
        if (revision.baseVersion !== number) throw new Conflict();
        const defaultValue = valueType === "string" ? value : JSON.stringify(value);
        await call(`${draft}/default-value`, "PUT", { defaultValue });
        await call(`${draft}/publish`, "POST", { comment });
      } catch (error) {
        if (error instanceof Conflict) await call(`${draft}/discard`, "POST", {});
        throw error;
      }
    },
  };
}

runRecipe(import.meta.url, ({ GROWTHBOOK_KEY: token, GROWTHBOOK_URL: url }) => growthbook({ token, url }));
