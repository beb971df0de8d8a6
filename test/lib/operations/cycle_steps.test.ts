/** The steps of a cycle, their order, and failures that must not delay it. */
import { afterEach, expect, test, vi } from "vitest";
import type { SyncReport } from "../../../lib/link/port.ts";
import { runCycle } from "../../../lib/operations/cycle.ts";
import { memoryStore } from "../../../lib/store/memory.ts";
import { HOUR, MINUTE, pass } from "../../support/clock.ts";
import { failingStore } from "../../support/failing_store.ts";
import { fails, makeBarrier } from "../../support/scripted_adapter.ts";
import { filesInMemory, makeLink, openOperations } from "./operations_service.ts";

const NO_PEERS: SyncReport = { shared: 0, peers: [] };

afterEach(() => void vi.useRealTimers());

const INTENT = {
  kpis: { incident_rate: { baseline: 0.04, target: 0.01 } },
  policy: {
    consent_ttl_hours: 1,
    guardrails: [{ kpi: "incident_rate", max_regression: 0.01, action: "rollback" }],
  },
};

/** Opens a service in which every kind of work of a cycle is due. */
async function openWithDueWork() {
  const synced: string[] = [];
  const service = await openOperations({
    intent: INTENT,
    evolved: filesInMemory(),
    link: makeLink(async () => (synced.push("sync"), NO_PEERS)),
  });
  await service.post("kpi", { incident_rate: 0.02 });
  const applied = await service.bring("applied", { kpi: "incident_rate" });
  const lost = await service.bring("applied", { target: "ui.colour" });
  service.host.host.delete(lost);
  const pending = await service.bring("pending_consent", { target: "ui.font" });
  await service.post("/api/tasks", { title: "t" });
  await pass(service.deps, 2 * HOUR);
  await service.post("kpi", { incident_rate: 0.05 });
  service.host.calls.length = 0;
  return { ...service, applied, lost, pending, synced };
}

test("a complete cycle expires, rolls back, finds drift, runs a task and contacts peers", async () => {
  const { cycle, change, applied, pending, lost, synced, get } = await openWithDueWork();
  expect(await cycle()).toMatchObject({
    tick: 1,
    expired: 1,
    rolled_back: applied,
    peers_synced: true,
    failed_steps: [],
  });
  expect((await change(pending)).resolution).toBe("expired");
  expect((await change(applied)).status).toBe("rolled_back");
  expect((await get("drift")).body.missing).toMatchObject([{ change_id: lost }]);
  expect((await get("/api/state")).body.tasks).toMatchObject({ queued: 0, completed: 1 });
  expect(synced).toEqual(["sync"]);
});

test("a quick cycle calls neither host nor peers and runs no task; it does all other work", async () => {
  const { deps, change, applied, pending, host, synced, get } = await openWithDueWork();
  const report = await runCycle(deps, { quick: true });
  expect(report).toMatchObject({ tick: 1, expired: 1, rolled_back: null, task: null, complete: true });
  expect((await change(pending)).resolution).toBe("expired");
  expect((await change(applied)).status).toBe("applied");
  expect(host.calls).toEqual([]);
  expect(synced).toEqual([]);
  expect((await get("/api/state")).body.tasks).toMatchObject({ queued: 1 });
});

test("a quick cycle returns without waiting for a hanging cycle", async () => {
  const { opened, open } = makeBarrier();
  let wakeCount = 0;
  const service = await openOperations({
    link: makeLink(() => opened.then(() => NO_PEERS)),
    wake: () => void wakeCount++,
  });
  const hanging = service.cycle();
  expect(await runCycle(service.deps, { quick: true })).toMatchObject({ tick: 0, complete: false });
  expect(wakeCount).toBe(1);
  open();
  expect((await hanging).tick).toBe(1);
  // The skipped quick cycle did not raise the tick.
  expect((await service.cycle()).tick).toBe(2);
});

test("peers that do not respond delay a cycle by 10 seconds at most", async () => {
  vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
  const syncStarted = makeBarrier();
  const neverResolve = (): Promise<never> => {
    syncStarted.open();
    return new Promise(() => {});
  };
  const service = await openOperations({ link: makeLink(neverResolve) });
  const cycle = service.cycle();
  await syncStarted.opened;
  await vi.advanceTimersByTimeAsync(10_000);
  expect(await cycle).toMatchObject({ tick: 1, peers_synced: false, failed_steps: ["peers"] });
});

test("a failed step does not prevent the others", async () => {
  const service = await openOperations({
    intent: INTENT,
    link: makeLink(() => Promise.reject(new Error("no network"))),
    evolved: { ...filesInMemory(), write: () => Promise.reject(new Error("disk full")) },
  });
  const pending = await service.bring("pending_consent");
  await pass(service.deps, 2 * HOUR);
  expect(await service.cycle()).toMatchObject({ tick: 1, expired: 1, failed_steps: ["peers", "files"] });
  expect((await service.change(pending)).status).toBe("denied");
});

test("if the store fails writes, the cycle fails and the tick is unchanged", async () => {
  const store = failingStore(memoryStore());
  const service = await openOperations({ store });
  store.fail();
  await expect(service.cycle()).rejects.toThrow("no space left");
  store.recover();
  expect((await service.cycle()).tick).toBe(1);
});

test("the growth log gets one row when a KPI becomes stale, E moves, or the chain breaks", async () => {
  const service = await openOperations({ intent: { kpis: { csat: { baseline: 4, target: 5 } } } });
  const titles = async (kind: string): Promise<string[]> =>
    (await service.get(`/api/log?kind=${kind}`)).body.entries.map(({ title }: { title: string }) => title);
  await service.post("kpi", { csat: 4 });
  await service.cycle();
  await service.post("kpi", { csat: 4.05 });
  await service.cycle();
  await service.post("kpi", { csat: 4.2 });
  await service.cycle();
  // E is 0.5, then 0.525 (too small a move for a row), then 0.6.
  expect(await titles("effect")).toEqual(["E moved from 0.500 to 0.600", "E moved to 0.500"]);
  service.passHours(8 * 24);
  for (let cycles = 0; cycles < 3; cycles++) await service.cycle();
  expect(await titles("stale_kpi")).toEqual(["csat was not fed for more than 7 days"]);
  await service.post("kpi", { csat: 4.2 });
  await service.cycle();
  service.passHours(8 * 24);
  await service.cycle();
  expect(await titles("stale_kpi")).toHaveLength(2);
  service.deps.integrity.breach = { first_invalid: 2, reason: "its id is 9" };
  for (let cycles = 0; cycles < 2; cycles++) await service.cycle();
  expect(await titles("audit_chain")).toEqual(["The audit chain does not hold at entry 2"]);
});

test("a breach is reported once, even if several processes run cycles", async () => {
  const service = await openOperations();
  const other = await openOperations({ store: service.deps.store, clock: service.deps.clock });
  service.deps.integrity.breach = { first_invalid: 2, reason: "its id is 9" };
  for (const { cycle } of [service, other, service, other, service]) await cycle();
  expect((await service.get("/api/log?kind=audit_chain")).body.entries).toHaveLength(1);
});

test("a guardrail rollback that the host rejects is given up and reported after five cycles", async () => {
  const service = await openOperations({ intent: INTENT });
  await service.post("kpi", { incident_rate: 0.02 });
  await service.bring("applied", { kpi: "incident_rate" });
  await service.post("kpi", { incident_rate: 0.05 });
  service.host.on("rollback", fails("locked"), 100);
  for (let cycles = 0; cycles < 7; cycles++) expect((await service.cycle()).rolled_back).toBeNull();
  const { entries } = (await service.get("/api/log?kind=guardrail")).body;
  expect(entries.map(({ title }: { title: string }) => title)).toEqual([
    "The guardrail's rollback of “Show the banner” (ui.banner for tenant t1) is given up",
    "incident_rate rose by 0.03 (worse) after “Show the banner” (ui.banner for tenant t1)",
  ]);
  const seqs = entries.map(({ seq }: { seq: number }) => seq);
  expect(seqs[0]).toBeGreaterThan(seqs[1]);
});

test("each outcome ends after its own 7 days", async () => {
  const service = await openOperations();
  const first = await service.bring("applied");
  // `passHours` only advances the clock; `pass` below also takes a clock sample, which confirms the time.
  service.passHours(1);
  const second = await service.bring("applied", { target: "ui.colour" });
  const states = async () =>
    Object.fromEntries(
      (await service.get("outcomes")).body.outcomes.map(
        ({ change_id, state }: { change_id: string; state: string }) => [change_id, state],
      ),
    );
  service.passHours(7 * 24 - 1);
  expect((await service.cycle()).outcomes_closed).toBe(0);
  await pass(service.deps, MINUTE);
  expect((await service.cycle()).outcomes_closed).toBe(1);
  expect(await states()).toEqual({ [first]: "final", [second]: "open" });
  await pass(service.deps, HOUR);
  expect((await service.cycle()).outcomes_closed).toBe(1);
});

// The gaps of 90 days are listed; the buckets of 400 days are stored. The clock starts on 2 January 2026.
test("old buckets and gaps are removed", async () => {
  const service = await openOperations();
  await service.bring("denied");
  const days = async () => (await service.deps.store.list("tally_days", { limit: 10 })).map(({ id }) => id);
  const gaps = async () => (await service.get("/api/state")).body.dimensions.M.gaps;
  expect(await gaps()).toHaveLength(1);
  service.passHours(91 * 24);
  await service.cycle();
  expect(await gaps()).toEqual([]);
  expect(await days()).toEqual(["2026-01-02"]);
  service.passHours(310 * 24);
  await service.bring("denied", { target: "ui.colour" });
  await service.cycle();
  expect(await days()).toEqual(["2027-02-07"]);
});
