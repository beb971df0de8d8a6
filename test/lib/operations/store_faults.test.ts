/** Faults that a store reports: readiness, metrics and capabilities show them. */
import { expect, test } from "vitest";
import type { StoreFaults } from "../../../lib/store/faults.ts";
import { memoryStore } from "../../../lib/store/memory.ts";
import { formatBusinessMetrics } from "../../../lib/operations/business_metrics.ts";
import { runCycle } from "../../../lib/operations/cycle.ts";
import { openDeps } from "../../support/deps.ts";
import { makeService } from "../../support/service.ts";

const NO_FAULTS: StoreFaults = { writes: null, damaged: [], lost: null, compaction: null, free_bytes: 5e9 };

/** Opens a service on a store that reports the faults of the test. */
async function openWithFaults() {
  let faults = NO_FAULTS;
  let inspections = 0;
  const store = { ...memoryStore(), faults: () => faults, inspect: async () => void inspections++ };
  const deps = await openDeps({ store });
  const api = makeService(deps);
  const capability = async (name: string) =>
    (await api.get("/api/capabilities")).body.capabilities.find(({ id }: { id: string }) => id === name);
  const metric = async (name: string) =>
    new RegExp(`^countersign_${name} (\\S+)$`, "m").exec(await formatBusinessMetrics(deps))?.[1];
  return {
    api,
    deps,
    capability,
    metric,
    inspections: () => inspections,
    report: (reported: Partial<StoreFaults>) => void (faults = { ...NO_FAULTS, ...reported }),
  };
}

test("a damaged file makes the service unready, the chain's metric 0 and a capability failing", async () => {
  const { api, capability, metric, report } = await openWithFaults();
  expect((await api.get("/readyz")).body.checks.files).toEqual({ ok: true, reason: null });
  expect(await metric("audit_chain_valid")).toBe("1");
  const file = "state.json.journal.000002.jsonl";
  report({ damaged: [{ file, reason: `/data/${file} is gone. Copy it back.`, holds: "audit entries 7 to 9" }] });
  const { status, body, text } = await api.get("/readyz");
  expect([status, body.checks.files.ok]).toEqual([503, false]);
  expect(body.checks.files.reason).toContain(`${file} is missing or damaged; it holds audit entries 7 to 9`);
  expect(text).not.toContain("/data/");
  expect(await metric("audit_chain_valid")).toBe("0");
  expect(await capability("store_files")).toMatchObject({
    status: "failing",
    reason: `/data/${file} is gone. Copy it back. It holds audit entries 7 to 9.`,
  });
  expect((await api.get("/api/product/audit")).status).toBe(200);
  report({});
  expect((await api.get("/readyz")).status).toBe(200);
});

test("a failed compaction and the free space are in the metrics", async () => {
  const { capability, metric, report } = await openWithFaults();
  expect([await metric("compaction_failed"), await metric("store_free_bytes")]).toEqual(["0", "5000000000"]);
  expect((await capability("store_compaction")).status).toBe("available");
  report({ compaction: "ENOSPC: no space left", free_bytes: 4096 });
  expect([await metric("compaction_failed"), await metric("store_free_bytes")]).toEqual(["1", "4096"]);
  expect(await capability("store_compaction")).toMatchObject({
    status: "failing",
    reason: expect.stringContaining("ENOSPC") as string,
  });
});

test("a complete cycle inspects the store, a quick one does not", async () => {
  const { deps, inspections } = await openWithFaults();
  const before = inspections();
  await runCycle(deps);
  await runCycle(deps, { quick: true });
  expect(inspections()).toBe(before + 1);
});
