/** Streams of the complete log: one at a time for each service, with priority for governed writes. */
import { afterEach, describe, expect, test, vi } from "vitest";
import { createSteppedStream, streamLog } from "../../../lib/http/read_stream.ts";
import { letWritesPass, runWithPriority } from "../../../lib/http/write_priority.ts";
import { makeBarrier } from "../../support/scripted_adapter.ts";
import { service } from "../../support/service.ts";

afterEach(() => void vi.useRealTimers());

async function* yieldNumbers(count: number): AsyncGenerator<string, undefined> {
  for (let number = 0; number < count; number++) yield `${number}\n`;
  return undefined;
}

const readText = (stream: ReadableStream<Uint8Array>): Promise<string> => new Response(stream).text();

describe("a stream of the complete log", () => {
  test("yields to the event loop before each chunk", async () => {
    let turns = 0;
    let isComplete = false;
    const countTurn = (): void => {
      turns++;
      if (!isComplete) setImmediate(countTurn);
    };
    setImmediate(countTurn);
    const text = await readText(streamLog({}, () => yieldNumbers(100)));
    isComplete = true;
    expect(text.split("\n")).toHaveLength(101);
    expect(turns).toBeGreaterThanOrEqual(100);
  });

  test("makes another stream of the same service 503 reads_busy until it has ended", async () => {
    const deps = {};
    const first = streamLog(deps, () => yieldNumbers(3));
    expect(() => streamLog(deps, () => yieldNumbers(3))).toThrow(expect.objectContaining({ code: "reads_busy" }));
    // Other deps are another service.
    expect(await readText(streamLog({}, () => yieldNumbers(1)))).toBe("0\n");
    await readText(first);
    // A stream that was cancelled or that failed has ended too.
    await streamLog(deps, () => yieldNumbers(3)).cancel();
    const failing = streamLog(deps, async function* () {
      yield* yieldNumbers(1);
      throw new Error("the store is closed");
    });
    await expect(readText(failing)).rejects.toThrow("the store is closed");
    expect(await readText(streamLog(deps, () => yieldNumbers(1)))).toBe("0\n");
  });

  test("waits for a governed write that is under way", async () => {
    const deps = {};
    let finish: (() => void) | undefined;
    const write = runWithPriority(deps, () => new Promise<void>((resolve) => (finish = resolve)));
    const order: string[] = [];
    const read = readText(streamLog(deps, () => yieldNumbers(2))).then(() => order.push("read"));
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
    const awaitedWrites = new WeakSet();
    const firstWait = letWritesPass(deps, awaitedWrites);
    await vi.advanceTimersByTimeAsync(1000);
    await firstWait;
    // The same write is not awaited again.
    await letWritesPass(deps, awaitedWrites);
  });

  test("is ended when its consumer reads nothing for 30 s", async () => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    let endCalls = 0;
    let isClosed = false;
    async function* chunks(): AsyncGenerator<string, undefined> {
      try {
        yield* yieldNumbers(10);
      } finally {
        isClosed = true;
      }
      return undefined;
    }
    const reader = createSteppedStream(chunks(), { before: async () => {}, end: () => void endCalls++ }).getReader();
    await reader.read();
    await vi.advanceTimersByTimeAsync(29_999);
    await reader.read();
    await vi.advanceTimersByTimeAsync(29_999);
    expect(endCalls).toBe(0);
    await vi.advanceTimersByTimeAsync(1);
    expect([endCalls, isClosed]).toEqual([1, true]);
    await expect(reader.read()).rejects.toThrow("the reader took nothing for 30 s");
  });
});

test.each([
  "pack?from=2026-01-01T00:00:00Z",
  "pack?from=2026-01-01T00:00:00Z&format=html",
  "export",
  "audit?format=csv",
  "audit?format=jsonl",
])("during %s a second stream is 503; a page and a write succeed", async (path) => {
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

test("a stream whose client disconnects during a chunk ends once", async () => {
  const deps = {};
  const [isProducing, mayProduce] = [makeBarrier(), makeBarrier()];
  const slow = async function* (): AsyncGenerator<string> {
    isProducing.open();
    await mayProduce.opened;
    yield "a";
  };
  const first = streamLog(deps, slow).getReader();
  const reading = first.read();
  await isProducing.opened;
  const canceled = first.cancel();
  const second = streamLog(deps, slow).getReader();
  mayProduce.open();
  await Promise.all([reading, canceled, second.read()]);
  expect(() => streamLog(deps, slow)).toThrow(/another request reads the complete log/);
});
