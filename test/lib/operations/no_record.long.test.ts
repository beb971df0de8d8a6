/** Changes whose records were replaced by invalid ones: no read fails, and every step of a cycle runs. */
import { expect, test } from "vitest";
import { app, endpoints } from "../../../handlers/index.ts";
import type { Reachable } from "../../support/client.ts";
import { HOUR } from "../../support/clock.ts";
import { get } from "../../support/requests.ts";
import { scriptedAdapter } from "../../support/scripted_adapter.ts";
import { filesInMemory, openOperations } from "./operations_service.ts";

const INVALID_RECORDS = [
  null,
  5,
  {},
  { change: null, audit: [] },
  { change: {}, audit: [1] },
  { change: { change_id: 1 }, audit: "a" },
];
const STATUSES = ["pending_consent", "approved", "applied", "rolled_back", "denied"] satisfies Reachable[];
const INTENT = {
  kpis: { csat: { baseline: 1, target: 2 } },
  policy: { consent_ttl_hours: 48, guardrails: [{ kpi: "csat", max_regression: 0.1, action: "rollback" as const }] },
};

test.each(INVALID_RECORDS)("reads and cycles work with the record %j", async (invalid) => {
  const service = await openOperations({ adapter: scriptedAdapter(), evolved: filesInMemory(), intent: INTENT });
  await service.post("kpi", { csat: 2 });
  const ids: string[] = [];
  for (const status of STATUSES) {
    ids.push(await service.bring(status, { target: `ui.${status}`, kpi: "csat" }));
    await service.bring(status, { target: `other.${status}`, kpi: "csat" });
  }
  const { deps } = service;
  await deps.store.transact((tx) => {
    for (const id of ids) tx.put("changes", id, invalid as never);
  });
  // The fall of csat trips the guardrail.
  await service.post("kpi", { csat: 1 });
  for (let cycle = 0; cycle < 3; cycle++) {
    expect((await service.cycle()).failed_steps).toEqual([]);
    deps.clock.advance(30 * HOUR);
  }
  const fetch = app(deps);
  const faults = [];
  // The response of /api/events is a stream without an end.
  for (const { method, path } of endpoints.filter((one) => one.method === "GET" && one.path !== "/api/events"))
    for (const id of path.includes(":change_id") ? ids : [""]) {
      const response = await fetch(get(path.replace(":change_id", id)));
      if (response.status >= 500) faults.push([method, path, await response.text()]);
    }
  expect(faults).toEqual([]);
});
