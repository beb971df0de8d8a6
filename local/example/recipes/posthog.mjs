/**
 * PostHog, REST API: a target is a feature flag of one project, its value `{"active": …, "filters": …}`. The update names the
 * version that was read and its content (`version`, `original_flag`), and is rejected with 409 after another edit; the activity log names
 * the key's user. The personal API key needs the scope feature_flag:write.
 *
 *     POSTHOG_KEY=phx_… POSTHOG_PROJECT=1234 SVC_ADAPTER_SECRET=… node posthog.mjs
 */
import { RequestRejected, request, runRecipe } from "./receiver.mjs";

export function posthog({ url = "https://us.posthog.com", token, project, send }) {
  const headers = { authorization: `Bearer ${token}` };
  const flags = `${url}/api/projects/${project}/feature_flags/`;

  return {
    check: ({ value }) =>
      typeof value?.active === "boolean" && Array.isArray(value.filters?.groups)
        ? undefined
        : "the value is not {active, filters} with filters.groups",

    async read({ target }) {
      const response = await request(`${flags}?search=${encodeURIComponent(target)}`, { headers, send });
      const flag = (await response.json()).results?.find(({ key }) => key === target);
      if (!flag) throw new RequestRejected("the flag does not exist");
      const { id, version, active, filters } = flag;
      return { value: { active, filters }, version: { id, version } };
    },

    async write(_, { active, filters }, { value: original_flag, version: { id, version } }) {
      await request(`${flags}${id}/`, {
        method: "PATCH",
        headers: { ...headers, "content-type": "application/json" },
        body: JSON.stringify({ active, filters, version, original_flag }),
        send,
      });
    },
  };
}

runRecipe(import.meta.url, ({ POSTHOG_KEY: token, POSTHOG_PROJECT: project, POSTHOG_URL: url }) =>
  posthog({ token, project, url }),
);
