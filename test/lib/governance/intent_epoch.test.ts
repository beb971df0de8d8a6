/** Which manifest may be in force after which: an epoch belongs to one manifest, and never comes back. */
import { expect, test } from "vitest";
import { core, coreOf } from "../../support/core.ts";
import { restarted } from "../../support/deps.ts";
import { FOLLOWUP } from "../../support/client.ts";

const OUTDATED = { status: 503, body: { code: "intent_outdated" } };
const begun = async () => {
  const api = await core({ intent: { update_epoch: 3 } });
  await api.propose();
  return api;
};

test.each([
  ["a lower update_epoch", { update_epoch: 2 }],
  ["the same update_epoch and other content", { update_epoch: 3, version: "other" }],
])("%s than the log's: writes are 503 intent_outdated and change nothing", async (_, intent) => {
  const api = await begun();
  const before = await api.audit();
  const other = coreOf(await restarted(api.deps, { intent }));
  expect(await other.post("propose-crm-followup", FOLLOWUP)).toMatchObject(OUTDATED);
  expect(await other.audit()).toEqual(before);
});

test("a manifest does not come back under its old epoch", async () => {
  const first = await begun();
  const second = coreOf(await restarted(first.deps, { intent: { update_epoch: 4, version: "b" } }));
  await second.propose();
  const again = coreOf(await restarted(first.deps, { intent: { update_epoch: 3 } }));
  expect(await again.post("propose-crm-followup", FOLLOWUP)).toMatchObject(OUTDATED);
  const raised = coreOf(await restarted(first.deps, { intent: { update_epoch: 5 } }));
  expect((await raised.post("propose-crm-followup", FOLLOWUP)).status).toBe(201);
});
