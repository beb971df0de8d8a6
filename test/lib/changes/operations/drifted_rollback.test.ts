/** Rollbacks of a change whose target another program has edited since the apply. */
import { expect, test } from "vitest";
import { memoryStore } from "../../../../lib/store/memory.ts";
import { targetAdapter } from "../../../../lib/targets/adapter.ts";
import { service } from "../../../support/service.ts";
import { testClock } from "../../../support/clock.ts";
import { memoryTarget } from "../../../support/memory_target.ts";

/** Opens a service with an applied change whose target was edited since. */
async function serviceWithEditedTarget() {
  const store = memoryStore();
  const clock = testClock();
  const target = memoryTarget();
  const api = await service({ store, clock, adapter: targetAdapter(target.system, { store, clock }) });
  const operand = { tenant_id: "t1", target: "ui.banner", kind: "config" } as const;
  target.overwrite(operand, '{ "on": 1.0 }');
  const change_id = await api.bring("applied", { value: '{"on":2}' });
  target.overwrite(operand, '{"on":3}');
  return {
    api,
    change_id,
    editTarget: (raw: string) => target.overwrite(operand, raw),
    readTarget: () => target.raw(operand),
  };
}

test("a rollback over an edit is 409 with both values, which the log does not contain", async () => {
  const { api, change_id, readTarget } = await serviceWithEditedTarget();
  const { status, body } = await api.act("rollback", change_id);
  expect(status).toBe(409);
  expect(body).toMatchObject({
    code: "target_drifted",
    expected: { on: 2 },
    held: { on: 3 },
    current_status: "applied",
  });
  expect(readTarget()).toBe('{"on":3}');
  const entry = (await api.audit()).at(-1);
  expect(entry).toMatchObject({ event_type: "change_rollback_failed", change_id });
  expect(JSON.parse(entry.detail)).toMatchObject({ stage: "rollback", drifted: true });
  expect(entry.detail).not.toContain('{"on"');
  // The failed rollback leaves no lease, so that the next change of the target applies, over the edit.
  expect(await api.deps.store.list("leases", { limit: 1 })).toEqual([]);
  const next = await api.bring("applied", { value: '{"on":4}' });
  expect((await api.change(next)).status).toBe("applied");
});

test("after the edit is undone, a rollback restores the exact previous text", async () => {
  const { api, change_id, editTarget, readTarget } = await serviceWithEditedTarget();
  await api.act("rollback", change_id);
  editTarget('{"on":2}');
  await api.must("rollback", change_id);
  expect(readTarget()).toBe('{ "on": 1.0 }');
});

test("with over_drift and a note a rollback overwrites the edit and logs its digest", async () => {
  const { api, change_id, readTarget } = await serviceWithEditedTarget();
  const withoutNote = await api.post("rollback", { change_id, over_drift: "true" });
  expect(withoutNote).toMatchObject({ status: 400, body: { code: "invalid_field" } });
  const { status, body, text } = await api.post("rollback", {
    change_id,
    over_drift: "true",
    note: "the edit was wrong",
  });
  expect(status, text).toBe(200);
  expect(readTarget()).toBe('{ "on": 1.0 }');
  expect(body.adapter).toMatchObject({ result: "rolled_back", detail: { overwrote: api.deps.sha256('{"on":3}') } });
  expect(JSON.parse((await api.audit()).at(-1).detail)).toMatchObject({ over_drift: true, note: "the edit was wrong" });
});
