/** Limits of the calls to a model: concurrent calls, waiting calls, and calls in an hour. */
import { expect, test } from "vitest";
import { limitLlm } from "../../../lib/llm/bounds.ts";
import type { LlmRequest } from "../../../lib/llm/port.ts";
import { testClock } from "../../support/clock.ts";

const HOUR = 3_600_000;

/** Creates a limited model whose calls end when the test calls a function of `answers` or `failures`; it ignores aborts. */
function createControlledLlm(options: Partial<Parameters<typeof limitLlm>[1]> = {}) {
  const answers: (() => void)[] = [];
  const failures: (() => void)[] = [];
  const clock = testClock();
  const llm = limitLlm(
    {
      model: "m1",
      complete: () =>
        new Promise((resolve, reject) => {
          answers.push(() => resolve({ text: "hi", toolCalls: [] }));
          failures.push(() => reject(new Error("no")));
        }),
    },
    { clock, ...options },
  );
  /** Calls the model; resolves with its text or with the message of the error. */
  const call = (signal = new AbortController().signal) => {
    const request: LlmRequest = { system: "", messages: [], tools: [], signal };
    return llm.complete(request).then(
      ({ text }) => text,
      (error: Error) => error.message,
    );
  };
  return { llm, call, answers, failures, clock };
}

/** Resolves after all work that does not wait for the test. */
const waitForWork = () => new Promise((resolve) => setImmediate(resolve));

test("four calls run, sixteen wait, and further callers get an error immediately", async () => {
  const { call, answers, llm } = createControlledLlm();
  const calls = Array.from({ length: 21 }, () => call());
  expect(await calls[20]).toBe("too many ask it at once");
  expect(answers).toHaveLength(4);
  for (let at = 0; at < 20; at++) {
    answers[at]!();
    await waitForWork();
    expect(answers).toHaveLength(Math.min(at + 5, 20));
  }
  expect(await Promise.all(calls.slice(0, 20))).toEqual(Array(20).fill("hi"));
  expect(llm.usage!()).toEqual({ calls: 20, under_way: 0, refused: { busy: 1, budget: 0 }, spent: null });
});

test("a failed call frees its slot", async () => {
  const { call, answers, failures } = createControlledLlm({ limits: { maxConcurrent: 1 } });
  const [first, second] = [call(), call()];
  await waitForWork();
  failures[0]!();
  expect(await first).toBe("no");
  await waitForWork();
  answers[1]!();
  expect(await second).toBe("hi");
});

test("an abandoned call frees its slot although the model continues", async () => {
  const { call, answers, llm } = createControlledLlm({ limits: { maxConcurrent: 1 } });
  const abandon = new AbortController();
  const [first, second] = [call(abandon.signal), call()];
  await waitForWork();
  expect(answers).toHaveLength(1);
  abandon.abort();
  expect(await first).toBe("no answer in time");
  await waitForWork();
  expect(answers).toHaveLength(2);
  answers[1]!();
  expect(await second).toBe("hi");
  expect(llm.usage!().under_way).toBe(0);
});

test.each(Array.from({ length: 20 }, (_, turns) => turns))(
  "a call that is abandoned %i turns after it got a slot frees the slot",
  async (turns) => {
    const { call, answers, llm } = createControlledLlm({ limits: { maxConcurrent: 1 } });
    const abandon = new AbortController();
    const calls = [call(), call(abandon.signal), call()];
    await waitForWork();
    answers[0]!();
    for (let turn = 0; turn < turns; turn++) await Promise.resolve();
    abandon.abort();
    await waitForWork();
    // The model received the third call last, also if it received the abandoned one before, which nobody answers.
    answers.at(-1)!();
    expect(await Promise.all(calls)).toEqual(["hi", "no answer in time", "hi"]);
    expect(llm.usage!()).toMatchObject({ under_way: 0 });
  },
);

test("a caller that stops waiting leaves the queue, and an aborted caller takes no slot", async () => {
  const { call, answers, llm } = createControlledLlm({ limits: { maxConcurrent: 1, maxWaiting: 1 } });
  const abandon = new AbortController();
  const [first, second] = [call(), call(abandon.signal)];
  await waitForWork();
  abandon.abort();
  expect(await second).toBe("no answer in time");
  const third = call();
  answers[0]!();
  expect(await first).toBe("hi");
  await waitForWork();
  answers[1]!();
  expect(await third).toBe("hi");
  expect(await call(abandon.signal)).toBe("no answer in time");
  expect(llm.usage!()).toMatchObject({ calls: 2, under_way: 0 });
});

test("a caller waits a limited time for a slot", async () => {
  const { call, answers, llm } = createControlledLlm({ limits: { maxConcurrent: 1, waitMs: 1 } });
  const first = call();
  await waitForWork();
  expect(await call()).toBe("too many ask it at once");
  answers[0]!();
  expect(await first).toBe("hi");
  expect(llm.usage!()).toMatchObject({ calls: 1, under_way: 0, refused: { busy: 1 } });
});

test("the number of calls in any hour is limited, and the error says when the next may start", async () => {
  const { call, answers, clock, llm } = createControlledLlm({ callsPerHour: 3 });
  const start = clock.now();
  const callAndAnswer = async () => {
    const result = call();
    await waitForWork();
    answers.at(-1)?.();
    return result;
  };
  expect(await callAndAnswer()).toBe("hi");
  clock.advance(HOUR / 2);
  expect([await callAndAnswer(), await callAndAnswer()]).toEqual(["hi", "hi"]);
  const nextCallAt = new Date(start + HOUR).toISOString();
  const spent = `its calls of an hour (3) are used up; it is asked again from ${nextCallAt}`;
  expect(await callAndAnswer()).toBe(spent);
  expect(llm.usage!()).toEqual({ calls: 3, under_way: 0, refused: { busy: 0, budget: 1 }, spent });
  // An hour after the first call only this one no longer counts, so one more call may start.
  clock.advance(HOUR / 2);
  expect(llm.usage!().spent).toBeNull();
  expect(await callAndAnswer()).toBe("hi");
  expect(await callAndAnswer()).toMatch(/^its calls of an hour \(3\)/);
});

test("a waiting call does not start after the hourly limit is reached", async () => {
  const { call, answers } = createControlledLlm({ callsPerHour: 2, limits: { maxConcurrent: 1 } });
  const calls = [call(), call(), call(), call()];
  await waitForWork();
  answers[0]!();
  await waitForWork();
  answers[1]!();
  const results = await Promise.all(calls);
  expect(results.slice(0, 2)).toEqual(["hi", "hi"]);
  for (const result of results.slice(2)) expect(result).toMatch(/^its calls of an hour \(2\)/);
  expect(answers).toHaveLength(2);
});
