/**
 * Stubs of the APIs of configuration stores, written from their documentation: Consul, Kubernetes, AWS AppConfig. In each, the
 * change `chg_a` sets the target `new-checkout` of the tenant `t1` to `{ limit: 1 }`.
 */
// @ts-expect-error an example without types
import { appconfig } from "../../../local/example/recipes/appconfig.mjs";
// @ts-expect-error an example without types
import { consul } from "../../../local/example/recipes/consul.mjs";
// @ts-expect-error an example without types
import { kubernetes } from "../../../local/example/recipes/kubernetes.mjs";
import { fakeFetch, type Recipe } from "./fake_fetch.ts";

const base64 = (value: unknown): string => Buffer.from(String(value)).toString("base64");

const CONSUL_HEADERS = { "x-consul-token": "consul-token" };
export const consulRecipe: Recipe = {
  values: [undefined, { limit: 1 }, "foreign"],
  makeSystem() {
    const keys = new Map<string, { Value: string; ModifyIndex: number }>();
    let index = 0;
    const set = (key: string, Value: string) => keys.set(key, { Value, ModifyIndex: ++index });
    const { send, ...rest } = fakeFetch(["x-consul-token", "content-type"], ({ method, path, body }) => {
      const [, key] = /^\/v1\/kv\/(.+)\?consistent$/.exec(path) ?? [];
      if (method === "GET" && key !== undefined) {
        const found = keys.get(decodeURIComponent(key));
        return found && { body: [{ Key: key, Flags: 0, LockIndex: 0, CreateIndex: 1, ...found }] };
      }
      if (method !== "PUT" || path !== "/v1/txn") return undefined;
      const operations = (body as { KV: { Verb: string; Key: string; Index?: number; Value?: string } }[]).map(
        ({ KV }) => KV,
      );
      // A key that does not exist has the index 0. One operation with another index rejects the transaction.
      const stale = operations.find(
        ({ Verb, Key, Index }) => Verb !== "set" && (keys.get(Key)?.ModifyIndex ?? 0) !== Index,
      );
      if (stale) return { status: 409, body: { Results: null, Errors: [{ OpIndex: 0, What: "failed to set key" }] } };
      for (const { Verb, Key, Value } of operations)
        if (Verb === "delete-cas") keys.delete(Key);
        else set(Key, Value!);
      return { body: { Results: [], Errors: null } };
    });
    const system = consul({ url: "http://consul.test", token: "consul-token", send });
    const edit = (value: unknown, target = "new-checkout") => set(`app/t1/${target}`, base64(JSON.stringify(value)));
    return { system, ...rest, edit };
  },
  applyRequests: [
    { method: "GET", path: "/v1/kv/app/t1/new-checkout?consistent", headers: CONSUL_HEADERS },
    {
      method: "PUT",
      path: "/v1/txn",
      headers: { ...CONSUL_HEADERS, "content-type": "application/json" },
      body: [
        { KV: { Verb: "cas", Key: "app/t1/new-checkout", Index: 0, Value: base64('{"limit":1}') } },
        { KV: { Verb: "set", Key: "countersign/changes/app/t1/new-checkout", Value: base64("chg_a") } },
      ],
    },
  ],
};

const KUBE_PATH = "/api/v1/namespaces/shop/configmaps/settings";
const KUBE_HEADERS = { authorization: "Bearer kube-token", accept: "application/json" };
const configMap = (resourceVersion: string, data: object, annotations: object = { owner: "team" }) => ({
  kind: "ConfigMap",
  apiVersion: "v1",
  metadata: { name: "settings", namespace: "shop", resourceVersion, annotations },
  data,
});
export const kubernetesRecipe: Recipe = {
  values: [undefined, { limit: 1 }, "foreign"],
  makeSystem() {
    let version = 1;
    let stored = configMap("1", { other: "stays" });
    const { send, ...rest } = fakeFetch(["authorization", "accept", "content-type"], ({ method, path, body }) => {
      if (path !== KUBE_PATH) return undefined;
      if (method === "GET") return { body: stored };
      if (method !== "PUT") return undefined;
      const next = body as typeof stored;
      if (next.metadata.resourceVersion !== stored.metadata.resourceVersion)
        return { status: 409, body: { kind: "Status", status: "Failure", reason: "Conflict", code: 409 } };
      stored = { ...next, metadata: { ...next.metadata, resourceVersion: String(++version) } };
      return { body: stored };
    });
    const system = kubernetes({
      url: "https://kube.test",
      token: "kube-token",
      namespace: "shop",
      name: "settings",
      send,
    });
    const edit = (value: unknown, target = "new-checkout") => {
      stored = configMap(String(++version), { ...stored.data, [`t1.${target}`]: JSON.stringify(value) });
    };
    return { system, ...rest, edit };
  },
  applyRequests: [
    { method: "GET", path: KUBE_PATH, headers: KUBE_HEADERS },
    {
      method: "PUT",
      path: KUBE_PATH,
      headers: { ...KUBE_HEADERS, "content-type": "application/json" },
      body: configMap(
        "1",
        { other: "stays", "t1.new-checkout": '{"limit":1}' },
        { owner: "team", "countersign/change-id": "chg_a" },
      ),
    },
  ],
};

const APPCONFIG_KEY = '["t1","new-checkout"]';
const VERSIONS = "/applications/abc1234/configurationprofiles/def5678/hostedconfigurationversions";
const DEPLOYMENTS = "/applications/abc1234/environments/ghi9012/deployments";
export const appconfigRecipe: Recipe = {
  values: [undefined, { limit: 1 }, "foreign"],
  makeSystem() {
    const versions: object[] = [{ other: "stays" }];
    const deployed = [
      { ConfigurationName: "settings", ConfigurationVersion: "1", DeploymentNumber: 1, State: "COMPLETE" },
    ];
    const deploy = (ConfigurationVersion: string) => {
      const DeploymentNumber = deployed.length + 1;
      deployed.unshift({ ConfigurationName: "settings", ConfigurationVersion, DeploymentNumber, State: "COMPLETE" });
    };
    const documented = ["content-type", "description", "latest-version-number"];
    const { send, ...rest } = fakeFetch(documented, ({ method, path, headers, body }) => {
      if (method === "GET" && path === `${DEPLOYMENTS}?max_results=50`) return { body: { Items: deployed } };
      if (method === "GET" && path.startsWith(`${VERSIONS}/`))
        return { body: versions[Number(path.slice(VERSIONS.length + 1)) - 1] };
      if (method === "POST" && path === VERSIONS) {
        if (headers["latest-version-number"] !== String(versions.length)) return { status: 409, body: {} };
        versions.push(body as object);
        return { status: 201, body: {}, headers: { "version-number": String(versions.length) } };
      }
      if (method === "DELETE" && path === `${VERSIONS}/${versions.length}`) {
        versions.pop();
        return { status: 204 };
      }
      if (method !== "POST" || path !== DEPLOYMENTS) return undefined;
      if (deployed.some(({ State }) => State !== "COMPLETE")) return { status: 409, body: {} };
      deploy((body as { ConfigurationVersion: string }).ConfigurationVersion);
      return { status: 201, body: { State: "DEPLOYING" } };
    });
    const ids = {
      application: "abc1234",
      profile: "def5678",
      profileName: "settings",
      environment: "ghi9012",
      strategy: "jkl3456",
    };
    const edit = (value: unknown, target = "new-checkout") => {
      versions.push({ ...versions.at(-1), [JSON.stringify(["t1", target])]: value });
      deploy(String(versions.length));
    };
    const startDeployment = () => {
      const other = { ConfigurationName: "other", ConfigurationVersion: "8", DeploymentNumber: 7, State: "BAKING" };
      deployed.unshift(other);
      return () => void (other.State = "COMPLETE");
    };
    return { system: appconfig({ url: "https://appconfig.test", ...ids, send }), ...rest, edit, startDeployment };
  },
  applyRequests: [
    { method: "GET", path: `${DEPLOYMENTS}?max_results=50`, headers: {} },
    { method: "GET", path: `${VERSIONS}/1`, headers: {} },
    {
      method: "POST",
      path: VERSIONS,
      headers: { "content-type": "application/json", description: "chg_a", "latest-version-number": "1" },
      body: { other: "stays", [APPCONFIG_KEY]: { limit: 1 } },
    },
    {
      method: "POST",
      path: DEPLOYMENTS,
      headers: { "content-type": "application/json" },
      body: {
        ConfigurationProfileId: "def5678",
        ConfigurationVersion: "2",
        DeploymentStrategyId: "jkl3456",
        Description: "chg_a",
      },
    },
  ],
};
