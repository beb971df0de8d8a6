/** Each step has 10 s. Time is the timers', not the tests'. */
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Change } from "../../../../lib/changes/rules/change.ts";
import { runOnHost } from "../../../../lib/changes/operations/run_adapter.ts";
import { runWithTimeLimit } from "../../../../lib/kit/time_limit.ts";
import { hangs, scriptedAdapter, type Script } from "../../../support/scripted_adapter.ts";

const change = { change_id: "chg_1" } as Change;

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** Runs while time passes; gives the result and how many seconds it took. */
async function elapsed<T>(run: Promise<T>): Promise<[T, seconds: number]> {
  const start = Date.now();
  let end = start;
  const done = run.finally(() => (end = Date.now()));
  done.catch(() => undefined);
  await vi.advanceTimersByTimeAsync(120_000);
  return [await done, (end - start) / 1000];
}

test("a step that answers leaves no timer behind", async () => {
  expect(await runWithTimeLimit(async () => "done")).toBe("done");
  await expect(runWithTimeLimit(() => Promise.reject(new Error("no")))).rejects.toThrow("no");
  expect(vi.getTimerCount()).toBe(0);
});

test("a step is asked to stop when its time is over, and is not waited for", async () => {
  let aborted = false;
  const late = runWithTimeLimit((signal) => {
    signal.addEventListener("abort", () => (aborted = true));
    return new Promise(() => {});
  }, 2000);
  const failure = expect(late).rejects.toThrow("no answer within 2 s");
  await vi.advanceTimersByTimeAsync(1999);
  expect(aborted).toBe(false);
  await vi.advanceTimersByTimeAsync(1);
  expect(aborted).toBe(true);
  await failure;
});

test.each([
  ["validate", "apply", "validate", "absent", 10],
  ["apply", "apply", "apply", "unknown", 10],
  ["verify", "apply", "verify", "unknown", 30],
  ["rollback", "rollback", "rollback", "unknown", 10],
  ["verify", "rollback", "verify", "unknown", 10],
] as const)("%s that never answers fails the %s after its time", async (silent, operation, stage, host, seconds) => {
  const adapter = scriptedAdapter();
  if (operation === "rollback") adapter.host.set(change.change_id, "applied");
  adapter.on(silent, hangs);
  const [result, took] = await elapsed(runOnHost(adapter, [change], operation));
  expect(result).toMatchObject({ ok: false, failure: { stage, host } });
  expect(took).toBe(seconds);
});

test("an apply that is late is neither looked after nor undone: it may still come", async () => {
  const adapter = scriptedAdapter();
  const obedient: Script = (_, signal) =>
    new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
  for (const late of [hangs, obedient]) {
    adapter.calls.length = 0;
    adapter.on("apply", late);
    const [result] = await elapsed(runOnHost(adapter, [change], "apply"));
    const failure = { stage: "apply", host: "unknown", unanswered: true, error: "no answer within 10 s" };
    expect(result).toMatchObject({ ok: false, failure });
    expect(adapter.calls).toEqual(["validate", "apply"]);
  }
});

test("an adapter that throws before it returns a promise fails like any other", async () => {
  const adapter = {
    ...scriptedAdapter(),
    apply: () => {
      throw new Error("at once");
    },
  };
  expect((await elapsed(runOnHost(adapter, [change], "apply")))[0]).toMatchObject({
    ok: false,
    failure: { error: "at once" },
  });
});

test("an error text is well-formed and bounded, whatever was thrown", async () => {
  for (const thrown of [new Error(`\ud800${"x".repeat(5000)}`), "text", undefined]) {
    const adapter = scriptedAdapter();
    adapter.on("apply", () => Promise.reject(thrown));
    const [result] = await elapsed(runOnHost(adapter, [change], "apply"));
    const { error } = (result as { failure: { error: string } }).failure;
    expect(error.isWellFormed()).toBe(true);
    expect(error.length).toBeLessThanOrEqual(1000);
  }
});
