/** Update epochs: each belongs to one manifest, and a new manifest needs a higher epoch than the newest in the log. */
import { describe, expect, test } from "vitest";
import { replaceIntent } from "../../../lib/deps.ts";
import { tryRecordIntent } from "../../../lib/changes/record_intent.ts";
import { portableSha256 } from "../../../lib/kit/platform.ts";
import { type Store, StoreUnavailable } from "../../../lib/store/store.ts";
import { core, makeCore } from "../../support/core.ts";
import { restartDeps } from "../../support/deps.ts";
import { service } from "../../support/service.ts";
import { FOLLOWUP, PROPOSAL } from "../../support/client.ts";
import { type Manifest, manifest } from "../../support/intents.ts";

const OUTDATED = { status: 503, body: { code: "intent_outdated" } };
const coreAtEpoch3 = async () => {
  const api = await core({ intent: { update_epoch: 3 } });
  await api.propose();
  return api;
};

test.each([
  ["a lower update_epoch than the log's", { update_epoch: 2 }],
  ["the update_epoch of the log's intent and other content", { update_epoch: 3, version: "other" }],
])("an intent with %s cannot write: 503 intent_outdated", async (_, intent) => {
  const api = await coreAtEpoch3();
  const before = await api.audit();
  const otherProcess = makeCore(await restartDeps(api.deps, { intent }));
  expect(await otherProcess.post("propose-crm-followup", FOLLOWUP)).toMatchObject(OUTDATED);
  expect(await otherProcess.audit()).toEqual(before);
});

test("an earlier manifest needs a higher epoch to be used again", async () => {
  const first = await coreAtEpoch3();
  const second = makeCore(await restartDeps(first.deps, { intent: { update_epoch: 4, version: "b" } }));
  await second.propose();
  const reused = makeCore(await restartDeps(first.deps, { intent: { update_epoch: 3 } }));
  expect(await reused.post("propose-crm-followup", FOLLOWUP)).toMatchObject(OUTDATED);
  const raised = makeCore(await restartDeps(first.deps, { intent: { update_epoch: 5 } }));
  expect((await raised.post("propose-crm-followup", FOLLOWUP)).status).toBe(201);
});

test("with recordIntent a process logs its intent at the start, once", async () => {
  const api = await core({ intent: { update_epoch: 3 }, recordIntent: true });
  expect(await api.audit()).toMatchObject([{ event_type: "intent_in_force" }]);
  const lower = makeCore(await restartDeps(api.deps, { intent: { update_epoch: 2 } }));
  expect(await lower.post("propose-crm-followup", FOLLOWUP)).toMatchObject(OUTDATED);
  await restartDeps(api.deps, { intent: { update_epoch: 3 }, recordIntent: true });
  expect(await api.audit()).toHaveLength(1);
});

test("with refuseOutdated a start with an outdated intent fails and writes nothing", async () => {
  const api = await coreAtEpoch3();
  const before = await api.audit();
  for (const intent of [{ update_epoch: 2 }, { update_epoch: 3, version: "other" }])
    await expect(restartDeps(api.deps, { intent, refuseOutdated: true })).rejects.toThrow(/raise update_epoch/);
  expect(await api.audit()).toEqual(before);
});

test("a start on a read-only store continues without logging the intent", async () => {
  const api = await core({ intent: { update_epoch: 3 } });
  const { deps } = api;
  const transact = { value: () => Promise.reject(new StoreUnavailable("read only")) };
  const store = Object.create(deps.store, { transact }) as Store;
  const warnings: string[] = [];
  await tryRecordIntent({ ...deps, store, log: { ...deps.log, warn: (message) => void warnings.push(message) } });
  expect(warnings).toEqual(["the intent is not recorded as in force"]);
});

describe("an intent that replaces another while the service runs", () => {
  const KPIS = { update_epoch: 4, kpis: { churn: { baseline: 0.2, target: 0.1 } } };
  const startService = async () => {
    const api = await service({ intent: { update_epoch: 3 } });
    await api.propose();
    return { api, replace: (intent: Manifest) => replaceIntent(api.deps, manifest(intent)) };
  };

  test("is used by every handler once it is logged", async () => {
    const { api, replace } = await startService();
    expect((await api.post("kpi", { churn: 0.2 })).status).toBe(400);
    // Builds the description for the first intent, which must not be served after the second.
    await api.get("/openapi.json");
    const principals = { "agent:a": { kind: "agent", token_sha256: portableSha256("a secret of this agent") } };
    expect(await replace({ ...KPIS, principals, policy: { forbidden_targets: ["limits.*"] } })).toBe(true);
    expect((await api.audit()).at(-1)).toMatchObject({ event_type: "intent_in_force" });
    expect((await api.post("kpi", { churn: 0.2 })).status).toBe(200);
    expect((await api.post("propose", { ...PROPOSAL, target: "limits.x" })).body.code).toBe("forbidden_target");
    const authorization = "Bearer a secret of this agent";
    expect((await api.get("/api/whoami", { authorization })).body).toMatchObject({ name: "agent:a" });
    expect((await api.get("intent")).body).toMatchObject({ update_epoch: 4 });
    expect((await api.get("/openapi.json")).text).toContain("churn");
  });

  test.each([
    ["a lower epoch", { update_epoch: 2 }, /raise update_epoch/],
    ["the same epoch and other content", { update_epoch: 3, version: "other" }, /raise update_epoch/],
    ["another product", { update_epoch: 4, product_id: "other" }, /product_id/],
    // The error suggests the right name of the misspelt rule.
    ["an unknown rule", { update_epoch: 4, policy: { forbiden_targets: [] } }, /forbidden_targets/],
  ])("is rejected with %s, and the current one stays", async (_, intent, message) => {
    const { api, replace } = await startService();
    const before = await api.audit();
    await expect(replace(intent)).rejects.toThrow(message);
    expect(await api.audit()).toEqual(before);
    expect((await api.get("intent")).body).toMatchObject({ update_epoch: 3 });
    await api.propose();
  });

  test("without a change writes nothing", async () => {
    const { api, replace } = await startService();
    const before = await api.audit();
    expect(await replace({ update_epoch: 3 })).toBe(false);
    expect(await api.audit()).toEqual(before);
  });
});
