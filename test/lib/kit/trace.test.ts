/** W3C trace context: the header, new traces, and the storage of the current trace. */
import { AsyncLocalStorage } from "node:async_hooks";
import { expect, test, vi } from "vitest";
import { currentTrace, newTrace, parseTraceparent, runInTrace, traceHeaders } from "../../../lib/kit/trace.ts";

const TRACE = "4bf92f3577b34da6a3ce929d0e0e4736";
const SPAN = "00f067aa0ba902b7";

test.each([
  ["a sampled trace", `00-${TRACE}-${SPAN}-01`, 1],
  ["a trace that is not sampled", `00-${TRACE}-${SPAN}-00`, 0],
  ["unknown flags", `00-${TRACE}-${SPAN}-ff`, 1],
  ["a later version", `cc-${TRACE}-${SPAN}-01`, 1],
  ["a later version with more fields", `cc-${TRACE}-${SPAN}-01-what-comes`, 1],
])("a header with %s continues the trace with a new span", (_, header, flags) => {
  const trace = parseTraceparent(header)!;
  expect(trace).toEqual({ traceId: TRACE, spanId: expect.stringMatching(/^(?!0{16})[0-9a-f]{16}$/), flags });
  expect(trace.spanId).not.toBe(SPAN);
  expect(traceHeaders(trace)).toEqual({ traceparent: `00-${TRACE}-${trace.spanId}-0${flags}` });
});

test.each([
  undefined,
  null,
  "",
  `00-${TRACE.toUpperCase()}-${SPAN}-01`,
  `00-${"0".repeat(32)}-${SPAN}-01`,
  `00-${TRACE}-${"0".repeat(16)}-01`,
  `00-${TRACE}-${SPAN}-1`,
  `00-${TRACE}-${SPAN}-01-more`,
  `00-${TRACE}-${SPAN}-01 `,
  `cc-${TRACE}-${SPAN}-01more`,
  `ff-${TRACE}-${SPAN}-01`,
  `00-${TRACE}-${SPAN}-01, 00-${TRACE}-${SPAN}-01`,
])("the header %s is ignored", (header) => expect(parseTraceparent(header)).toBeUndefined());

test("without a header each trace is new and sampled", () => {
  const [first, second] = [newTrace(), newTrace()];
  expect(parseTraceparent(traceHeaders(first).traceparent)).toMatchObject({ traceId: first.traceId, flags: 1 });
  expect(first.traceId).not.toBe(second.traceId);
});

test("the storage is disabled when the last trace has returned, thrown or rejected", async () => {
  const disable = vi.spyOn(AsyncLocalStorage.prototype, "disable");
  const ends: (() => void)[] = [];
  const read = async () => {
    await new Promise<void>((resolve) => ends.push(resolve));
    return currentTrace()?.traceId;
  };
  const [first, second] = [newTrace(), newTrace()];
  const reads = [runInTrace(first, read), runInTrace(second, read)];
  ends[0]!();
  expect(await reads[0]).toBe(first.traceId);
  expect(disable).not.toHaveBeenCalled();
  ends[1]!();
  expect(await reads[1]).toBe(second.traceId);
  expect(disable).toHaveBeenCalledTimes(1);
  expect(runInTrace(first, () => currentTrace())).toBe(first);
  const fail = (): never => {
    throw new Error("no");
  };
  expect(() => runInTrace(first, fail)).toThrow("no");
  await expect(runInTrace(first, () => Promise.reject(new Error("later")))).rejects.toThrow("later");
  // The three traces since then ran one at a time, so the end of each disabled the storage.
  expect(disable).toHaveBeenCalledTimes(4);
  expect(currentTrace()).toBeUndefined();
  disable.mockRestore();
});
