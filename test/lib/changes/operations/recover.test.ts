/** Recovery of operations that a crash interrupted: the next start reads the state of the target system and records it. */
import { expect, test, vi } from "vitest";
import type { HostState } from "../../../../lib/changes/operations/adapter_port.ts";
import { memoryStore } from "../../../../lib/store/memory.ts";
import { StoreBusy } from "../../../../lib/store/store.ts";
import { events } from "../../../support/client.ts";
import { SECOND } from "../../../support/clock.ts";
import { restartDeps } from "../../../support/deps.ts";
import { failingStore } from "../../../support/failing_store.ts";
import { unsureStore } from "../../../support/unsure_store.ts";
import { chainFault } from "../../../support/independent_chain.ts";
import { fails, makeBarrier, hangs, scriptedAdapter } from "../../../support/scripted_adapter.ts";
import { core, makeCore, type Core } from "../../../support/core.ts";

type Operation = "apply" | "rollback";
type Step = "validate" | "apply" | "verify" | "rollback";

/** Runs an operation up to a step that never ends, as in a crash, and sets the state of the host. */
async function crashDuring(operation: Operation, crashStep: Step, host: HostState | "as it was") {
  const adapter = scriptedAdapter();
  const before = await core({ adapter });
  const change_id = await before.bring(operation === "apply" ? "approved" : "applied");
  adapter.calls.length = 0;
  const reached = new Promise<void>((resolve) => {
    adapter.on(crashStep, (change, signal) => {
      // A rollback calls verify once before it begins, which is not the step to stop at.
      if (operation === "rollback" && crashStep === "verify" && !adapter.calls.includes("rollback")) return undefined;
      if (host !== "as it was") adapter.host.set(change_id, host);
      resolve();
      return hangs(change, signal);
    });
  });
  void before.act(operation, change_id);
  await reached;
  adapter.removeScripts();
  return { adapter, before, change_id };
}

/** Starts another process on the store. `exclusive`: no other process uses the store, so every lease in it is left over. */
const start = async (before: Core, exclusive: boolean): Promise<Core> =>
  makeCore(await restartDeps(before.deps, { exclusive }));

const CRASH_CASES: [Operation, Step, HostState | "as it was", status: string, event: string][] = [
  ["apply", "validate", "as it was", "approved", "change_apply_failed"],
  ["apply", "apply", "as it was", "approved", "change_apply_failed"],
  ["apply", "apply", "applied", "applied", "change_applied"],
  ["apply", "apply", "unknown", "approved", "change_apply_failed"],
  ["apply", "apply", "rolled_back", "approved", "change_apply_failed"],
  ["apply", "verify", "as it was", "applied", "change_applied"],
  ["rollback", "rollback", "as it was", "applied", "change_rollback_failed"],
  ["rollback", "rollback", "rolled_back", "rolled_back", "change_rolled_back"],
  ["rollback", "rollback", "absent", "rolled_back", "change_rolled_back"],
  ["rollback", "rollback", "unknown", "applied", "change_rollback_failed"],
  ["rollback", "verify", "as it was", "rolled_back", "change_rolled_back"],
];

test.each(CRASH_CASES)(
  "a start resolves %s interrupted in %s with the target system %s: the change is %s",
  async (operation, crashStep, host, status, event) => {
    const { adapter, before, change_id } = await crashDuring(operation, crashStep, host);
    const reported = (await before.audit()).length;
    adapter.calls.length = 0;
    const api = await start(before, true);
    expect(adapter.calls).toEqual(["verify"]);
    expect((await api.change(change_id)).status).toBe(status);
    const added = (await api.audit()).slice(reported);
    expect(events(added)).toEqual([event]);
    const detail = JSON.parse(added[0].detail);
    if (event.endsWith("_failed"))
      expect(detail).toMatchObject({ stage: "interrupted", host: adapter.host.get(change_id) ?? "absent" });
    else expect(detail).toMatchObject({ resolved_after_interruption: true });
    expect(chainFault(await api.audit())).toBeNull();
    // After a failure the operation can be repeated; after a success the status no longer allows it.
    const repeated = await api.act(operation, change_id);
    expect(repeated.status).toBe(event.endsWith("_failed") ? 200 : 400);
  },
);

test("a start that is not exclusive leaves a lease until it expires", async () => {
  const { before, change_id } = await crashDuring("apply", "apply", "applied");
  const api = await start(before, false);
  expect((await api.change(change_id)).status).toBe("approved");
  expect((await api.act("apply", change_id)).status).toBe(409);
  before.deps.clock.advance(60 * SECOND);
  await api.cycle();
  expect((await api.change(change_id)).status).toBe("applied");
});

test("an interrupted operation is recorded as failed by a start without an adapter", async () => {
  const { before, change_id } = await crashDuring("apply", "apply", "applied");
  const api = makeCore(await restartDeps(before.deps, { adapter: undefined, exclusive: true }));
  expect((await api.change(change_id)).status).toBe("approved");
  expect(JSON.parse((await api.audit()).at(-1).detail)).toMatchObject({ stage: "interrupted", host: "unknown" });
});

test("an unreachable target system is recorded as unknown once, and asked until it answers", async () => {
  const { adapter, before, change_id } = await crashDuring("apply", "apply", "applied");
  // The start, the first cycle and the apply ask it.
  adapter.on("verify", fails("unreachable"), 3);
  const api = await start(before, true);
  expect(JSON.parse((await api.audit()).at(-1).detail)).toMatchObject({ stage: "interrupted", host: "unknown" });
  const reported = await api.audit();
  expect((await api.cycle()).recovered).toBe(0);
  expect(await api.act("apply", change_id)).toMatchObject({ status: 409, body: { code: "operation_in_progress" } });
  expect(await api.audit()).toEqual(reported);
  expect((await api.cycle()).recovered).toBe(1);
  expect((await api.change(change_id)).status).toBe("applied");
});

test("an operation that cannot be resolved is reported and blocks no other operation", async () => {
  const { adapter, before, change_id } = await crashDuring("apply", "apply", "applied");
  const { store } = before.deps;
  await store.transact(async (tx) => {
    // A lease of a change that does not exist.
    const [lease] = await tx.list("leases", { limit: 1 });
    tx.put("leases", "chg_0", { ...lease!.value, change_id: "chg_0", place: "chg_0" });
  });
  const warnings: unknown[] = [];
  const log = {
    info: () => {},
    error: () => {},
    warn: (message: string, fields?: object) => warnings.push([message, fields]),
  };
  const api = makeCore(await restartDeps(before.deps, { exclusive: true, adapter, log }));
  expect((await api.change(change_id)).status).toBe("applied");
  expect(warnings).toContainEqual([
    "an interrupted operation cannot be settled",
    expect.objectContaining({ change_id: "chg_0" }),
  ]);
});

test("a start does not wait for a target system that is slow to answer", async () => {
  const { adapter, before, change_id } = await crashDuring("apply", "apply", "applied");
  const answer = makeBarrier();
  adapter.on("verify", (change) => (change.change_id === change_id ? answer.opened : undefined));
  const api = await start(before, true);
  expect((await api.change(change_id)).status).toBe("approved");
  expect(await api.act("apply", await api.bring("approved", { target: "another" }))).toMatchObject({ status: 200 });
  answer.open();
  await vi.waitFor(async () => expect((await api.change(change_id)).status).toBe("applied"));
});

test("a start resolves several interrupted operations", async () => {
  const adapter = scriptedAdapter();
  const before = await core({ adapter });
  const ids = await Promise.all([0, 1, 2].map((index) => before.bring("approved", { target: `ui.x${index}` })));
  adapter.on("apply", ({ change_id }, signal) => {
    if (change_id === ids[1]) adapter.host.set(change_id, "applied");
    return hangs({} as never, signal);
  });
  for (const change_id of ids) void before.act("apply", change_id);
  while (adapter.calls.filter((step) => step === "apply").length < 3)
    await new Promise((resolve) => setImmediate(resolve));
  adapter.removeScripts();
  const api = await start(before, true);
  const statuses = await Promise.all(ids.map(async (change_id) => (await api.change(change_id)).status));
  expect(statuses).toEqual(["approved", "applied", "approved"]);
});

test.each([
  ["the store fails", undefined],
  ["others keep the store busy", () => new StoreBusy("contended after 8 tries")],
])("a result that cannot be written because %s is resolved by the next operation", async (_, makeError) => {
  const store = failingStore(memoryStore());
  const adapter = scriptedAdapter();
  const api = await core({ store, adapter });
  const change_id = await api.bring("approved");
  adapter.on("apply", () => void store.fail(makeError));
  // The error must not claim that nothing was changed.
  const error = `the host product was asked to apply ${change_id}, and the result could not be written; the next request for the change, or a cycle, asks the host and records the result if it is missing`;
  expect(await api.act("apply", change_id)).toMatchObject({
    status: 503,
    body: { code: "store_unavailable", error },
  });
  expect((await api.change(change_id)).status).toBe("approved");
  store.recover();
  adapter.removeScripts();
  expect((await api.act("apply", change_id)).body.code).toBe("illegal_transition");
  expect((await api.change(change_id)).status).toBe("applied");
  expect(adapter.calls.filter((step) => step === "apply")).toHaveLength(1);
});

test.each([
  ["was stored", true],
  ["was not stored", false],
])("if the store's answer about a result, which %s, is lost, the result is recorded once", async (_, isStored) => {
  const store = unsureStore(memoryStore());
  const adapter = scriptedAdapter();
  const api = await core({ store, adapter });
  const change_id = await api.bring("approved");
  adapter.on("apply", () => store.loseAnswer(isStored));
  const error = `the host product was asked to apply ${change_id}, and the result may not have been written; the next request for the change, or a cycle, asks the host and records the result if it is missing`;
  expect(await api.act("apply", change_id)).toMatchObject({
    status: 503,
    body: { code: "store_unavailable", change_id, error },
  });
  expect((await api.change(change_id)).status).toBe(isStored ? "applied" : "approved");
  adapter.removeScripts();
  expect((await api.act("apply", change_id)).body.code).toBe("illegal_transition");
  expect((await api.change(change_id)).status).toBe("applied");
  expect(adapter.calls.filter((step) => step === "apply")).toHaveLength(1);
  expect((await api.audit()).filter(({ event_type }) => event_type === "change_applied")).toHaveLength(1);
});

test("writing a result is repeated while the store is busy", async () => {
  const store = failingStore(memoryStore());
  const adapter = scriptedAdapter();
  const api = await core({ store, adapter });
  const change_id = await api.bring("approved");
  let failuresLeft = 4;
  const busy = (): Error => {
    if (--failuresLeft === 0) store.recover();
    return new StoreBusy("contended after 8 tries");
  };
  adapter.on("apply", () => void store.fail(busy));
  expect(await api.act("apply", change_id)).toMatchObject({ status: 200, body: { status: "applied" } });
  expect(failuresLeft).toBe(0);
});

test("the adapter does not run if the lease cannot be stored", async () => {
  const store = failingStore(memoryStore());
  const adapter = scriptedAdapter();
  const api = await core({ store, adapter });
  const change_id = await api.bring("approved");
  store.fail();
  expect((await api.act("apply", change_id)).status).toBe(503);
  expect(adapter.calls).toEqual([]);
});
