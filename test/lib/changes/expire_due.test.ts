/** Expiry of changes that were not approved in time; `pass` lets time pass so that the service confirms it, as an expiry requires. */
import { expect, test } from "vitest";
import { describe, toSentence } from "../../../lib/wording/describe.ts";
import { joinParts } from "../../../lib/wording/part.ts";
import { memoryStore } from "../../../lib/store/memory.ts";
import { events } from "../../support/client.ts";
import { HOUR, pass } from "../../support/clock.ts";
import { core } from "../../support/core.ts";
import { service } from "../../support/service.ts";
import { failingStore } from "../../support/failing_store.ts";

const expiringAfter = (hours: number) => ({ intent: { policy: { consent_ttl_hours: hours } } });

test("a cycle expires only the pending changes that are older than consent_ttl_hours", async () => {
  const api = await core(expiringAfter(72));
  const old = await api.bring("pending_consent");
  const approved = await api.bring("approved", { target: "ui.b" });
  api.deps.clock.advance(40 * HOUR);
  const young = await api.bring("pending_consent", { target: "ui.c" });
  await pass(api.deps, 33 * HOUR);
  expect((await api.cycle()).expired).toBe(1);
  const statuses = await Promise.all([old, approved, young].map(async (id) => (await api.change(id)).status));
  expect(statuses).toEqual(["denied", "approved", "pending_consent"]);
  const entry = (await api.audit()).at(-1);
  expect(entry).toMatchObject({ event_type: "consent_decision", change_id: old });
  expect(JSON.parse(entry.detail)).toMatchObject({
    decision: "expired",
    approver: "policy:expiry",
    actor: "policy:expiry",
    authenticated: null,
  });
});

test("the note and wording of an expiry with a consent do not deny that consent", async () => {
  const api = await core({ intent: { policy: { consent_ttl_hours: 72, required_approvers: { major: 2 } } } });
  const change_id = await api.bring("pending_consent", { tier: "major" });
  await api.act("approve", change_id);
  await pass(api.deps, 73 * HOUR);
  await api.cycle();
  const { approvals, approval_note } = await api.change(change_id);
  expect([approvals.length, approval_note]).toEqual([1, "not enough consents within 72 hours"]);
  expect(joinParts(toSentence(describe((await api.audit()).at(-1))))).toBe(
    "Expired before it was approved: “not enough consents within 72 hours”",
  );
});

test("concurrent requests and cycles expire a change once", async () => {
  const api = await core(expiringAfter(1));
  const change_id = await api.bring("pending_consent");
  await pass(api.deps, 2 * HOUR);
  await Promise.all([api.cycle(), api.act("approve", change_id), api.change(change_id), api.cycle()]);
  expect(events(await api.steps())).toEqual(["change_proposed", "consent_decision"]);
});

test("a request for an overdue change is rejected, and the expiry is recorded", async () => {
  const api = await core(expiringAfter(1));
  const change_id = await api.bring("pending_consent");
  await pass(api.deps, 2 * HOUR);
  for (const action of ["approve", "apply"] as const)
    expect((await api.act(action, change_id)).body).toMatchObject({
      code: "illegal_transition",
      current_status: "denied",
    });
  expect(events(await api.steps())).toEqual(["change_proposed", "consent_decision"]);
});

test("an overdue change is shown as denied while the store cannot write", async () => {
  const store = failingStore(memoryStore());
  const api = await service({ store, ...expiringAfter(1) });
  const change_id = await api.bring("pending_consent");
  await pass(api.deps, 2 * HOUR);
  store.fail();
  for (const path of ["approvals", "runtime"]) expect((await api.get(path)).status, path).toBe(200);
  expect((await api.change(change_id)).status).toBe("denied");
  store.recover();
  expect((await api.change(change_id)).status).toBe("denied");
});
