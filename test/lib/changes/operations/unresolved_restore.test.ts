/** Rollbacks while the result of a restore is unknown: the log records a restore that succeeded before the rollback. */
import { expect, test } from "vitest";
import { sha256 } from "../../../../local/node_ports.ts";
import { MINUTE } from "../../../support/clock.ts";
import { core, makeCore } from "../../../support/core.ts";
import { restartDeps } from "../../../support/deps.ts";
import { editableTarget } from "../../../support/editable_target.ts";

type Resolution = "done" | "not_done" | "open" | undefined;

/**
 * Creates a change with the value 2 whose target was set to 7, and a restore without an answer: a `lost answer` comes after the write,
 * a `lost request` before it. `resolution` is the target system's later answer to whether the write was done.
 */
async function coreWithUnansweredRestore(fault: "lost answer" | "lost request", resolution?: Resolution) {
  const { target, adapter, edit, value } = editableTarget();
  const system = { resolution };
  if (resolution !== undefined) target.system.resolve = async () => system.resolution;
  const api = await core({ adapter });
  const change_id = await api.bring("applied", { target: "ui.a", value: "2" });
  const length = (await api.audit()).length;
  edit("ui.a", "7");
  target.faults.push(fault);
  expect((await api.post("restore", { change_id, actor: "ops" })).status).toBe(502);
  return {
    api,
    adapter,
    system,
    edit,
    value,
    events: async () => (await api.audit()).slice(length).map(({ event_type }) => event_type),
    details: async () => (await api.audit()).map(({ detail }) => JSON.parse(detail)),
    leases: async () => (await api.deps.store.list("leases", { limit: 9 })).length,
    rollback: (fields: object = {}, client = api) => client.post("rollback", { change_id, ...fields }),
  };
}

const OVER_DRIFT = { over_drift: "true", note: "n" };
const RESTORED = { late: true, replaced_digest: sha256("7"), adapter: { name: "memory", result: "restored" } };

test("a rollback is rejected while a restore is unresolved, and logged after the restore", async () => {
  const { system, events, details, rollback, value, leases } = await coreWithUnansweredRestore("lost answer", "open");
  for (const fields of [{}, OVER_DRIFT]) expect((await rollback(fields)).body.code).toBe("operation_in_progress");
  system.resolution = "done";
  expect([(await rollback()).status, value("ui.a"), await leases()]).toEqual([200, undefined, 0]);
  expect(await events()).toEqual(["change_drifted", "value_restored", "change_rolled_back"]);
  expect((await details()).at(-2)).toMatchObject(RESTORED);
});

test("a restore that is found done after a restart is recorded once", async () => {
  const { api, adapter, system, events, rollback, value } = await coreWithUnansweredRestore("lost answer", "open");
  await rollback();
  const next = makeCore(await restartDeps(api.deps, { adapter, exclusive: true }));
  system.resolution = "done";
  await next.cycle();
  expect((await rollback({}, next)).status).toBe(200);
  expect(value("ui.a")).toBeUndefined();
  expect((await events()).filter((type) => type === "value_restored")).toHaveLength(1);
});

test("a restore that takes effect just before the rollback is recorded with the rollback", async () => {
  const { adapter, events, details, edit, value, rollback, leases } = await coreWithUnansweredRestore("lost request");
  const { rollback: originalRollback } = adapter;
  adapter.rollback = (...request) => {
    edit("ui.a", "2");
    return originalRollback(...request);
  };
  expect([(await rollback()).status, value("ui.a"), await leases()]).toEqual([200, undefined, 0]);
  expect(await events()).toEqual(["change_drifted", "value_restored", "change_rolled_back"]);
  expect((await details()).at(-2)).toMatchObject(RESTORED);
});

test("a restore that takes effect after a failed rollback is recorded by a cycle", async () => {
  const { api, events, details, edit, rollback, leases } = await coreWithUnansweredRestore("lost request");
  expect((await rollback()).body.code).toBe("target_drifted");
  edit("ui.a", "2");
  await api.cycle();
  expect(await events()).toEqual(["change_drifted", "change_rollback_failed", "value_restored"]);
  expect([(await details()).at(-1), await leases()]).toMatchObject([RESTORED, 0]);
});

test("a restore that set nothing does not block a rollback, and has no entry", async () => {
  const { api, events, rollback, value, leases } = await coreWithUnansweredRestore("lost request");
  expect((await rollback()).body.code).toBe("target_drifted");
  expect(await leases()).toBe(1);
  expect((await rollback(OVER_DRIFT)).status).toBe(200);
  expect([value("ui.a"), await leases()]).toEqual([undefined, 0]);
  // A write without an answer may take effect until ten minutes after the end of its lease.
  api.deps.clock.advance(20 * MINUTE);
  await api.cycle();
  expect(await events()).toEqual(["change_drifted", "change_rollback_failed", "change_rolled_back"]);
});

test("the lease of a restore that set nothing is deleted, without an entry", async () => {
  const { api, system, events, leases } = await coreWithUnansweredRestore("lost request", "open");
  await api.cycle();
  expect(await leases()).toBe(1);
  system.resolution = "not_done";
  api.deps.clock.advance(20 * MINUTE);
  await api.cycle();
  expect(await leases()).toBe(0);
  expect(await events()).not.toContain("value_restored");
});
