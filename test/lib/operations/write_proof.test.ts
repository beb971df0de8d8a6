/** Readiness checks that the store accepts writes, and does not wait for a store that stalls. */
import { expect, test, vi } from "vitest";
import { memoryStore } from "../../../lib/store/memory.ts";
import { failingStore } from "../../support/failing_store.ts";
import { service } from "../../support/service.ts";

const ready = async (api: Awaited<ReturnType<typeof service>>) => {
  const { status, body } = await api.get("/readyz");
  return { status, store: body.checks.store };
};
const SECONDS = 1000;

test("a store that can be read and not written is not ready, also in the metric", async () => {
  const store = failingStore(memoryStore());
  const api = await service({ store });
  expect(await ready(api)).toMatchObject({ status: 200, store: { ok: true } });
  expect((await api.get("/api/metrics")).text).toContain("countersign_writes_taken 1");
  store.fail();
  // The last proof counts for ten seconds.
  api.deps.clock.advance(11 * SECONDS);
  expect(await ready(api)).toMatchObject({ status: 503, store: { ok: false } });
  expect((await api.get("/api/metrics")).text).toContain("countersign_writes_taken 0");
  // A failed proof is not used again, so the next one is made immediately.
  store.recover();
  expect(await ready(api)).toMatchObject({ status: 200, store: { ok: true } });
});

test("a write that failed since the last probe is found by the next readiness request", async () => {
  const store = failingStore(memoryStore());
  const api = await service({ store });
  expect((await ready(api)).status).toBe(200);
  store.fail();
  expect((await api.post("propose", { tenant_id: "t1", kind: "config", target: "a", summary: "b" })).status).toBe(503);
  expect((await ready(api)).status).toBe(503);
});

test("a store that stalls is reported after two seconds", async () => {
  const base = memoryStore();
  let isStalled = false;
  const api = await service({
    store: { ...base, transact: (decide) => (isStalled ? new Promise(() => undefined) : base.transact(decide)) },
  });
  isStalled = true;
  vi.useFakeTimers();
  try {
    const readiness = ready(api);
    await vi.advanceTimersByTimeAsync(2 * SECONDS);
    expect(await readiness).toMatchObject({ status: 503, store: { ok: false } });
  } finally {
    vi.useRealTimers();
  }
});

test("a read-only process writes nothing for the metric, and omits it", async () => {
  const base = memoryStore();
  let writes = 0;
  const counting: typeof base = { ...base, transact: (decide) => (writes++, base.transact(decide)) };
  const api = await service({ store: counting, readsOnly: true });
  // Writes of the opening do not count.
  writes = 0;
  const { status, text } = await api.get("/api/metrics");
  expect(status).toBe(200);
  expect(text).not.toContain("countersign_writes_taken");
  expect(text).toContain("countersign_audit_chain_valid 1");
  expect(writes).toBe(0);
});
