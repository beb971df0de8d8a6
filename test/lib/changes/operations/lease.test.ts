/** Two processes, one change: the lease decides whose operation counts. */
import { expect, test } from "vitest";
import type { Lease } from "../../../../lib/changes/records.ts";
import { events } from "../../../support/client.ts";
import { SECOND } from "../../../support/clock.ts";
import { restarted } from "../../../support/deps.ts";
import { gate, type ScriptedAdapter, scriptedAdapter } from "../../../support/scripted_adapter.ts";
import { core, makeCore, type Core } from "../../../support/core.ts";

/** Waits for an event of the code under test, without a clock. */
async function until(seen: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await seen())) await new Promise((resolve) => setImmediate(resolve));
}

/** A process in the middle of an apply, and another on the same store and host. */
async function midApply() {
  const adapter = scriptedAdapter();
  const first = await core({ adapter });
  const change_id = await first.bring("approved");
  const hold = gate();
  adapter.on("apply", () => hold.opened, 1);
  const running = first.act("apply", change_id);
  await until(() => adapter.calls.includes("apply"));
  const second = makeCore(await restarted(first.deps));
  return { adapter, first, second, change_id, running, finish: hold.open };
}

const leasesOf = async (api: Core) => (await api.deps.store.list("leases", { limit: 10 })).map(({ value }) => value);
const audited = async (api: Core) => events(await api.steps()).slice(2);
const times = (adapter: ScriptedAdapter, step: string) => adapter.calls.filter((call) => call === step).length;

test("the intention is durable before the adapter runs, and gone after", async () => {
  const { first, change_id, running, finish } = await midApply();
  expect(await leasesOf(first)).toEqual([
    {
      change_id,
      place: `ui.banner\nt1\n${change_id}`,
      operation: "apply",
      owner: first.deps.owner,
      number: expect.any(Number),
      actor: null,
      authenticated: null,
      at: first.deps.clock.iso(),
      ends: first.deps.clock.now() + 60 * SECOND,
      state: "running",
    },
  ]);
  const { gates } = await first.change(change_id);
  expect(gates).toContainEqual(expect.objectContaining({ gate: "operation", state: "block" }));
  finish();
  expect((await running).status).toBe(200);
  expect(await leasesOf(first)).toEqual([]);
});

test("another process's live lease is 409, and starting up leaves it alone", async () => {
  const { adapter, first, second, change_id, running, finish } = await midApply();
  expect(await second.act("apply", change_id)).toMatchObject({
    status: 409,
    body: { code: "operation_in_progress", change_id },
  });
  second.deps.clock.advance(60 * SECOND - 1);
  expect((await second.act("apply", change_id)).status).toBe(409);
  await second.cycle();
  finish();
  expect((await running).status).toBe(200);
  expect(times(adapter, "apply")).toBe(1);
  expect(await audited(first)).toEqual(["change_applied"]);
  expect((await second.act("apply", change_id)).body.code).toBe("illegal_transition");
});

test("what is illegal is reported before a lease that is in the way", async () => {
  const { second, change_id, running, finish } = await midApply();
  expect((await second.act("rollback", change_id)).body.code).toBe("illegal_transition");
  finish();
  await running;
});

test("in one process the second waits, and is judged on the new status", async () => {
  const { first, change_id, running, finish } = await midApply();
  const waiting = first.act("rollback", change_id);
  finish();
  expect([(await running).status, (await waiting).status]).toEqual([200, 200]);
  expect(await audited(first)).toEqual(["change_applied", "change_rolled_back"]);
});

test("an ended lease is taken over, the host is asked, and a late result is not committed", async () => {
  const { adapter, first, second, change_id, running, finish } = await midApply();
  first.deps.clock.advance(60 * SECOND);
  expect((await second.act("apply", change_id)).status).toBe(200);
  expect(await audited(second)).toEqual(["change_apply_failed", "change_applied"]);
  const before = [await second.change(change_id), await second.audit()];
  finish();
  expect(await running).toMatchObject({ status: 409, body: { code: "operation_in_progress" } });
  expect([await second.change(change_id), await second.audit()]).toEqual(before);
  expect(times(adapter, "apply")).toBe(2);
});

test("a late result is not committed under a newer lease either", async () => {
  const { adapter, first, second, change_id, running, finish } = await midApply();
  first.deps.clock.advance(60 * SECOND);
  const hold = gate();
  adapter.on("apply", () => hold.opened, 1);
  const newer = second.act("apply", change_id);
  await until(() => times(adapter, "apply") === 2);
  const taken = await leasesOf(second);
  expect(taken).toMatchObject([{ owner: second.deps.owner }]);
  finish();
  expect((await running).status).toBe(409);
  expect(await leasesOf(second)).toEqual(taken);
  hold.open();
  expect((await newer).status).toBe(200);
  expect(await audited(second)).toEqual(["change_apply_failed", "change_applied"]);
});

test("a lease that ended after its work was done is completed, not repeated", async () => {
  const { adapter, first, second, change_id, running, finish } = await midApply();
  adapter.host.set(change_id, "applied");
  first.deps.clock.advance(60 * SECOND);
  expect((await second.act("apply", change_id)).body.code).toBe("illegal_transition");
  const [entry] = (await second.steps()).slice(2);
  expect(entry.event_type).toBe("change_applied");
  expect(JSON.parse(entry.detail)).toMatchObject({ resolved_after_interruption: true });
  expect(times(adapter, "apply")).toBe(1);
  finish();
  expect((await running).status).toBe(409);
});

test("the next cycle resolves an ended lease", async () => {
  const { adapter, first, second, change_id, running, finish } = await midApply();
  adapter.host.set(change_id, "applied");
  first.deps.clock.advance(60 * SECOND);
  expect((await second.cycle()).recovered).toBe(1);
  expect((await second.change(change_id)).status).toBe("applied");
  expect((await second.cycle()).recovered).toBe(0);
  finish();
  await running;
});

test("two processes that take over at once run the adapter once", async () => {
  const { adapter, first, second, change_id, finish, running } = await midApply();
  const third = makeCore(await restarted(first.deps));
  first.deps.clock.advance(60 * SECOND);
  const replies = await Promise.all([second.act("apply", change_id), third.act("apply", change_id)]);
  expect(replies.map(({ status }) => status).filter((status) => status === 200)).toHaveLength(1);
  expect(times(adapter, "apply")).toBe(2);
  expect((await audited(second)).filter((event) => event === "change_applied")).toHaveLength(1);
  finish();
  await running;
});

test("leases on one change are numbered upwards", async () => {
  const { adapter, first, change_id, running, finish } = await midApply();
  const [{ number }] = (await leasesOf(first)) as [Lease];
  expect(number).toBe((await first.audit()).length + 1);
  finish();
  await running;
  const hold = gate();
  adapter.on("rollback", () => hold.opened, 1);
  const rolling = first.act("rollback", change_id);
  await until(() => adapter.calls.includes("rollback"));
  expect((await leasesOf(first))[0]!.number).toBeGreaterThan(number);
  hold.open();
  expect((await rolling).status).toBe(200);
});

test("consent decisions go on while another change is being applied", async () => {
  const { first, running, finish } = await midApply();
  const other = await first.bring("applied", { target: "ui.other" });
  expect((await first.change(other)).status).toBe("applied");
  finish();
  expect((await running).status).toBe(200);
});

test("a process that was held up before its work leaves the host alone when its lease is over", async () => {
  const adapter = scriptedAdapter();
  const first = await core({ adapter });
  const change_id = await first.bring("approved");
  const second = makeCore(await restarted(first.deps));
  const hold = gate();
  adapter.on("validate", () => hold.opened, 1);
  const late = first.act("apply", change_id);
  await until(() => adapter.calls.includes("validate"));
  first.deps.clock.advance(60 * SECOND);
  await second.must("apply", change_id);
  await second.must("rollback", change_id);
  hold.open();
  expect(await late).toMatchObject({ status: 409, body: { code: "operation_in_progress" } });
  expect(adapter.host.get(change_id)).toBe("rolled_back");
});

test("a step on the host begins only while there is time for it under the lease", async () => {
  const adapter = scriptedAdapter();
  const api = await core({ adapter });
  const change_id = await api.bring("approved");
  const takes = (ms: number) => () => void api.deps.clock.advance(ms);
  adapter.on("validate", takes(50 * SECOND + 1), 1);
  expect(await api.act("apply", change_id)).toMatchObject({
    status: 502,
    body: { stage: "interrupted", host: "absent" },
  });
  expect(times(adapter, "apply")).toBe(0);
  adapter.on("validate", takes(50 * SECOND), 1);
  await api.must("apply", change_id);
  expect(times(adapter, "apply")).toBe(1);
});

test("what failed so late that another may have taken over is not undone on the host", async () => {
  const adapter = scriptedAdapter();
  const api = await core({ adapter });
  const change_id = await api.bring("approved");
  adapter.on("apply", ({ change_id: id }) => {
    adapter.host.set(id, "applied");
    api.deps.clock.advance(55 * SECOND);
    throw new Error("connection lost");
  });
  expect(await api.act("apply", change_id)).toMatchObject({ status: 502, body: { stage: "apply", host: "applied" } });
  expect(times(adapter, "rollback")).toBe(0);
});
