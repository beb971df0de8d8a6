import { expect, test } from "vitest";
import { limitLlm } from "../../../lib/llm/bounds.ts";
import type { LlmRequest } from "../../../lib/llm/port.ts";
import { testClock } from "../../support/clock.ts";

const HOUR = 3_600_000;

/** A model that answers when it is asked to, and whatever becomes of the signal. */
function held(over: Partial<Parameters<typeof limitLlm>[1]> = {}) {
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
    { clock, ...over },
  );
  const ask = (signal = new AbortController().signal) => {
    const request: LlmRequest = { system: "", messages: [], tools: [], signal };
    return llm.complete(request).then(
      ({ text }) => text,
      (error: Error) => error.message,
    );
  };
  return { llm, ask, answers, failures, clock };
}

/** Lets everything run that waits for nothing but its turn. */
const settled = () => new Promise((resolve) => setImmediate(resolve));

test("four calls run, sixteen wait, and further callers get an error immediately", async () => {
  const { ask, answers, llm } = held();
  const asked = Array.from({ length: 21 }, () => ask());
  expect(await asked[20]).toBe("too many ask it at once");
  expect(answers).toHaveLength(4);
  for (let at = 0; at < 20; at++) {
    answers[at]!();
    await settled();
    expect(answers).toHaveLength(Math.min(at + 5, 20));
  }
  expect(await Promise.all(asked.slice(0, 20))).toEqual(Array(20).fill("hi"));
  expect(llm.usage!()).toEqual({ calls: 20, under_way: 0, refused: { busy: 1, budget: 0 }, spent: null });
});

test("a failed call frees its slot", async () => {
  const { ask, answers, failures } = held({ limits: { maxConcurrent: 1 } });
  const [first, second] = [ask(), ask()];
  await settled();
  failures[0]!();
  expect(await first).toBe("no");
  await settled();
  answers[1]!();
  expect(await second).toBe("hi");
});

test("an abandoned call frees its slot although the model continues", async () => {
  const { ask, answers, llm } = held({ limits: { maxConcurrent: 1 } });
  const stopping = new AbortController();
  const [first, second] = [ask(stopping.signal), ask()];
  await settled();
  expect(answers).toHaveLength(1);
  stopping.abort();
  expect(await first).toBe("no answer in time");
  await settled();
  expect(answers).toHaveLength(2);
  answers[1]!();
  expect(await second).toBe("hi");
  expect(llm.usage!().under_way).toBe(0);
});

test.each(Array.from({ length: 20 }, (_, turns) => turns))(
  "a call that is abandoned %i turns after it got a slot frees the slot",
  async (turns) => {
    const { ask, answers, llm } = held({ limits: { maxConcurrent: 1 } });
    const stopping = new AbortController();
    const calls = [ask(), ask(stopping.signal), ask()];
    await settled();
    answers[0]!();
    for (let turn = 0; turn < turns; turn++) await Promise.resolve();
    stopping.abort();
    await settled();
    answers.at(-1)!();
    expect(await Promise.all(calls)).toEqual(["hi", "no answer in time", "hi"]);
    expect(llm.usage!()).toMatchObject({ under_way: 0 });
  },
);

test("a caller that stops waiting leaves the queue, and an aborted caller takes no slot", async () => {
  const { ask, answers, llm } = held({ limits: { maxConcurrent: 1, maxWaiting: 1 } });
  const stopping = new AbortController();
  const [first, second] = [ask(), ask(stopping.signal)];
  await settled();
  stopping.abort();
  expect(await second).toBe("no answer in time");
  const third = ask();
  answers[0]!();
  expect(await first).toBe("hi");
  await settled();
  answers[1]!();
  expect(await third).toBe("hi");
  expect(await ask(stopping.signal)).toBe("no answer in time");
  expect(llm.usage!()).toMatchObject({ calls: 2, under_way: 0 });
});

test("a caller waits a limited time for a slot", async () => {
  const { ask, answers, llm } = held({ limits: { maxConcurrent: 1, waitMs: 1 } });
  const first = ask();
  await settled();
  expect(await ask()).toBe("too many ask it at once");
  answers[0]!();
  expect(await first).toBe("hi");
  expect(llm.usage!()).toMatchObject({ calls: 1, under_way: 0, refused: { busy: 1 } });
});

test("the number of calls in any hour is limited, and the error says when the next may start", async () => {
  const { ask, answers, clock, llm } = held({ callsPerHour: 3 });
  const begun = clock.now();
  const answered = async () => {
    const asked = ask();
    await settled();
    answers.at(-1)?.();
    return asked;
  };
  expect(await answered()).toBe("hi");
  clock.advance(HOUR / 2);
  expect([await answered(), await answered()]).toEqual(["hi", "hi"]);
  const again = new Date(begun + HOUR).toISOString();
  const spent = `its calls of an hour (3) are used up; it is asked again from ${again}`;
  expect(await answered()).toBe(spent);
  expect(llm.usage!()).toEqual({ calls: 3, under_way: 0, refused: { busy: 0, budget: 1 }, spent });
  clock.advance(HOUR / 2);
  expect(llm.usage!().spent).toBeNull();
  expect(await answered()).toBe("hi");
  expect(await answered()).toMatch(/^its calls of an hour \(3\)/);
});

test("a waiting call does not start after the hourly limit is reached", async () => {
  const { ask, answers } = held({ callsPerHour: 2, limits: { maxConcurrent: 1 } });
  const asked = [ask(), ask(), ask(), ask()];
  await settled();
  answers[0]!();
  await settled();
  answers[1]!();
  const reported = await Promise.all(asked);
  expect(reported.slice(0, 2)).toEqual(["hi", "hi"]);
  for (const one of reported.slice(2)) expect(one).toMatch(/^its calls of an hour \(2\)/);
  expect(answers).toHaveLength(2);
});
