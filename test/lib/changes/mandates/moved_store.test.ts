/** Mandates after a move of the store, an edit of the target and a forged index row. */
import { expect, test } from "vitest";
import { migrate } from "../../../../lib/changes/moving/migrate.ts";
import { formatAgentKey } from "../../../../lib/changes/records.ts";
import { fastestSha256 } from "../../../../lib/kit/platform.ts";
import { memoryStore } from "../../../../lib/store/memory.ts";
import { AS_OTHER, MANDATE_INTENT, openWithMandates } from "../../../support/mandates.ts";

const VALUES = { "price.basic": 100, "price.pro": 100 };

test("a move keeps a mandate, its counts, its suspension and the signatures of its resumption", async () => {
  const api = await openWithMandates({}, VALUES);
  const id = await api.activate({ max_open: 2, max_per_day: 3 });
  const { change_id } = (await api.propose()).body;
  await api.apply(change_id);
  await api.propose({ target: "price.pro" });
  // A rollback suspends the mandate; the first of two signatures that resume it follows.
  await api.send("rollback", { change_id, actor: "ana" });
  await api.decideOn("mandate_resume", id, "ana");
  const before = await api.mandate(id);
  expect(before).toMatchObject({ state: "suspended", used: { today: 2, open: 1 }, missing: [{ of: ["bo"] }] });
  const { store, clock } = api.api.deps;
  const destination = memoryStore();
  const ends = [
    { from: store.bulk!, name: "here" },
    { to: destination, name: "there", actor: "ana" },
  ] as const;
  await migrate(...ends, { clock, sha256: fastestSha256() });
  const moved = await api.restart({ intent: MANDATE_INTENT, store: destination });
  expect(await moved.mandate(id)).toEqual(before);
  expect((await moved.decideOn("mandate_resume", id, "bo")).body).toMatchObject({ state: "active", revision: 2 });
  expect(await moved.mandate(id)).toMatchObject({ state: "active", left: { today: 1, open: 1 } });
});

test("a rollback that finds an edited value suspends the mandate", async () => {
  const api = await openWithMandates();
  const id = await api.activate();
  const { change_id } = (await api.propose()).body;
  await api.apply(change_id);
  api.target.overwrite({ tenant_id: "t1", target: "price.basic", kind: "config", value: null } as never, "7");
  const rollback = await api.send("rollback", { change_id, actor: "ana" });
  expect(rollback).toMatchObject({ status: 409, body: { code: "target_drifted" } });
  expect(await api.mandate(id)).toMatchObject({
    state: "suspended",
    suspension: { reason: "target_drifted", change_id },
  });
});

test("a forged index row does not make a mandate valid for another agent", async () => {
  const api = await openWithMandates();
  const id = await api.activate();
  await api.api.deps.store.transact(
    async (tx) => void tx.put("mandates_by_agent", formatAgentKey("agent:other") + id, true),
  );
  expect((await api.propose({}, AS_OTHER)).body).toMatchObject({
    status: "pending_consent",
    outside: [{ mandate_id: id, bound: "agent" }],
  });
});
