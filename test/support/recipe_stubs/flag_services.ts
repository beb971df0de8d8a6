/** Stubs of the APIs of flag services, written from their documentation: LaunchDarkly, GrowthBook, Flagsmith, PostHog. */
// @ts-expect-error an example without types
import { flagsmith } from "../../../local/example/recipes/flagsmith.mjs";
// @ts-expect-error an example without types
import { growthbook } from "../../../local/example/recipes/growthbook.mjs";
// @ts-expect-error an example without types
import { launchdarkly } from "../../../local/example/recipes/launchdarkly.mjs";
// @ts-expect-error an example without types
import { posthog } from "../../../local/example/recipes/posthog.mjs";
import { fakeFetch, type Recipe } from "./fake_fetch.ts";

const LD_PATH = "/api/v2/flags/default/new-checkout";
const LD_HEADERS = { authorization: "api-token", "ld-api-version": "20240415" };
const LD_ON = "/environments/production/on";
const LD_VARIATION = "/environments/production/fallthrough/variation";
export const launchdarklyRecipe: Recipe = {
  values: [
    { on: false, serves: "red" },
    { on: true, serves: { color: "blue" } },
    { on: true, serves: "red" },
  ],
  makeSystem() {
    const variations = [
      { _id: "a", value: "red" },
      { _id: "b", value: { color: "blue" } },
    ];
    const stored: Record<string, unknown> = { [LD_ON]: false, [LD_VARIATION]: 0 };
    const { send, ...rest } = fakeFetch([...Object.keys(LD_HEADERS), "content-type"], ({ method, path, body }) => {
      if (method === "GET" && path === `${LD_PATH}?env=production`) {
        const production = { on: stored[LD_ON], fallthrough: { variation: stored[LD_VARIATION] }, offVariation: 0 };
        return { body: { key: "new-checkout", kind: "multivariate", variations, environments: { production } } };
      }
      if (method !== "PATCH" || path !== LD_PATH) return undefined;
      const { patch } = body as { patch: { op: string; path: string; value: unknown }[] };
      if (patch.some(({ op, path: at, value }) => op === "test" && stored[at] !== value))
        return { status: 409, body: {} };
      for (const { op, path: at, value } of patch) if (op === "replace") stored[at] = value;
      return { body: {} };
    });
    const system = launchdarkly({ token: "api-token", project: "default", environment: "production", send });
    const edit = (value: unknown) => {
      const { on, serves } = value as { on: boolean; serves: unknown };
      Object.assign(stored, { [LD_ON]: on, [LD_VARIATION]: serves === "red" ? 0 : 1 });
    };
    return { system, ...rest, edit };
  },
  applyRequests: [
    { method: "GET", path: `${LD_PATH}?env=production`, headers: LD_HEADERS },
    {
      method: "PATCH",
      path: LD_PATH,
      headers: { ...LD_HEADERS, "content-type": "application/json" },
      body: {
        comment: "chg_a",
        patch: [
          { op: "test", path: LD_ON, value: false },
          { op: "test", path: LD_VARIATION, value: 0 },
          { op: "replace", path: LD_ON, value: true },
          { op: "replace", path: LD_VARIATION, value: 1 },
        ],
      },
    },
  ],
};

const GB_PATH = "/api/v2/features/new-checkout";
const GB_HEADERS = { authorization: "Bearer secret_key", "content-type": "application/json" };
export const growthbookRecipe: Recipe = {
  values: [10, 20, 30],
  makeSystem() {
    let live = { defaultValue: "10", version: 1 };
    let last = 1;
    const drafts = new Map<number, { baseVersion: number; defaultValue: string }>();
    const { send, ...rest } = fakeFetch(["authorization", "content-type"], ({ method, path, body }) => {
      if (method === "GET" && path === GB_PATH) {
        const { version, defaultValue } = live;
        return { body: { feature: { id: "new-checkout", valueType: "number", defaultValue, revision: { version } } } };
      }
      if (method === "POST" && path === `${GB_PATH}/revisions`) {
        drafts.set(++last, { baseVersion: live.version, defaultValue: live.defaultValue });
        return { body: { revision: { version: last, baseVersion: live.version, status: "draft" } } };
      }
      const [, number, step] = /\/revisions\/(\d+)\/([\w-]+)$/.exec(path) ?? [];
      const draft = drafts.get(Number(number));
      if (!draft) return undefined;
      if (method === "PUT" && step === "default-value") draft.defaultValue = (body as typeof draft).defaultValue;
      else if (method === "POST" && step === "discard") drafts.delete(Number(number));
      else if (method === "POST" && step === "publish") {
        if (draft.baseVersion !== live.version) return { status: 409, body: { message: "conflict" } };
        live = { defaultValue: draft.defaultValue, version: Number(number) };
      } else return undefined;
      return { body: { revision: { version: Number(number), status: step } } };
    });
    const edit = (value: unknown) => void (live = { defaultValue: String(value), version: ++last });
    return { system: growthbook({ token: "secret_key", send }), ...rest, edit };
  },
  applyRequests: [
    { method: "GET", path: GB_PATH, headers: GB_HEADERS },
    { method: "POST", path: `${GB_PATH}/revisions`, headers: GB_HEADERS, body: { comment: "chg_a" } },
    { method: "PUT", path: `${GB_PATH}/revisions/2/default-value`, headers: GB_HEADERS, body: { defaultValue: "20" } },
    { method: "POST", path: `${GB_PATH}/revisions/2/publish`, headers: GB_HEADERS, body: { comment: "chg_a" } },
  ],
};

const FS_PATH = "/api/v1/environments/env-key/featurestates/";
const FS_HEADERS = { authorization: "Api-Key fs-key" };
export const flagsmithRecipe: Recipe = {
  values: [
    { enabled: false, value: "red" },
    { enabled: true, value: "blue" },
    { enabled: true, value: "green" },
  ],
  makeSystem() {
    let stored = { enabled: false, feature_state_value: "red" };
    let reads = 0;
    const { send, ...rest } = fakeFetch(
      ["authorization", "content-type"],
      ({ method, path, body }) => {
        if (method === "GET" && path === `${FS_PATH}?feature_name=new-checkout`)
          return { body: { count: 1, next: null, results: [{ id: 7, feature: 3, environment: 1, ...stored }] } };
        if (method !== "PATCH" || path !== `${FS_PATH}7/`) return undefined;
        stored = body as typeof stored;
        return { body: { id: 7, ...stored } };
      },
      // Flagsmith has no conditional write: the recipe reads a second time right before it writes.
      () => ++reads === 2,
    );
    const edit = (next: unknown) => {
      const { enabled, value } = next as { enabled: boolean; value: string };
      stored = { enabled, feature_state_value: value };
    };
    return { system: flagsmith({ token: "fs-key", environment: "env-key", send }), ...rest, edit };
  },
  applyRequests: [
    { method: "GET", path: `${FS_PATH}?feature_name=new-checkout`, headers: FS_HEADERS },
    { method: "GET", path: `${FS_PATH}?feature_name=new-checkout`, headers: FS_HEADERS },
    {
      method: "PATCH",
      path: `${FS_PATH}7/`,
      headers: { ...FS_HEADERS, "content-type": "application/json" },
      body: { enabled: true, feature_state_value: "blue" },
    },
  ],
};

const PH_PATH = "/api/projects/1234/feature_flags/";
const PH_HEADERS = { authorization: "Bearer phx_key" };
const rollout = (rollout_percentage: number) => ({ groups: [{ properties: [], rollout_percentage }] });
export const posthogRecipe: Recipe = {
  values: [
    { active: false, filters: rollout(10) },
    { active: true, filters: rollout(50) },
    { active: true, filters: rollout(100) },
  ],
  makeSystem() {
    let stored = { active: false, filters: rollout(10) };
    let version = 4;
    const { send, ...rest } = fakeFetch(["authorization", "content-type"], ({ method, path, body }) => {
      const flag = { id: 9, key: "new-checkout", name: "", deleted: false, version, ...stored };
      if (method === "GET" && path === `${PH_PATH}?search=new-checkout`)
        return { body: { count: 2, next: null, results: [{ ...flag, id: 8, key: "new-checkout-2" }, flag] } };
      if (method !== "PATCH" || path !== `${PH_PATH}9/`) return undefined;
      const {
        version: expected,
        original_flag: original,
        ...next
      } = body as typeof stored & { version: number; original_flag: object };
      const isEdited = version !== expected && JSON.stringify(original) !== JSON.stringify(stored);
      if (isEdited) return { status: 409, body: { type: "server_error", detail: "The feature flag was updated" } };
      stored = next;
      version++;
      return { body: { ...flag, ...next, version } };
    });
    const edit = (value: unknown) => {
      stored = value as typeof stored;
      version++;
    };
    return { system: posthog({ token: "phx_key", project: "1234", send }), ...rest, edit };
  },
  applyRequests: [
    { method: "GET", path: `${PH_PATH}?search=new-checkout`, headers: PH_HEADERS },
    {
      method: "PATCH",
      path: `${PH_PATH}9/`,
      headers: { ...PH_HEADERS, "content-type": "application/json" },
      body: {
        active: true,
        filters: rollout(50),
        version: 4,
        original_flag: { active: false, filters: rollout(10) },
      },
    },
  ],
};
