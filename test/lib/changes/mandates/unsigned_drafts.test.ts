/** Revocations of unsigned drafts, and of mandates whose record was changed to one. */
import { expect, test } from "vitest";
import { MANDATE_INTENT, openWithMandates } from "../../../support/mandates.ts";

test("unsigned drafts can be revoked without an entry, and then no longer count", async () => {
  const api = await openWithMandates();
  const { length } = (await api.api.get("audit")).body.entries;
  const ids: string[] = [];
  // 100 drafts are the limit.
  for (let drafts = 0; drafts < 100; drafts++) ids.push((await api.draft()).body.mandate_id);
  expect(await api.draft()).toMatchObject({ status: 429 });
  const [id] = ids as [string];
  // Without ana's signature the revocation is rejected.
  expect(await api.send("mandate-revoke", { mandate_id: id, approver: "ana" })).toMatchObject({ status: 403 });
  const { status, body } = await api.decideOn("mandate_revoke", id, "ana");
  expect([status, body]).toMatchObject([200, { state: "ended", ended: { reason: "revoked", approver: "ana" } }]);
  expect(body).not.toHaveProperty("audit_entry");
  expect((await api.api.get("audit")).body.entries).toHaveLength(length);
  expect((await api.api.get(`mandates/${id}`)).status).toBe(404);
  expect((await api.draft()).status).toBe(201);
});

test("revoke ends an active mandate whose record was changed to an unsigned draft", async () => {
  const api = await openWithMandates();
  const id = await api.activate();
  const { store } = api.api.deps;
  const record = (await store.get("mandates", id))!.value;
  await store.transact(
    async (tx) => void tx.put("mandates", id, { ...record, state: "draft", revision: 1, audit: [] }),
  );
  // Later entries, so that a process that reads the last two has not read those of the mandate.
  for (let feeds = 0; feeds < 3; feeds++) await api.send("kpi", { csat: 4.2 });
  const restarted = await api.restart({ intent: MANDATE_INTENT, tail: 2 });
  // Revision 2, after the revision 1 that the log has: the entry ends the active mandate.
  const { body } = await restarted.decideOn("mandate_revoke", id, "ana");
  expect(body).toMatchObject({ state: "ended", revision: 2, audit_entry: { event_type: "mandate_ended" } });
});
