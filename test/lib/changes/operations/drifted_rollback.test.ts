/** A rollback of a change whose target another program has set since. */
import { expect, test } from "vitest";
import { memoryStore } from "../../../../lib/store/memory.ts";
import { targetAdapter } from "../../../../lib/targets/adapter.ts";
import { service } from "../../../support/service.ts";
import { testClock } from "../../../support/clock.ts";
import { memoryTarget } from "../../../support/memory_target.ts";

async function drifted() {
  const store = memoryStore();
  const clock = testClock();
  const target = memoryTarget();
  const api = await service({ store, clock, adapter: targetAdapter(target.system, { store, clock }) });
  const place = { tenant_id: "t1", target: "ui.banner", kind: "config" } as const;
  target.overwrite(place, '{ "on": 1.0 }');
  const change_id = await api.bring("applied", { value: '{"on":2}' });
  target.overwrite(place, '{"on":3}');
  return { api, change_id, set: (raw: string) => target.overwrite(place, raw), held: () => target.raw(place) };
}

test("it is 409 target_drifted with both values, which are not logged, and blocks nothing", async () => {
  const { api, change_id, held } = await drifted();
  const { status, body } = await api.act("rollback", change_id);
  expect(status).toBe(409);
  expect(body).toMatchObject({
    code: "target_drifted",
    expected: { on: 2 },
    held: { on: 3 },
    current_status: "applied",
  });
  expect(held()).toBe('{"on":3}');
  const entry = (await api.audit()).at(-1);
  expect(entry).toMatchObject({ event_type: "change_rollback_failed", change_id });
  expect(JSON.parse(entry.detail)).toMatchObject({ stage: "rollback", drifted: true });
  expect(entry.detail).not.toContain('{"on"');
  expect(await api.deps.store.list("leases", { limit: 1 })).toEqual([]);
  const next = await api.bring("applied", { value: '{"on":4}' });
  expect((await api.change(next)).status).toBe("applied");
});

test("it restores the exact previous text once the value is set back by hand", async () => {
  const { api, change_id, set, held } = await drifted();
  await api.act("rollback", change_id);
  set('{"on":2}');
  await api.must("rollback", change_id);
  expect(held()).toBe('{ "on": 1.0 }');
});

test("with over_drift and a note it restores over the edit, and records what it overwrote", async () => {
  const { api, change_id, held } = await drifted();
  const without = await api.post("rollback", { change_id, over_drift: "true" });
  expect(without).toMatchObject({ status: 400, body: { code: "invalid_field" } });
  const { status, body, text } = await api.post("rollback", {
    change_id,
    over_drift: "true",
    note: "the edit was wrong",
  });
  expect(status, text).toBe(200);
  expect(held()).toBe('{ "on": 1.0 }');
  expect(body.adapter).toMatchObject({ result: "rolled_back", detail: { overwrote: api.deps.sha256('{"on":3}') } });
  expect(JSON.parse((await api.audit()).at(-1).detail)).toMatchObject({ over_drift: true, note: "the edit was wrong" });
});
