/** Cycles of an idle service: few requests to a shared store, and no due work is missed. */
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { countersign, type ServiceOptions } from "../../../handlers/index.ts";
import { runCheckpointLoop } from "../../../lib/audit/anchor.ts";
import { MAX_IDLE_MS } from "../../../lib/operations/due_cycle.ts";
import { readPresentCursor } from "../../../lib/operations/event_cursor.ts";
import { createEventStream } from "../../../lib/operations/event_stream.ts";
import { findNextDue } from "../../../lib/operations/next_due.ts";
import { startNotifier } from "../../../lib/operations/notifier.ts";
import { memoryStore } from "../../../lib/store/memory.ts";
import type { Store } from "../../../lib/store/store.ts";
import { type Client, client } from "../../support/client.ts";
import { MINUTE, SECOND, type TestClock, testClock } from "../../support/clock.ts";
import { countedIds } from "../../support/ids.ts";
import { type Manifest, manifest } from "../../support/intents.ts";
import { roundTrips } from "../../support/round_trips.ts";
import { type ScriptedAdapter, scriptedAdapter } from "../../support/scripted_adapter.ts";

/** Returns a function that opens a shared memory store for a process; its `others` counts the commits of other processes. */
function sharedStore(): () => Store {
  const store = memoryStore();
  let totalCommits = 0;
  return () => {
    let ownCommits = 0;
    return {
      ...store,
      async transact(decide) {
        let hasWritten = false;
        const result = await store.transact((tx) =>
          decide({
            ...tx,
            put: (...args) => ((hasWritten = true), tx.put(...args)),
            delete: (...args) => ((hasWritten = true), tx.delete(...args)),
          }),
        );
        if (hasWritten) {
          ownCommits++;
          totalCommits++;
        }
        return result;
      },
      others: async () => String(totalCommits - ownCommits),
    };
  };
}

/** Maximum requests to the store in a cycle that checks all records, so that new features do not add requests unnoticed. */
const MAX_REQUESTS_OF_FULL_CYCLE = 96;

const POLICY = {
  consent_ttl_hours: 2,
  approval_ttl_hours: 1,
  guardrails: [{ kpi: "nps", max_regression: 1, action: "rollback" }],
};
const INTENT: Manifest = { kpis: { nps: { baseline: 30, target: 50 } }, policy: POLICY };

interface Process extends Client {
  cycle(): Promise<{ tick: number }>;
  /** Returns the store requests since its last call. */
  takeRequests(): readonly string[];
  deps: Awaited<ReturnType<typeof countersign>>["deps"];
}

interface Shared {
  store: () => Store;
  clock: TestClock;
  ids: ReturnType<typeof countedIds>;
  adapter?: ScriptedAdapter | undefined;
}

const makeShared = (overrides: Partial<Shared> = {}): Shared => ({
  store: sharedStore(),
  clock: testClock(),
  ids: countedIds(),
  ...overrides,
});

/** Opens the service in a further process on the store. */
async function openProcess(
  { store, clock, ids, adapter }: Shared,
  options: Partial<ServiceOptions> = {},
): Promise<Process> {
  const { store: counted, take } = roundTrips(store(), { immediate: vi.isFakeTimers() });
  const service = await countersign({
    ...{ store: counted, clock, ids, adapter, intent: manifest(INTENT), pause: async () => {} },
    ...options,
  });
  return { ...client(service.fetch), cycle: service.cycle, deps: service.deps, takeRequests: () => take().names };
}

/** Runs a cycle each minute until a cycle finds nothing to do. */
async function cycleUntilIdle({ clock }: Shared, service: Process): Promise<void> {
  for (let tries = 0; tries < 30; tries++) {
    service.takeRequests();
    clock.advance(MINUTE);
    await service.cycle();
    if (service.takeRequests().length === 1) return;
  }
  throw new Error("each cycle found something to do");
}

const isFullCycle = async (service: Process): Promise<boolean> => {
  service.takeRequests();
  await service.cycle();
  return service.takeRequests().length > 1;
};

test("an idle cycle sends one request, and all records are checked from time to time", async () => {
  const shared = makeShared();
  const service = await openProcess(shared);
  await service.bring("applied", { target: "a", kpi: "nps", expected_delta_k: 1 });
  await service.bring("approved", { target: "b" });
  await service.bring("pending_consent", { target: "c" });
  await cycleUntilIdle(shared, service);
  const requests: string[][] = [];
  for (let minute = 0; minute < 10; minute++) {
    shared.clock.advance(MINUTE);
    await service.cycle();
    requests.push([...service.takeRequests()]);
  }
  const fullCycles = requests.filter(({ length }) => length > 1);
  expect(requests.filter(({ length }) => length === 1).every(([name]) => name === "others")).toBe(true);
  expect(fullCycles).toHaveLength((10 * MINUTE) / MAX_IDLE_MS);
  for (const ofCycle of fullCycles)
    expect(ofCycle.length, ofCycle.join(", ")).toBeLessThanOrEqual(MAX_REQUESTS_OF_FULL_CYCLE);
});

test("rows of another version of a projection are not used", async () => {
  const shared = makeShared();
  const service = await openProcess(shared);
  const id = await service.bring("pending_consent");
  await cycleUntilIdle(shared, service);
  expect(await findNextDue(service.deps)).toBeGreaterThan(shared.clock.now());
  await service.deps.store.transact(async (tx) => {
    const { value } = (await tx.get("cursors", "waiting"))!;
    // A version of the projection `waiting` before the current one, whose rows had another form.
    tx.put("cursors", "waiting", { ...value, version: 3 });
    tx.put("waiting", `pending_consent:${id}`, { since: shared.clock.iso() } as never);
  });
  // The next due time is unknown, so the next cycle checks all records.
  expect(await findNextDue(service.deps)).toBe(-Infinity);
});

test("a store that does not report other writers is checked completely in each cycle", async () => {
  const shared = makeShared({ store: () => ({ ...memoryStore(), others: undefined }) as unknown as Store });
  const service = await openProcess(shared);
  for (let minute = 1; minute < 4; minute++) {
    shared.clock.advance(MINUTE);
    expect((await service.cycle()).tick).toBe(minute);
  }
});

describe("a commit is processed by the next cycle of each process:", () => {
  const actions: Record<string, (by: Process) => Promise<unknown>> = {
    "a proposal": ({ propose }) => propose(),
    "a consent": ({ bring }) => bring("approved"),
    "a KPI": ({ post }) => post("kpi", { nps: 41 }),
    "a freeze": ({ post }) => post("freeze", { actor: "ana", note: "n" }),
    "a task": (by) => by.post("/api/tasks", { title: "Why?" }),
    "a chat message": (by) => by.post("/api/chat", { message: "what waits?" }),
    "a requested cycle": (by) => by.post("/api/action/run-now", { action: "cycle" }),
  };
  test.each(Object.entries(actions))("%s", async (_, action) => {
    const shared = makeShared();
    const [service, other] = [await openProcess(shared), await openProcess(shared)];
    for (const by of [service, other]) {
      await cycleUntilIdle(shared, service);
      shared.clock.advance(MINUTE);
      await action(by);
      expect(await isFullCycle(service)).toBe(true);
    }
  });
});

test("cycles that may be idle do the same work as cycles that check all records", async () => {
  const histories = await Promise.all(
    [false, true].map(async (wholeCycles) => {
      const shared = makeShared({ adapter: scriptedAdapter() });
      const service = await openProcess(shared, { wholeCycles });
      const applied = await service.bring("applied", { target: "a", kpi: "nps", expected_delta_k: 1 });
      await service.bring("approved", { target: "b" });
      let ticks = 0;
      let before = 0;
      for (let hour = 0; hour < 7; hour++) {
        if (hour % 2 === 0) await service.bring("pending_consent", { target: `c.${hour}` });
        if (hour === 3) shared.adapter!.host.set(applied, "absent");
        if (hour === 5) shared.adapter!.host.set(applied, "applied");
        for (let minute = 0; minute < 60; minute++) {
          // Times that fall due at a full minute are between two cycles.
          shared.clock.advance(MINUTE - 1);
          const { tick } = await service.cycle();
          ticks += tick > before ? 1 : 0;
          before = tick;
          shared.clock.advance(1);
        }
      }
      const entries = (await service.audit()).map(({ event_type, timestamp, change_id }) => [
        event_type,
        timestamp,
        change_id,
      ]);
      const rows = (await service.get("/api/log?limit=500")).body.entries;
      const notices = rows.map(({ kind, at, title }: Record<string, string>) => [kind, at, title]);
      return { ticks, entries, notices };
    }),
  );
  const [due, fullCycles] = histories;
  expect(due!.entries).toEqual(fullCycles!.entries);
  expect(due!.notices).toEqual(fullCycles!.notices);
  expect(fullCycles!.ticks).toBe(7 * 60);
  expect(due!.entries.map(([event]) => event)).toContain("change_drifted");
  expect(due!.ticks).toBeLessThan(fullCycles!.ticks / 2);
});

test("an operation that another process abandoned is resumed without a further commit", async () => {
  const shared = makeShared({ adapter: scriptedAdapter() });
  const [service, other] = [await openProcess(shared), await openProcess(shared)];
  const id = await other.bring("approved");
  await cycleUntilIdle(shared, service);
  shared.adapter!.on("apply", () => new Promise(() => {}));
  void other.act("apply", id).catch(() => undefined);
  await vi.waitFor(async () => expect(shared.adapter!.calls).toContain("apply"));
  shared.adapter!.removeScripts();
  shared.adapter!.host.set(id, "applied");
  await service.cycle();
  // The lease of an operation expires after a minute.
  shared.clock.advance(61 * SECOND);
  await service.cycle();
  expect((await service.change(id)).status).toBe("applied");
});

test("a host that lost a change is detected within ten minutes without a further commit", async () => {
  const shared = makeShared({ adapter: scriptedAdapter() });
  const service = await openProcess(shared);
  const id = await service.bring("applied");
  await cycleUntilIdle(shared, service);
  shared.adapter!.calls.length = 0;
  shared.clock.advance(MINUTE);
  await service.cycle();
  expect([shared.adapter!.calls, service.takeRequests()]).toEqual([[], ["others"]]);
  shared.adapter!.host.set(id, "absent");
  for (let minute = 0; minute < 10; minute++) {
    shared.clock.advance(MINUTE);
    await service.cycle();
  }
  expect(shared.adapter!.calls).toEqual(["verify"]);
  expect((await service.get("drift")).body.missing).toMatchObject([{ change_id: id }]);
});

test("several waits between cycles share one request for commits of other processes", async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const shared = makeShared();
  const opening = (async () => [await openProcess(shared, { longLived: true }), await openProcess(shared)] as const)();
  await vi.advanceTimersByTimeAsync(5 * SECOND);
  const [service, other] = await opening;
  const { deps } = service;
  const stop = new AbortController();
  const checkpoints = runCheckpointLoop(deps, deps.commits!);
  const sent: unknown[] = [];
  const send = async (_: unknown, init?: RequestInit) => (sent.push(JSON.parse(String(init?.body))), new Response());
  const notifier = startNotifier(deps, { url: "http://127.0.0.1:9/", fetch: send as typeof fetch });
  const reported: string[] = [];
  const listen = async (): Promise<void> => {
    const reader = createEventStream(deps, await readPresentCursor(deps.store)).getReader();
    stop.signal.addEventListener("abort", () => void reader.cancel());
    const decoder = new TextDecoder();
    for (let read = await reader.read(); !read.done; read = await reader.read())
      reported.push(decoder.decode(read.value));
  };
  const listening = Promise.all([listen(), listen(), listen()]);
  const waits = other.bring("pending_consent");
  await vi.advanceTimersByTimeAsync(MINUTE);
  shared.clock.advance(MINUTE);
  await vi.advanceTimersByTimeAsync(MINUTE);
  const waited = service.get(`changes/${await waits}?wait=60`);
  await vi.advanceTimersByTimeAsync(5 * SECOND);
  service.takeRequests();
  await vi.advanceTimersByTimeAsync(30 * SECOND);
  const requests = service.takeRequests();
  expect(new Set(requests)).toEqual(new Set(["others"]));
  // The fastest wait reads once a second, and the other waits use its result.
  expect(requests.length).toBeLessThanOrEqual(31);

  const approving = other.act("approve", await waits);
  await vi.advanceTimersByTimeAsync(3 * SECOND);
  await approving;
  expect((await waited).body.status).toBe("approved");
  expect(reported.filter((text) => text.includes("consent_decision"))).toHaveLength(3);
  expect(sent).toMatchObject([{ type: "change.waiting_for_consent" }, { type: "change.decided" }]);

  stop.abort();
  deps.commits!.close();
  await vi.advanceTimersByTimeAsync(MINUTE);
  await Promise.all([checkpoints, notifier.stop(), listening]);
});
