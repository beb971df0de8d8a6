/** Failing projections do not delay or change governed actions. */
import { expect, test } from "vitest";
import { projectAll, PROJECTIONS } from "../../../lib/projections/projector.ts";
import { verifyProjections } from "../../../lib/projections/verify.ts";
import { memoryStore } from "../../../lib/store/memory.ts";
import type { Collection } from "../../../lib/store/store.ts";
import { brokenCollections } from "../../support/broken_collections.ts";
import { testClock } from "../../support/clock.ts";
import { events } from "../../support/client.ts";
import { countedIds } from "../../support/ids.ts";
import { openOperations, type OperationsService } from "../operations/operations_service.ts";
import { storedRows } from "./test_log.ts";

const INTENT = {
  kpis: { incident_rate: { baseline: 0.04, target: 0.01 } },
  policy: {
    minor: { kinds: ["config" as const], targets: ["ui.*"], max_affected_users: 50 },
    consent_ttl_hours: 24 * 30,
    forbidden_targets: ["billing.*"],
    guardrails: [{ kpi: "incident_rate", max_regression: 0.01, action: "rollback" as const }],
  },
};

/** The collections of all projections, and their cursors. */
const PROJECTION_COLLECTIONS: Collection[] = ["cursors", ...PROJECTIONS.flatMap(({ collections }) => collections)];

/** Runs a scenario that does not depend on projections. */
async function runScenario({ post, propose, must, bring, cycle, passHours, host }: OperationsService): Promise<void> {
  expect((await post("kpi", { incident_rate: 0.02 })).status).toBe(200);
  const applied = await bring("applied", { kpi: "incident_rate", rationale: "r" });
  await bring("denied", { target: "crm.a" });
  const { change_id: withdrawn } = await propose({ target: "crm.b", proposer: "pat" });
  await must("withdraw", withdrawn);
  const minor = await propose({ tier: "minor", affected_users: 1, risk: "low", reversible: true });
  expect(minor.status).toBe("approved");
  await must("apply", minor.change_id);
  await bring("rolled_back", { target: "crm.c" });
  expect((await post("propose", { tenant_id: "t1", kind: "config", target: "billing.x", summary: "s" })).status).toBe(
    403,
  );
  passHours(1);
  expect((await post("kpi", { incident_rate: 0.05 })).status).toBe(200);
  const report = await cycle();
  expect(report).toMatchObject({ rolled_back: applied, tick: 1 });
  // The host product loses the change, which the next cycle reports as drift.
  host.host.delete(minor.change_id);
  passHours(1);
  await cycle();
}

test("changes work while all projections fail, and projections catch up exactly afterwards", async () => {
  let isBroken = true;
  const base = memoryStore();
  const options = () => ({ intent: INTENT, clock: testClock(), ids: countedIds() });
  const service = await openOperations({
    ...options(),
    store: brokenCollections(base, PROJECTION_COLLECTIONS, () => isBroken),
  });
  await runScenario(service);
  const healthy = await openOperations(options());
  await runScenario(healthy);
  const entries = async ({ audit }: OperationsService) =>
    (await audit()).map(({ event_type, change_id, detail }) => ({ event_type, change_id, detail }));
  expect(events(await service.audit())).toContain("change_rolled_back");
  expect(events(await service.audit())).toContain("change_drifted");
  expect(await entries(service)).toEqual(await entries(healthy));

  // The capability and the failed step of a projection are named `follow_<projection>`.
  const capabilities = async () =>
    (await service.get("/api/capabilities")).body.capabilities.filter(({ id }: { id: string }) =>
      id.startsWith("follow_"),
    );
  const report = await service.cycle();
  expect(report.failed_steps).toEqual(expect.arrayContaining(PROJECTIONS.map(({ name }) => `follow_${name}`)));
  expect(await capabilities()).toEqual(
    PROJECTIONS.map(({ name }) =>
      expect.objectContaining({
        id: `follow_${name}`,
        status: "failing",
        reason: expect.stringContaining("cannot be used"),
      }),
    ),
  );
  isBroken = false;
  await projectAll(service.deps);
  await healthy.cycle();
  expect(await storedRows(base)).toEqual(await storedRows(healthy.deps.store));
  expect(await verifyProjections(service.deps)).toEqual({ tallies_match: true, mismatches: [] });
  expect(await capabilities()).toEqual(
    PROJECTIONS.map(({ name }) => ({
      id: `follow_${name}`,
      group: "follow",
      status: "available",
      reason: null,
      enable_with: null,
    })),
  );
});

test("reads use existing rows while new entries cannot be projected, and log the reason", async () => {
  const warnings: string[] = [];
  const log = { info: () => {}, warn: (message: string) => void warnings.push(message), error: () => {} };
  const base = memoryStore();
  let isBroken = false;
  const service = await openOperations({ log, store: brokenCollections(base, ["audit"], () => isBroken) });
  await service.bring("applied");
  await service.cycle();
  await service.propose();
  warnings.length = 0;
  isBroken = true;
  for (const path of ["/api/state", "/api/product/approvals", "/api/log", "/api/metrics"])
    expect((await service.get(path)).status, path).toBe(200);
  // The proposal came after the last cycle, so no row has it yet.
  expect((await service.get("/api/product/approvals")).body.pending).toEqual([]);
  expect(warnings).toContain("a projection failed");
  isBroken = false;
  expect((await service.get("/api/product/approvals")).body.pending).toHaveLength(1);
});
