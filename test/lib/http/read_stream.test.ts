import { afterEach, describe, expect, test, vi } from "vitest";
import { createSteppedStream, streamLog } from "../../../lib/http/read_stream.ts";
import { letWritesPass, runWithPriority } from "../../../lib/http/write_priority.ts";
import { service } from "../../support/service.ts";

afterEach(() => void vi.useRealTimers());

async function* numbers(count: number): AsyncGenerator<string, undefined> {
  for (let number = 0; number < count; number++) yield `${number}\n`;
  return undefined;
}

const textOf = (stream: ReadableStream<Uint8Array>): Promise<string> => new Response(stream).text();

describe("a stream of the whole log", () => {
  test("yields to the event loop before each chunk", async () => {
    let turns = 0;
    let isOver = false;
    const count = (): void => {
      turns++;
      if (!isOver) setImmediate(count);
    };
    setImmediate(count);
    const text = await textOf(streamLog({}, () => numbers(100)));
    isOver = true;
    expect(text.split("\n")).toHaveLength(101);
    expect(turns).toBeGreaterThanOrEqual(100);
  });

  test("is the only one of its service: another is 503 reads_busy until it has ended", async () => {
    const deps = {};
    const first = streamLog(deps, () => numbers(3));
    expect(() => streamLog(deps, () => numbers(3))).toThrow(expect.objectContaining({ code: "reads_busy" }));
    expect(await textOf(streamLog({}, () => numbers(1)))).toBe("0\n");
    await textOf(first);
    await streamLog(deps, () => numbers(3)).cancel();
    const failing = streamLog(deps, async function* () {
      yield* numbers(1);
      throw new Error("the store is gone");
    });
    await expect(textOf(failing)).rejects.toThrow("the store is gone");
    expect(await textOf(streamLog(deps, () => numbers(1)))).toBe("0\n");
  });

  test("waits once for each governed write that is under way", async () => {
    const deps = {};
    let finish: (() => void) | undefined;
    const write = runWithPriority(deps, () => new Promise<void>((resolve) => (finish = resolve)));
    const order: string[] = [];
    const read = textOf(streamLog(deps, () => numbers(2))).then(() => order.push("read"));
    for (let turn = 0; turn < 20; turn++) await new Promise((resolve) => setImmediate(resolve));
    order.push("write");
    finish!();
    await Promise.all([write, read]);
    expect(order).toEqual(["write", "read"]);
  });

  test("continues during a write that takes longer than a second", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    const deps = {};
    void runWithPriority(deps, () => new Promise<never>(() => {}));
    const passed = new WeakSet();
    const first = letWritesPass(deps, passed);
    await vi.advanceTimersByTimeAsync(1000);
    await first;
    await letWritesPass(deps, passed);
  });

  test("is ended for a reader that reads nothing for 30 s", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    let ended = 0;
    let closed = false;
    async function* pieces(): AsyncGenerator<string, undefined> {
      try {
        yield* numbers(10);
      } finally {
        closed = true;
      }
      return undefined;
    }
    const reader = createSteppedStream(pieces(), { before: async () => {}, end: () => void ended++ }).getReader();
    await reader.read();
    await vi.advanceTimersByTimeAsync(29_999);
    await reader.read();
    await vi.advanceTimersByTimeAsync(29_999);
    expect(ended).toBe(0);
    await vi.advanceTimersByTimeAsync(1);
    expect([ended, closed]).toEqual([1, true]);
    await expect(reader.read()).rejects.toThrow("the reader took nothing for 30 s");
  });
});

test.each([
  "pack?from=2026-01-01T00:00:00Z",
  "pack?from=2026-01-01T00:00:00Z&format=html",
  "export",
  "audit?format=csv",
  "audit?format=jsonl",
])("%s: a second reader is 503 meanwhile, a page and a write are answered", async (path) => {
  const api = await service();
  const change_id = await api.bring("pending_consent");
  const { app } = await import("../../../handlers/index.ts");
  const first = await app(api.deps)(new Request(`${api.origin}/api/product/${path}`));
  const second = await api.get("export");
  expect([second.status, second.body.code, second.headers.get("retry-after")]).toEqual([503, "reads_busy", "5"]);
  expect((await api.get("audit")).status).toBe(200);
  expect((await api.act("approve", change_id)).status).toBe(200);
  await first.body!.cancel();
  expect((await api.get("export")).status).toBe(200);
});
