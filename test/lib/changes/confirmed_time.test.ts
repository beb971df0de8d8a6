/** Deadlines take effect only once two clock samples, ten minutes apart, show them passed; one wrong clock expires nothing. */
import { describe, expect, test } from "vitest";
import { computeConfirmedTime, type ClockSample, addClockSample } from "../../../lib/changes/confirmed_time.ts";
import { events } from "../../support/client.ts";
import { DAY, HOUR, MINUTE, SECOND, type TestClock, testClock } from "../../support/clock.ts";
import { makeCore, core } from "../../support/core.ts";
import { restartDeps } from "../../support/deps.ts";
import { fails, scriptedAdapter } from "../../support/scripted_adapter.ts";

const LIMITS = { policy: { consent_ttl_hours: 72, approval_ttl_hours: 72 } };

describe("one process started with the clock 400 days ahead, corrected before the next start", () => {
  const startWithWrongClock = async () => {
    const first = await core({ intent: LIMITS, adapter: scriptedAdapter() });
    const pending = await first.bring("pending_consent");
    const approved = await first.bring("approved", { target: "ui.b" });
    const applied = await first.bring("applied", { target: "ui.c" });
    const { clock } = first.deps;
    const start = async () => makeCore(await restartDeps(first.deps, { intent: LIMITS }));
    clock.shift(400 * DAY);
    const wrong = await start();
    return { wrong, start, clock, pending, approved, applied, length: (await first.audit()).length };
  };

  test("nothing expires, and every action works once the clock is right", async () => {
    const { wrong, start, clock, pending, approved, applied, length } = await startWithWrongClock();
    for (let minute = 0; minute < 9; minute++) {
      expect(await wrong.cycle()).toMatchObject({ expired: 0, drift: { checked: 1 } });
      for (const [change_id, action] of [
        [pending, "approve"],
        [approved, "apply"],
      ] as const) {
        expect((await wrong.act(action, change_id)).body.code).toBe("illegal_transition");
        const { gates, allowed_actions } = await wrong.change(change_id);
        expect(gates).toContainEqual(expect.objectContaining({ gate: "deadline", state: "block" }));
        expect(allowed_actions).not.toContain(action);
      }
      clock.advance(MINUTE);
    }
    expect(await wrong.audit()).toHaveLength(length);
    clock.shift(-400 * DAY);
    const right = await start();
    await right.cycle();
    clock.advance(HOUR);
    expect((await right.cycle()).expired).toBe(0);
    for (const [action, change_id] of [
      ["approve", pending],
      ["apply", pending],
      ["apply", approved],
      ["rollback", applied],
    ] as const)
      expect((await right.act(action, change_id)).status, action).toBe(200);
  });

  test("samples of a clock that is corrected while the process runs do not count", async () => {
    const { wrong, clock, pending } = await startWithWrongClock();
    await wrong.cycle();
    clock.advance(9 * MINUTE);
    clock.shift(-400 * DAY);
    await wrong.cycle();
    clock.advance(20 * MINUTE);
    expect((await wrong.cycle()).expired).toBe(0);
    expect((await wrong.change(pending)).status).toBe("pending_consent");
  });

  test("a clock that keeps jumping forward expires nothing", async () => {
    const { wrong, clock } = await startWithWrongClock();
    for (let jump = 0; jump < 5; jump++) {
      expect((await wrong.cycle()).expired).toBe(0);
      clock.advance(MINUTE);
      clock.shift(DAY);
    }
  });

  test("after entries dated by the wrong clock, accept-clock makes every action work again", async () => {
    const { wrong, start, clock, pending, approved, applied } = await startWithWrongClock();
    await wrong.post("kpi", { csat: 4 });
    clock.shift(-400 * DAY);
    const right = await start();
    expect((await right.act("approve", pending)).body.code).toBe("clock_behind");
    expect((await right.act("rollback", applied)).status).toBe(200);
    expect((await right.post("audit/accept-clock", { actor: "ops", note: "it ran ahead" })).status).toBe(200);
    for (const [action, change_id] of [
      ["approve", pending],
      ["apply", pending],
      ["apply", approved],
    ] as const)
      expect((await right.act(action, change_id)).status, action).toBe(200);
    expect((await right.get("audit/verify")).body).toMatchObject({ valid: true, state: { mismatched: 0 } });
    const types = events(await right.audit());
    expect(types.filter((type) => type === "clock_accepted")).toHaveLength(1);
  });
});

test("an interrupted apply is not recovered while the clock is wrong", async () => {
  const adapter = scriptedAdapter();
  const api = await core({ intent: LIMITS, adapter });
  const change_id = await api.bring("approved");
  for (const step of ["apply", "verify", "rollback"] as const) adapter.on(step, fails("away"));
  expect((await api.act("apply", change_id)).body.host).toBe("unknown");
  adapter.removeScripts();
  adapter.host.set(change_id, "applied");
  api.deps.clock.shift(400 * DAY);
  expect((await api.cycle()).recovered).toBe(0);
  expect(adapter.host.get(change_id)).toBe("applied");
  api.deps.clock.shift(-400 * DAY);
  expect((await api.cycle()).recovered).toBe(1);
  expect((await api.change(change_id)).status).toBe("applied");
});

describe("short-lived processes", () => {
  /** Starts processes that share only the store, and have no monotonic clock. */
  const startShortLived = async (clock: TestClock) => {
    const { monotonic: _, ...wallClock } = clock;
    const first = await core({ clock: wallClock as TestClock, intent: LIMITS });
    return {
      pending: await first.bring("pending_consent"),
      startNext: async () => makeCore(await restartDeps(first.deps, { intent: LIMITS })),
    };
  };

  test("cycles store their clock samples, and a cycle ten minutes later expires the change", async () => {
    const clock = testClock();
    const { pending, startNext } = await startShortLived(clock);
    clock.advance(73 * HOUR);
    for (let minute = 0; minute < 10; minute++) {
      expect((await (await startNext()).cycle()).expired, `minute ${minute}`).toBe(0);
      clock.advance(MINUTE);
    }
    expect((await (await startNext()).cycle()).expired).toBe(1);
    expect((await (await startNext()).change(pending)).resolution).toBe("expired");
  });

  test("reads without a cycle expire nothing", async () => {
    const clock = testClock();
    const { pending, startNext } = await startShortLived(clock);
    clock.advance(73 * HOUR);
    expect((await (await startNext()).change(pending)).status).toBe("pending_consent");
    clock.advance(HOUR);
    expect((await (await startNext()).change(pending)).status).toBe("pending_consent");
  });

  test("a process whose clock is ahead expires nothing, and its samples mislead no later process", async () => {
    const clock = testClock();
    const { pending, startNext } = await startShortLived(clock);
    for (let round = 0; round < 5; round++) {
      await (await startNext()).cycle();
      clock.shift(400 * DAY);
      expect((await (await startNext()).cycle()).expired).toBe(0);
      clock.shift(-400 * DAY);
      clock.advance(11 * MINUTE);
    }
    expect((await (await startNext()).change(pending)).status).toBe("pending_consent");
  });

  test("at most 12 samples are stored, and not every cycle writes", async () => {
    const clock = testClock();
    const { startNext } = await startShortLived(clock);
    const api = await startNext();
    const storedSamples = async () => (await api.deps.store.get("meta", "clock"))!;
    for (let second = 0; second < 7200; second += 30) {
      await api.cycle();
      clock.advance(30 * SECOND);
    }
    expect((await storedSamples()).value.sightings.length).toBeLessThanOrEqual(12);
    // One write a minute in two hours.
    expect((await storedSamples()).revision).toBe(120);
  });
});

describe("the confirmed time computed from clock samples", () => {
  /** Makes a sample from the minutes of the monotonic clock and those of the wall clock, which are the same if it is right. */
  const sample = (elapsedMinutes: number, wallMinutes = elapsedMinutes): ClockSample => ({
    at: wallMinutes * MINUTE,
    elapsed: elapsedMinutes * MINUTE,
  });
  const addAll = (...samples: ClockSample[]): readonly ClockSample[] =>
    samples.reduce((stored, next) => addClockSample(stored, next), [] as readonly ClockSample[]);

  test.each([
    ["without earlier samples", [], sample(0), -Infinity],
    ["after one recent sample", [sample(0)], sample(9.99), -Infinity],
    ["after one sample ten minutes ago", [sample(0)], sample(10), 0],
    ["after several samples", [sample(0), sample(5), sample(9)], sample(15), 5],
    ["after a recent jump forward", [sample(0), sample(14, 999)], sample(15, 1000), 0],
    ["after a jump forward and back", [sample(0, 999), sample(5)], sample(15), 5],
    ["after a lasting jump forward", [sample(0), sample(10, 999)], sample(20, 1009), 999],
    ["when the clock went backwards", [sample(0, 50)], sample(30, 3), 3],
  ] as [string, ClockSample[], ClockSample, number][])("%s", (_, before, now, minute) => {
    expect(computeConfirmedTime(addAll(...before), now)).toBe(minute * MINUTE);
  });
});
