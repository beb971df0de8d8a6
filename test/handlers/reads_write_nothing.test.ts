/** Sends every GET to a service whose store rejects writes: only the two that probe the store write more than projections. */
import { expect, test } from "vitest";
import { app } from "../../handlers/index.ts";
import { sampleClock } from "../../lib/changes/confirmed_time.ts";
import { PROJECTIONS } from "../../lib/projections/projector.ts";
import { memoryStore } from "../../lib/store/memory.ts";
import type { Store } from "../../lib/store/store.ts";
import { client } from "../support/client.ts";
import { DAY, MINUTE, testClock } from "../support/clock.ts";
import { openDeps } from "../support/deps.ts";
import { GET_PATHS } from "../support/get_paths.ts";

/**
 * GETs that write, with the collection. A readiness probe writes a record of its own if no cycle wrote one recently, since a
 * store that can be read need not be writable.
 */
const PROBES: Readonly<Record<string, string>> = {
  "/api/metrics": "meta",
  "/readyz": "meta",
};

/**
 * Collections that a read may have projected before it answers, so that the answer contains the newest entries. `cursors` and
 * `sightings` are those of the projector itself. If the write is rejected, the read answers from the existing rows and reports
 * `behind`.
 */
const PROJECTED: ReadonlySet<string> = new Set([
  "cursors",
  "sightings",
  ...PROJECTIONS.flatMap(({ collections }) => collections),
]);

/** Returns a store whose transactions cannot write, and the list of collections that they tried to write. */
function readOnly(store: Store): { store: Store; tried: string[] } {
  const tried: string[] = [];
  const reject = (collection: string): never => {
    tried.push(collection);
    throw new Error(`a read wrote ${collection}`);
  };
  return {
    tried,
    store: {
      ...store,
      expunge: async () => reject("everything"),
      transact: (decide) => store.transact((tx) => decide({ ...tx, put: reject, delete: reject })),
    },
  };
}

test("only /api/metrics and /readyz write more than projections, even with much overdue work", async () => {
  const clock = testClock();
  const durable = memoryStore();
  const policy = {
    consent_ttl_hours: 1,
    approval_ttl_hours: 1,
    break_glass: { approvers: ["bo"], review_hours: 1 },
  };
  const { bring, post, propose } = client(app(await openDeps({ store: durable, clock, intent: { policy } })));
  const { change_id: urgent } = await propose({ target: "ui.urgent" });
  await post("approve", { change_id: urgent, approver: "bo", emergency: true, note: "down" });
  await post("apply", { change_id: urgent });
  let newest = "";
  for (const status of ["applied", "approved", "pending_consent"] as const)
    newest = await bring(status, { target: `ui.${status}`, value: "1", kpi: "csat", expected_delta_k: 1 });
  await post("kpi", { csat: 4 });

  const { store, tried } = readOnly(durable);
  const deps = await openDeps({ store, clock, intent: { policy } });
  // Time limits end only when two clock samples at least ten minutes apart have confirmed it.
  clock.advance(60 * DAY);
  await sampleClock(deps);
  clock.advance(11 * MINUTE);
  const { get } = client(app(deps));
  const found: Record<string, string> = {};
  for (const path of GET_PATHS) {
    tried.length = 0;
    const { status } = await get(path.replace("CHANGE", newest));
    const unexpected = tried.filter((collection) => !PROJECTED.has(collection));
    if (unexpected.length > 0) found[path] = unexpected.join(", ");
    else expect([200, 404], `${path}: ${status}`).toContain(status);
  }
  expect(found).toEqual(PROBES);
  // No projection could be written, so there are no values yet.
  const { body } = await get("/api/product/values");
  expect([body.values, body.as_of, body.behind]).toEqual([[], 0, expect.any(Number)]);
  expect(body.behind).toBeGreaterThan(10);
});
