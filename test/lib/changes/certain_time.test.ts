/** A clock that is wrong for one start ends nothing: what it is needs to be seen twice, ten minutes apart. */
import { describe, expect, test } from "vitest";
import { computeCertainTime, type ClockSample, addClockSample } from "../../../lib/changes/certain_time.ts";
import { events } from "../../support/client.ts";
import { DAY, HOUR, MINUTE, SECOND, type TestClock, testClock } from "../../support/clock.ts";
import { makeCore, core } from "../../support/core.ts";
import { restarted } from "../../support/deps.ts";
import { fails, scriptedAdapter } from "../../support/scripted_adapter.ts";

const LIMITS = { policy: { consent_ttl_hours: 72, approval_ttl_hours: 72 } };

describe("a start with the clock 400 days ahead, put right at the next", () => {
  const starts = async () => {
    const first = await core({ intent: LIMITS, adapter: scriptedAdapter() });
    const pending = await first.bring("pending_consent");
    const approved = await first.bring("approved", { target: "ui.b" });
    const applied = await first.bring("applied", { target: "ui.c" });
    const { clock } = first.deps;
    const start = async () => makeCore(await restarted(first.deps, { intent: LIMITS }));
    clock.set(400 * DAY);
    const wrong = await start();
    return { wrong, start, clock, pending, approved, applied, length: (await first.audit()).length };
  };

  test("nothing has expired, and nothing is in the way", async () => {
    const { wrong, start, clock, pending, approved, applied, length } = await starts();
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
    clock.set(-400 * DAY);
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

  test("set right while the process runs, it counts nothing of what it saw", async () => {
    const { wrong, clock, pending } = await starts();
    await wrong.cycle();
    clock.advance(9 * MINUTE);
    clock.set(-400 * DAY);
    await wrong.cycle();
    clock.advance(20 * MINUTE);
    expect((await wrong.cycle()).expired).toBe(0);
    expect((await wrong.change(pending)).status).toBe("pending_consent");
  });

  test("one that jumps on and on is certain of nothing either", async () => {
    const { wrong, clock } = await starts();
    for (let jump = 0; jump < 5; jump++) {
      expect((await wrong.cycle()).expired).toBe(0);
      clock.advance(MINUTE);
      clock.set(DAY);
    }
  });

  test("entries that were written meanwhile are put up with, and all goes on", async () => {
    const { wrong, start, clock, pending, approved, applied } = await starts();
    await wrong.post("kpi", { csat: 4 });
    clock.set(-400 * DAY);
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

test("a late apply is neither completed nor undone until its time is certainly over", async () => {
  const adapter = scriptedAdapter();
  const api = await core({ intent: LIMITS, adapter });
  const change_id = await api.bring("approved");
  for (const step of ["apply", "verify", "rollback"] as const) adapter.on(step, fails("away"));
  expect((await api.act("apply", change_id)).body.host).toBe("unknown");
  adapter.calm();
  adapter.host.set(change_id, "applied");
  api.deps.clock.set(400 * DAY);
  expect((await api.cycle()).recovered).toBe(0);
  expect(adapter.host.get(change_id)).toBe("applied");
  api.deps.clock.set(-400 * DAY);
  expect((await api.cycle()).recovered).toBe(1);
  expect((await api.change(change_id)).status).toBe("applied");
});

describe("where no process lives for long", () => {
  /** A process that knows nothing but what the store keeps, and has no monotonic clock. */
  const processOn = async (clock: TestClock) => {
    const { monotonic: _, ...wall } = clock;
    const first = await core({ clock: wall as TestClock, intent: LIMITS });
    return {
      pending: await first.bring("pending_consent"),
      next: async () => makeCore(await restarted(first.deps, { intent: LIMITS })),
    };
  };

  test("cycles keep what they saw, and the second one that is ten minutes later denies", async () => {
    const clock = testClock();
    const { pending, next } = await processOn(clock);
    clock.advance(73 * HOUR);
    for (let minute = 0; minute < 10; minute++) {
      expect((await (await next()).cycle()).expired, `minute ${minute}`).toBe(0);
      clock.advance(MINUTE);
    }
    expect((await (await next()).cycle()).expired).toBe(1);
    expect((await (await next()).change(pending)).resolution).toBe("expired");
  });

  test("a read between two cycles is certain of nothing", async () => {
    const clock = testClock();
    const { pending, next } = await processOn(clock);
    clock.advance(73 * HOUR);
    expect((await (await next()).change(pending)).status).toBe("pending_consent");
    clock.advance(HOUR);
    expect((await (await next()).change(pending)).status).toBe("pending_consent");
  });

  test("one process whose clock is ahead denies nothing, and leaves nothing behind", async () => {
    const clock = testClock();
    const { pending, next } = await processOn(clock);
    for (let round = 0; round < 5; round++) {
      await (await next()).cycle();
      clock.set(400 * DAY);
      expect((await (await next()).cycle()).expired).toBe(0);
      clock.set(-400 * DAY);
      clock.advance(11 * MINUTE);
    }
    expect((await (await next()).change(pending)).status).toBe("pending_consent");
  });

  test("what is kept stays small, and is not written each time", async () => {
    const clock = testClock();
    const { next } = await processOn(clock);
    const api = await next();
    const kept = async () => (await api.deps.store.get("meta", "clock"))!;
    for (let second = 0; second < 7200; second += 30) {
      await api.cycle();
      clock.advance(30 * SECOND);
    }
    expect((await kept()).value.sightings.length).toBeLessThanOrEqual(12);
    expect((await kept()).revision).toBe(120);
  });
});

describe("looks at the clock", () => {
  const look = (minute: number, at = minute): ClockSample => ({ at: at * MINUTE, elapsed: minute * MINUTE });
  const all = (...looks: ClockSample[]): readonly ClockSample[] =>
    looks.reduce(addClockSample, [] as readonly ClockSample[]);

  test.each([
    ["none before", [], look(0), -Infinity],
    ["one too near", [look(0)], look(9.99), -Infinity],
    ["one far enough", [look(0)], look(10), 0],
    ["several", [look(0), look(5), look(9)], look(15), 5],
    ["a jump forward that is near", [look(0), look(14, 999)], look(15, 1000), 0],
    ["a jump forward and back", [look(0, 999), look(5)], look(15), 5],
    ["a jump forward that lasts", [look(0), look(10, 999)], look(20, 1009), 999],
    ["an end behind the beginning", [look(0, 50)], look(30, 3), 3],
  ] as [string, ClockSample[], ClockSample, number][])("%s", (_, before, now, minute) => {
    expect(computeCertainTime(all(...before), now)).toBe(minute * MINUTE);
  });
});
