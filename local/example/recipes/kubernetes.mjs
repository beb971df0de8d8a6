/**
 * A Kubernetes ConfigMap, API v1: a target is a key of its `data`, with JSON text. `resourceVersion` makes the API server
 * reject a write over any other edit of the object. The role needs `get` and `update` on this ConfigMap, which must exist.
 *
 *     KUBE_URL=https://kubernetes.default.svc KUBE_TOKEN=… NAMESPACE=shop CONFIG_MAP=settings SVC_ADAPTER_SECRET=… node kubernetes.mjs
 */
import { RequestRejected, request, runRecipe } from "./receiver.mjs";

export function kubernetes({ url, token, namespace, name, send }) {
  const object = `${url}/api/v1/namespaces/${namespace}/configmaps/${name}`;
  const headers = { authorization: `Bearer ${token}`, accept: "application/json" };
  // `check` rejects a dot in the tenant, so that each key belongs to one tenant and target.
  const toKey = ({ tenant_id, target }) => `${tenant_id}.${target.toLowerCase()}`;

  return {
    check: (change) =>
      /^[\w.-]{1,253}$/.test(toKey(change)) && !change.tenant_id.includes(".")
        ? undefined
        : "a ConfigMap's key has A-Z a-z 0-9 . _ - only, and the tenant no dot",

    async read(change) {
      const response = await request(object, { headers, send });
      if (response.status === 404) throw new RequestRejected("the ConfigMap does not exist");
      const configMap = await response.json();
      const text = configMap.data?.[toKey(change)];
      return { value: text === undefined ? undefined : JSON.parse(text), version: configMap };
    },

    async write(change, value, { version: { data, metadata, ...configMap } }) {
      const { [toKey(change)]: _, ...others } = data ?? {};
      const annotations = { ...metadata.annotations, "countersign/change-id": change.change_id };
      const next = value === undefined ? others : { ...others, [toKey(change)]: JSON.stringify(value) };
      await request(object, {
        method: "PUT",
        headers: { ...headers, "content-type": "application/json" },
        body: JSON.stringify({ ...configMap, metadata: { ...metadata, annotations }, data: next }),
        send,
      });
    },
  };
}

runRecipe(import.meta.url, ({ KUBE_URL: url, KUBE_TOKEN: token, NAMESPACE: namespace, CONFIG_MAP: name }) =>
  kubernetes({ url, token, namespace, name }),
);
