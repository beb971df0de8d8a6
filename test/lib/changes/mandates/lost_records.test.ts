/** Mandates whose record or index row is missing: their state is read from the log. */
import { expect, test } from "vitest";
import { rebuildRecords } from "../../../../lib/changes/rebuild.ts";
import { AS_OTHER, MANDATE_INTENT, openWithMandates } from "../../../support/mandates.ts";

type MandateClient = Awaited<ReturnType<typeof openWithMandates>>;

/** Deletes the record of a mandate and its index row; returns the record. */
async function deleteRecord({ api }: Pick<MandateClient, "api">, id: string) {
  const { store } = api.deps;
  const record = (await store.get("mandates", id))!.value;
  await store.transact(async (tx) => {
    tx.delete("mandates", id);
    for (const row of await tx.list("mandates_by_agent", { limit: 2 })) tx.delete("mandates_by_agent", row.id);
  });
  return record;
}

test("a rollback suspends the mandate although its record is missing", async () => {
  const api = await openWithMandates({}, { "price.basic": 100, "price.pro": 100 });
  const id = await api.activate();
  const { change_id } = (await api.propose()).body;
  expect((await api.apply(change_id)).status).toBe(200);
  const record = await deleteRecord(api, id);
  expect((await api.send("rollback", { change_id, actor: "ana" })).status).toBe(200);
  const { store } = api.api.deps;
  await store.transact(async (tx) => void tx.put("mandates", id, record));
  expect(await api.mandate(id)).toMatchObject({ state: "suspended", suspension: { reason: "rollback", change_id } });
  await deleteRecord(api, id);
  await rebuildRecords(api.api.deps);
  expect(await api.mandate(id)).toMatchObject({ state: "suspended" });
  expect((await api.propose({ target: "price.pro" })).body).toMatchObject({ status: "pending_consent" });
});

test("a mandate whose record is missing can be read and revoked", async () => {
  const api = await openWithMandates();
  const id = await api.activate();
  await deleteRecord(api, id);
  expect(await api.mandate(id)).toMatchObject({ state: "active" });
  // Later entries, so that a process that reads the last two has not read those of the mandate.
  for (let feeds = 0; feeds < 3; feeds++) await api.send("kpi", { csat: 4.2 });
  const restarted = await api.restart({ intent: MANDATE_INTENT, tail: 2 });
  expect((await restarted.decideOn("mandate_revoke", id, "ana")).body).toMatchObject({ state: "ended" });
});

test("a KPI below its floor suspends a mandate without an index row", async () => {
  const api = await openWithMandates();
  const id = await api.activate({ kpi_floor: { csat: 4 } });
  const record = await deleteRecord(api, id);
  const { store } = api.api.deps;
  await store.transact(async (tx) => void tx.put("mandates", id, record));
  await api.send("kpi", { csat: 1 });
  expect(await api.mandate(id)).toMatchObject({ state: "suspended", suspension: { reason: "kpi_floor" } });
});

test("an ended mandate whose record was changed to a draft cannot be signed", async () => {
  const api = await openWithMandates();
  const id = await api.activate();
  await api.decideOn("mandate_revoke", id, "ana");
  const { store } = api.api.deps;
  const record = (await store.get("mandates", id))!.value;
  const bounds = { ...record.bounds, agent: "agent:other" };
  const draft = { ...record, bounds, state: "draft" as const, revision: 1, audit: [], signatures: [], ended: null };
  await store.transact(async (tx) => void tx.put("mandates", id, draft));
  // Without a statement to sign, `decideOn` throws the service's error.
  const signed = await api.decideOn("mandate", id, "ana").catch(String);
  expect(signed).not.toMatchObject({ status: 200 });
  expect(await api.mandate(id)).toMatchObject({ state: "ended" });
  expect((await api.propose({}, AS_OTHER)).body).toMatchObject({ status: "pending_consent" });
});

test("open changes are counted from the log although a record was edited", async () => {
  const api = await openWithMandates({}, { "price.basic": 100, "price.pro": 100 });
  const id = await api.activate({ max_open: 2 });
  const applied = (await api.propose()).body.change_id;
  const { change_id } = (await api.propose({ target: "price.pro" })).body;
  const { store } = api.api.deps;
  const record = (await store.get("changes", change_id))!.value;
  const edited = { ...record, change: { ...record.change, status: "denied" as const, approvals: [] } };
  await store.transact(async (tx) => void tx.put("changes", change_id, edited));
  const outsideMaxOpen = { status: "pending_consent", outside: [{ bound: "max_open" }] };
  expect((await api.propose({ value: 103 })).body).toMatchObject(outsideMaxOpen);
  await api.apply(applied);
  expect(await api.mandate(id)).toMatchObject({ used: { open: 1 }, left: { open: 1 } });
  expect((await api.propose({ value: 102 })).body).toMatchObject({ status: "approved" });
  const restarted = await api.restart({ intent: MANDATE_INTENT });
  expect(await restarted.mandate(id)).toMatchObject({ used: { open: 2 } });
  expect((await restarted.propose({ value: 101 })).body).toMatchObject(outsideMaxOpen);
});
