/**
 * Consul KV, HTTP API v1 (Consul 1.7 or later): a target is a key with JSON text. A transaction sets it by check-and-set, and
 * sets `countersign/changes/<key>` to the id of the change. The token needs `key:write` on both keys.
 *
 *     CONSUL_HTTP_ADDR=http://127.0.0.1:8500 CONSUL_HTTP_TOKEN=… SVC_ADAPTER_SECRET=… node consul.mjs
 */
import { request, runRecipe } from "./receiver.mjs";

export function consul({ url, token, prefix = "app", send }) {
  const headers = { "x-consul-token": token };
  const toKey = ({ tenant_id, target }) => [prefix, tenant_id, target.toLowerCase()].map(encodeURIComponent).join("/");
  const encode = (text) => Buffer.from(text).toString("base64");

  return {
    // A tenant has no slash, so that each key belongs to one tenant and target.
    check: ({ tenant_id }) => (tenant_id.includes("/") ? "the tenant contains a slash" : undefined),

    async read(change) {
      const response = await request(`${url}/v1/kv/${toKey(change)}?consistent`, { headers, send });
      if (response.status === 404) return { value: undefined, version: 0 };
      const [{ Value, ModifyIndex }] = await response.json();
      return { value: JSON.parse(Buffer.from(Value, "base64").toString()), version: ModifyIndex };
    },

    // The value undefined deletes the key. Index 0 sets the key only where it does not exist. A lost race is 409.
    async write(change, value, { version }) {
      // In a body, unlike in a URL, the key is not encoded.
      const Key = decodeURIComponent(toKey(change));
      const operation =
        value === undefined
          ? { Verb: "delete-cas", Key, Index: version }
          : { Verb: "cas", Key, Index: version, Value: encode(JSON.stringify(value)) };
      const changeId = { Verb: "set", Key: `countersign/changes/${Key}`, Value: encode(change.change_id) };
      const body = JSON.stringify([{ KV: operation }, { KV: changeId }]);
      await request(`${url}/v1/txn`, {
        method: "PUT",
        headers: { ...headers, "content-type": "application/json" },
        body,
        send,
      });
    },
  };
}

runRecipe(import.meta.url, ({ CONSUL_HTTP_ADDR: url, CONSUL_HTTP_TOKEN: token }) => consul({ url, token }));
