/** Two processes that apply one change: the lease decides whose result is recorded. */
import { expect, test } from "vitest";
import type { Lease } from "../../../../lib/changes/records.ts";
import { events } from "../../../support/client.ts";
import { SECOND } from "../../../support/clock.ts";
import { restartDeps } from "../../../support/deps.ts";
import { makeBarrier, type ScriptedAdapter, scriptedAdapter } from "../../../support/scripted_adapter.ts";
import { core, makeCore, type Core } from "../../../support/core.ts";

/** Waits until the code under test has reached a state, without a timer. */
async function waitUntil(isReached: () => boolean | Promise<boolean>): Promise<void> {
  while (!(await isReached())) await new Promise((resolve) => setImmediate(resolve));
}

/** Starts an apply in one process, which runs until `finish`, and a second process on the same store and target system. */
async function startApply() {
  const adapter = scriptedAdapter();
  const first = await core({ adapter });
  const change_id = await first.bring("approved");
  const mayEnd = makeBarrier();
  adapter.on("apply", () => mayEnd.opened, 1);
  const running = first.act("apply", change_id);
  await waitUntil(() => adapter.calls.includes("apply"));
  const second = makeCore(await restartDeps(first.deps));
  return { adapter, first, second, change_id, running, finish: mayEnd.open };
}

const listLeases = async (api: Core) => (await api.deps.store.list("leases", { limit: 10 })).map(({ value }) => value);
/** Lists the events of the change after its proposal and its approval. */
const listEvents = async (api: Core) => events(await api.steps()).slice(2);
const countCalls = (adapter: ScriptedAdapter, step: string) => adapter.calls.filter((call) => call === step).length;

test("the lease is stored before the adapter runs, and deleted afterwards", async () => {
  const { first, change_id, running, finish } = await startApply();
  expect(await listLeases(first)).toEqual([
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
  expect(await listLeases(first)).toEqual([]);
});

test("an apply is 409 under another process's unexpired lease, which a cycle does not end", async () => {
  const { adapter, first, second, change_id, running, finish } = await startApply();
  expect(await second.act("apply", change_id)).toMatchObject({
    status: 409,
    body: { code: "operation_in_progress", change_id },
  });
  second.deps.clock.advance(60 * SECOND - 1);
  expect((await second.act("apply", change_id)).status).toBe(409);
  await second.cycle();
  finish();
  expect((await running).status).toBe(200);
  expect(countCalls(adapter, "apply")).toBe(1);
  expect(await listEvents(first)).toEqual(["change_applied"]);
  expect((await second.act("apply", change_id)).body.code).toBe("illegal_transition");
});

test("an illegal transition is reported before a lease of another process", async () => {
  const { second, change_id, running, finish } = await startApply();
  expect((await second.act("rollback", change_id)).body.code).toBe("illegal_transition");
  finish();
  await running;
});

test("a second operation in one process waits for the first and sees its result", async () => {
  const { first, change_id, running, finish } = await startApply();
  const waiting = first.act("rollback", change_id);
  finish();
  expect([(await running).status, (await waiting).status]).toEqual([200, 200]);
  expect(await listEvents(first)).toEqual(["change_applied", "change_rolled_back"]);
});

test("after a lease expires another process takes over, and the late result is rejected", async () => {
  const { adapter, first, second, change_id, running, finish } = await startApply();
  first.deps.clock.advance(60 * SECOND);
  expect((await second.act("apply", change_id)).status).toBe(200);
  // The interrupted apply had no effect on the target system, so it is recorded as failed.
  expect(await listEvents(second)).toEqual(["change_apply_failed", "change_applied"]);
  const before = [await second.change(change_id), await second.audit()];
  finish();
  expect(await running).toMatchObject({ status: 409, body: { code: "operation_in_progress" } });
  expect([await second.change(change_id), await second.audit()]).toEqual(before);
  expect(countCalls(adapter, "apply")).toBe(2);
});

test("a late result is not recorded while another process has the lease", async () => {
  const { adapter, first, second, change_id, running, finish } = await startApply();
  first.deps.clock.advance(60 * SECOND);
  const mayEnd = makeBarrier();
  adapter.on("apply", () => mayEnd.opened, 1);
  const newer = second.act("apply", change_id);
  await waitUntil(() => countCalls(adapter, "apply") === 2);
  const newLeases = await listLeases(second);
  expect(newLeases).toMatchObject([{ owner: second.deps.owner }]);
  finish();
  expect((await running).status).toBe(409);
  expect(await listLeases(second)).toEqual(newLeases);
  mayEnd.open();
  expect((await newer).status).toBe(200);
  expect(await listEvents(second)).toEqual(["change_apply_failed", "change_applied"]);
});

test("an apply that was carried out before its lease expired is recorded, not repeated", async () => {
  const { adapter, first, second, change_id, running, finish } = await startApply();
  adapter.host.set(change_id, "applied");
  first.deps.clock.advance(60 * SECOND);
  expect((await second.act("apply", change_id)).body.code).toBe("illegal_transition");
  const [entry] = (await second.steps()).slice(2);
  expect(entry.event_type).toBe("change_applied");
  expect(JSON.parse(entry.detail)).toMatchObject({ resolved_after_interruption: true });
  expect(countCalls(adapter, "apply")).toBe(1);
  finish();
  expect((await running).status).toBe(409);
});

test("the next cycle resolves an operation whose lease expired", async () => {
  const { adapter, first, second, change_id, running, finish } = await startApply();
  adapter.host.set(change_id, "applied");
  first.deps.clock.advance(60 * SECOND);
  expect((await second.cycle()).recovered).toBe(1);
  expect((await second.change(change_id)).status).toBe("applied");
  expect((await second.cycle()).recovered).toBe(0);
  finish();
  await running;
});

test("of two processes that take over concurrently only one runs the adapter", async () => {
  const { adapter, first, second, change_id, finish, running } = await startApply();
  const third = makeCore(await restartDeps(first.deps));
  first.deps.clock.advance(60 * SECOND);
  const replies = await Promise.all([second.act("apply", change_id), third.act("apply", change_id)]);
  expect(replies.map(({ status }) => status).filter((status) => status === 200)).toHaveLength(1);
  expect(countCalls(adapter, "apply")).toBe(2);
  expect((await listEvents(second)).filter((event) => event === "change_applied")).toHaveLength(1);
  finish();
  await running;
});

test("each new lease on a change has a higher number", async () => {
  const { adapter, first, change_id, running, finish } = await startApply();
  const [{ number }] = (await listLeases(first)) as [Lease];
  // A lease has the number of the next entry.
  expect(number).toBe((await first.audit()).length + 1);
  finish();
  await running;
  const mayEnd = makeBarrier();
  adapter.on("rollback", () => mayEnd.opened, 1);
  const rollback = first.act("rollback", change_id);
  await waitUntil(() => adapter.calls.includes("rollback"));
  expect((await listLeases(first))[0]!.number).toBeGreaterThan(number);
  mayEnd.open();
  expect((await rollback).status).toBe(200);
});

test("other changes are approved and applied while one is being applied", async () => {
  const { first, running, finish } = await startApply();
  const other = await first.bring("applied", { target: "ui.other" });
  expect((await first.change(other)).status).toBe("applied");
  finish();
  expect((await running).status).toBe(200);
});

test("a process whose lease expired during validation does not call apply on the target system", async () => {
  const adapter = scriptedAdapter();
  const first = await core({ adapter });
  const change_id = await first.bring("approved");
  const second = makeCore(await restartDeps(first.deps));
  const mayEnd = makeBarrier();
  adapter.on("validate", () => mayEnd.opened, 1);
  const interrupted = first.act("apply", change_id);
  await waitUntil(() => adapter.calls.includes("validate"));
  first.deps.clock.advance(60 * SECOND);
  await second.must("apply", change_id);
  await second.must("rollback", change_id);
  mayEnd.open();
  expect(await interrupted).toMatchObject({ status: 409, body: { code: "operation_in_progress" } });
  expect(adapter.host.get(change_id)).toBe("rolled_back");
});

test("a step on the target system begins only if the rest of the lease is long enough for it", async () => {
  const adapter = scriptedAdapter();
  const api = await core({ adapter });
  const change_id = await api.bring("approved");
  const advanceBy = (ms: number) => () => void api.deps.clock.advance(ms);
  // A lease lasts 60 seconds, and a step may take ten.
  adapter.on("validate", advanceBy(50 * SECOND + 1), 1);
  expect(await api.act("apply", change_id)).toMatchObject({
    status: 502,
    body: { stage: "interrupted", host: "absent" },
  });
  expect(countCalls(adapter, "apply")).toBe(0);
  adapter.on("validate", advanceBy(50 * SECOND), 1);
  await api.must("apply", change_id);
  expect(countCalls(adapter, "apply")).toBe(1);
});

test("an apply that failed near the end of its lease is not rolled back on the target system", async () => {
  const adapter = scriptedAdapter();
  const api = await core({ adapter });
  const change_id = await api.bring("approved");
  adapter.on("apply", ({ change_id: id }) => {
    adapter.host.set(id, "applied");
    api.deps.clock.advance(55 * SECOND);
    throw new Error("connection lost");
  });
  expect(await api.act("apply", change_id)).toMatchObject({ status: 502, body: { stage: "apply", host: "applied" } });
  expect(countCalls(adapter, "rollback")).toBe(0);
});
