/** Time limits of adapter calls: 10 s for each call, measured with fake timers. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Change } from "../../../../lib/changes/rules/change.ts";
import { runOnHost } from "../../../../lib/changes/operations/run_adapter.ts";
import { runWithTimeLimit } from "../../../../lib/kit/time_limit.ts";
import { hangs, scriptedAdapter, type Script } from "../../../support/scripted_adapter.ts";

const change = { change_id: "chg_1" } as Change;

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** Awaits a promise while the fake time advances; returns the result and the seconds that it took. */
async function measureSeconds<T>(run: Promise<T>): Promise<[T, seconds: number]> {
  const start = Date.now();
  let end = start;
  const finished = run.finally(() => (end = Date.now()));
  finished.catch(() => undefined);
  await vi.advanceTimersByTimeAsync(120_000);
  return [await finished, (end - start) / 1000];
}

test("no timer is left after a step has ended", async () => {
  expect(await runWithTimeLimit(async () => "done")).toBe("done");
  await expect(runWithTimeLimit(() => Promise.reject(new Error("no")))).rejects.toThrow("no");
  expect(vi.getTimerCount()).toBe(0);
});

test("a step is aborted at its time limit, and its result is not awaited", async () => {
  let aborted = false;
  const step = runWithTimeLimit((signal) => {
    signal.addEventListener("abort", () => (aborted = true));
    return new Promise(() => {});
  }, 2000);
  const failure = expect(step).rejects.toThrow("no answer within 2 s");
  await vi.advanceTimersByTimeAsync(1999);
  expect(aborted).toBe(false);
  await vi.advanceTimersByTimeAsync(1);
  expect(aborted).toBe(true);
  await failure;
});

// 30 seconds: verify is called after the apply, before the rollback of the apply, and after it.
test.each([
  ["validate", "apply", "validate", "absent", 10],
  ["apply", "apply", "apply", "unknown", 10],
  ["verify", "apply", "verify", "unknown", 30],
  ["rollback", "rollback", "rollback", "unknown", 10],
  ["verify", "rollback", "verify", "unknown", 10],
] as const)(
  "a %s that never answers makes the %s fail at the time limit",
  async (silentMethod, operation, stage, host, seconds) => {
    const adapter = scriptedAdapter();
    if (operation === "rollback") adapter.host.set(change.change_id, "applied");
    adapter.on(silentMethod, hangs);
    const [result, duration] = await measureSeconds(runOnHost(adapter, [change], operation));
    expect(result).toMatchObject({ ok: false, failure: { stage, host } });
    expect(duration).toBe(seconds);
  },
);

test("an apply that timed out is neither verified nor rolled back", async () => {
  const adapter = scriptedAdapter();
  const rejectsOnAbort: Script = (_, signal) =>
    new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
  for (const script of [hangs, rejectsOnAbort]) {
    adapter.calls.length = 0;
    adapter.on("apply", script);
    const [result] = await measureSeconds(runOnHost(adapter, [change], "apply"));
    const failure = { stage: "apply", host: "unknown", unanswered: true, error: "no answer within 10 s" };
    expect(result).toMatchObject({ ok: false, failure });
    expect(adapter.calls).toEqual(["validate", "apply"]);
  }
});

test("an adapter that throws before it returns a promise makes the operation fail", async () => {
  const adapter = {
    ...scriptedAdapter(),
    apply: () => {
      throw new Error("at once");
    },
  };
  expect((await measureSeconds(runOnHost(adapter, [change], "apply")))[0]).toMatchObject({
    ok: false,
    failure: { error: "at once" },
  });
});

test("the error text is well-formed and limited in length for any thrown value", async () => {
  for (const thrown of [new Error(`\ud800${"x".repeat(5000)}`), "text", undefined]) {
    const adapter = scriptedAdapter();
    adapter.on("apply", () => Promise.reject(thrown));
    const [result] = await measureSeconds(runOnHost(adapter, [change], "apply"));
    const { error } = (result as { failure: { error: string } }).failure;
    expect(error.isWellFormed()).toBe(true);
    expect(error.length).toBeLessThanOrEqual(1000);
  }
});
