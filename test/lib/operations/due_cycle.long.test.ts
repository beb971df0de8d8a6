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

/** Creates a memory store for several processes; `others` of each counts the commits of the other ones. */
function sharedStore(): () => Store {
  const store = memoryStore();
  let commits = 0;
  return () => {
    let own = 0;
    return {
      ...store,
      async transact(decide) {
        let wrote = false;
        const result = await store.transact((tx) =>
          decide({
            ...tx,
            put: (...args) => ((wrote = true), tx.put(...args)),
            delete: (...args) => ((wrote = true), tx.delete(...args)),
          }),
        );
        if (wrote) {
          own++;
          commits++;
        }
        return result;
      },
      others: async () => String(commits - own),
    };
  };
}

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

const shared = (over: Partial<Shared> = {}): Shared => ({
  store: sharedStore(),
  clock: testClock(),
  ids: countedIds(),
  ...over,
});

/** Opens one process on the store. */
async function process({ store, clock, ids, adapter }: Shared, over: Partial<ServiceOptions> = {}): Promise<Process> {
  const { store: counted, take } = roundTrips(store(), { prompt: vi.isFakeTimers() });
  const service = await countersign({
    ...{ store: counted, clock, ids, adapter, intent: manifest(INTENT), pause: async () => {} },
    ...over,
  });
  return { ...client(service.fetch), cycle: service.cycle, deps: service.deps, takeRequests: () => take().asked };
}

/** Runs cycles a minute apart until one finds nothing to do. */
async function cycleUntilIdle({ clock }: Shared, one: Process): Promise<void> {
  for (let tries = 0; tries < 30; tries++) {
    one.takeRequests();
    clock.advance(MINUTE);
    await one.cycle();
    if (one.takeRequests().length === 1) return;
  }
  throw new Error("it found something to do each time");
}

const isFullCycle = async (one: Process): Promise<boolean> => {
  one.takeRequests();
  await one.cycle();
  return one.takeRequests().length > 1;
};

test("an idle cycle sends one request, and all records are checked from time to time", async () => {
  const on = shared();
  const one = await process(on);
  await one.bring("applied", { target: "a", kpi: "nps", expected_delta_k: 1 });
  await one.bring("approved", { target: "b" });
  await one.bring("pending_consent", { target: "c" });
  await cycleUntilIdle(on, one);
  const asked: string[][] = [];
  for (let minute = 0; minute < 10; minute++) {
    on.clock.advance(MINUTE);
    await one.cycle();
    asked.push([...one.takeRequests()]);
  }
  const whole = asked.filter(({ length }) => length > 1);
  expect(asked.filter(({ length }) => length === 1).every(([what]) => what === "others")).toBe(true);
  expect(whole).toHaveLength((10 * MINUTE) / MAX_IDLE_MS);
  for (const requests of whole) expect(requests.length, requests.join(", ")).toBeLessThan(97);
});

test("rows of another version of a projection are not used", async () => {
  const on = shared();
  const one = await process(on);
  const id = await one.bring("pending_consent");
  await cycleUntilIdle(on, one);
  expect(await findNextDue(one.deps)).toBeGreaterThan(on.clock.now());
  await one.deps.store.transact(async (tx) => {
    const { value } = (await tx.get("cursors", "waiting"))!;
    tx.put("cursors", "waiting", { ...value, version: 3 });
    tx.put("waiting", `pending_consent:${id}`, { since: on.clock.iso() } as never);
  });
  expect(await findNextDue(one.deps)).toBe(-Infinity);
});

test("a store that does not report other writers is checked completely in each cycle", async () => {
  const on = shared({ store: () => ({ ...memoryStore(), others: undefined }) as unknown as Store });
  const one = await process(on);
  for (let minute = 1; minute < 4; minute++) {
    on.clock.advance(MINUTE);
    expect((await one.cycle()).tick).toBe(minute);
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
    "a cycle that was asked for": (by) => by.post("/api/action/run-now", { action: "cycle" }),
  };
  test.each(Object.entries(actions))("%s", async (_, action) => {
    const on = shared();
    const [one, other] = [await process(on), await process(on)];
    for (const by of [one, other]) {
      await cycleUntilIdle(on, one);
      on.clock.advance(MINUTE);
      await action(by);
      expect(await isFullCycle(one)).toBe(true);
    }
  });
});

/** Compares a service whose cycles may be idle with one whose cycles are all full. */
test("work that becomes due is done as by cycles that check all records", async () => {
  const histories = await Promise.all(
    [false, true].map(async (wholeCycles) => {
      const on = shared({ adapter: scriptedAdapter() });
      const one = await process(on, { wholeCycles });
      const applied = await one.bring("applied", { target: "a", kpi: "nps", expected_delta_k: 1 });
      await one.bring("approved", { target: "b" });
      let ticks = 0;
      let before = 0;
      for (let hour = 0; hour < 7; hour++) {
        if (hour % 2 === 0) await one.bring("pending_consent", { target: `c.${hour}` });
        if (hour === 3) on.adapter!.host.set(applied, "absent");
        if (hour === 5) on.adapter!.host.set(applied, "applied");
        for (let minute = 0; minute < 60; minute++) {
          on.clock.advance(MINUTE - 1);
          const { tick } = await one.cycle();
          ticks += tick > before ? 1 : 0;
          before = tick;
          on.clock.advance(1);
        }
      }
      const reported = (await one.audit()).map(({ event_type, timestamp, change_id }) => [
        event_type,
        timestamp,
        change_id,
      ]);
      const rows = (await one.get("/api/log?limit=500")).body.entries;
      const notices = rows.map(({ kind, at, title }: Record<string, string>) => [kind, at, title]);
      return { ticks, told: reported, notices };
    }),
  );
  const [due, whole] = histories;
  expect(due!.told).toEqual(whole!.told);
  expect(due!.notices).toEqual(whole!.notices);
  expect(whole!.ticks).toBe(7 * 60);
  expect(due!.told.map(([event]) => event)).toEqual(expect.arrayContaining(["change_drifted"]));
  expect(due!.ticks).toBeLessThan(whole!.ticks / 2);
});

test("an operation that another process abandoned is resumed without a further commit", async () => {
  const on = shared({ adapter: scriptedAdapter() });
  const [one, other] = [await process(on), await process(on)];
  const id = await other.bring("approved");
  await cycleUntilIdle(on, one);
  on.adapter!.on("apply", () => new Promise(() => {}));
  void other.act("apply", id).catch(() => undefined);
  await vi.waitFor(async () => expect(on.adapter!.calls).toContain("apply"));
  on.adapter!.removeScripts();
  on.adapter!.host.set(id, "applied");
  await one.cycle();
  on.clock.advance(61 * SECOND);
  await one.cycle();
  expect((await one.change(id)).status).toBe("applied");
});

test("a host that lost a change is detected within ten minutes without a further commit", async () => {
  const on = shared({ adapter: scriptedAdapter() });
  const one = await process(on);
  const id = await one.bring("applied");
  await cycleUntilIdle(on, one);
  on.adapter!.calls.length = 0;
  on.clock.advance(MINUTE);
  await one.cycle();
  expect([on.adapter!.calls, one.takeRequests()]).toEqual([[], ["others"]]);
  on.adapter!.host.set(id, "absent");
  for (let minute = 0; minute < 10; minute++) {
    on.clock.advance(MINUTE);
    await one.cycle();
  }
  expect(on.adapter!.calls).toEqual(["verify"]);
  expect((await one.get("drift")).body.missing).toMatchObject([{ change_id: id }]);
});

test("several waits between cycles share one request for commits of other processes", async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  const on = shared();
  const opening = (async () => [await process(on, { longLived: true }), await process(on)] as const)();
  await vi.advanceTimersByTimeAsync(5 * SECOND);
  const [one, other] = await opening;
  const { deps } = one;
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
  on.clock.advance(MINUTE);
  await vi.advanceTimersByTimeAsync(MINUTE);
  const waited = one.get(`changes/${await waits}?wait=60`);
  await vi.advanceTimersByTimeAsync(5 * SECOND);
  one.takeRequests();
  await vi.advanceTimersByTimeAsync(30 * SECOND);
  const asked = one.takeRequests();
  expect(new Set(asked)).toEqual(new Set(["others"]));
  // The fastest of them looks once a second: a caller who waits longer goes by that.
  expect(asked.length).toBeLessThanOrEqual(31);

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
