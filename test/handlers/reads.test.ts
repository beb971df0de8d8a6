/** Tests that each GET makes a known number of store requests, however many changes there are. */
import { expect, test } from "vitest";
import { app } from "../../handlers/index.ts";
import { projectAll } from "../../lib/projections/projector.ts";
import { memoryStore } from "../../lib/store/memory.ts";
import { client } from "../support/client.ts";
import { SECOND, testClock } from "../support/clock.ts";
import { openDeps } from "../support/deps.ts";
import { rounds } from "../support/run_length.ts";
import { GET_PATHS } from "../support/get_paths.ts";
import { roundTrips, type Trips } from "../support/round_trips.ts";

const FEW = 40;
const MANY = rounds(120, 240, 400);

/**
 * Expected store requests of a GET with `FEW` pending, `FEW` approved and `FEW` applied changes. `steps` counts the requests
 * that wait for earlier ones.
 */
interface Costs {
  requests: number;
  steps: number;
  /** Maximum number of further requests with `MANY` changes of each status; only reads of many pages make any. */
  pages?: number;
  /** Maximum number of reads of the log's end; 1 if absent. */
  heads?: number;
}

const NOTHING: Costs = { requests: 0, steps: 0, heads: 0 };

/** Costs by path. A read that verifies reads the end of the log again afterwards, to report no mismatch that a write explains. */
const COSTS: Record<string, Costs> = {
  "/api/product/runtime": { requests: 7, steps: 3, pages: 1 },
  "/api/product/audit": { requests: 3, steps: 3 },
  "/api/product/audit/verify": { requests: 19, steps: 19, pages: 83, heads: 4 },
  "/api/product/audit/checkpoint": { requests: 10, steps: 10, pages: 10, heads: 5 },
  "/api/product/audit/proof?id=1": { requests: 9, steps: 9, heads: 2 },
  "/api/product/intent": { requests: 1, steps: 1, heads: 0 },
  "/api/product/approvals": { requests: 13, steps: 5, pages: 2 },
  "/api/product/approvals?limit=20": { requests: 13, steps: 5 },
  "/api/product/identity": NOTHING,
  "/api/product/co-evolution": { requests: 3, steps: 3, heads: 0 },
  "/api/product/changes/CHANGE": { requests: 17, steps: 7 },
  "/api/product/changes/CHANGE/certificate": { requests: 11, steps: 11, heads: 3 },
  "/api/product/outcomes": { requests: 6, steps: 4 },
  "/api/product/mandates": { requests: 2, steps: 2 },
  "/api/product/drift": { requests: 2, steps: 2, heads: 0 },
  "/api/product/policy?target=ui.banner&tenant_id=t1": NOTHING,
  "/api/product/values": { requests: 5, steps: 4, pages: 3 },
  "/api/product/export": { requests: 21, steps: 12, pages: 174, heads: 0 },
  "/api/product/pack?from=2026-01-01T00:00:00Z": { requests: 42, steps: 42, pages: 202, heads: 7 },
  [`/api/gate?target=deploy/42/production&tenant_id=t1&head=${"a".repeat(40)}`]: { requests: 1, steps: 1 },
  "/api/find": { requests: 4, steps: 4, pages: 2 },
  "/api/find/saved": { requests: 1, steps: 1 },
  "/api/inbox": { requests: 35, steps: 8 },
  "/api/inbox?person=ana": { requests: 37, steps: 8 },
  "/api/state": { requests: 20, steps: 5 },
  "/api/log": { requests: 6, steps: 2 },
  "/api/capabilities": { requests: 16, steps: 3 },
  "/api/metrics": { requests: 14, steps: 3 },
  "/api/chat/history": { requests: 1, steps: 1, heads: 0 },
  "/api/memory/search?q=banner": { requests: 17, steps: 10, pages: 16 },
  "/api/tasks": { requests: 3, steps: 3, heads: 0 },
  "/api/evolved": NOTHING,
  "/api/evolved/FILE.md": NOTHING,
  "/api/l1l5_trend": { requests: 5, steps: 3 },
  "/api/action/list": { requests: 2, steps: 1, heads: 0 },
  "/api/peers": NOTHING,
  "/api/whoami": NOTHING,
  "/livez": NOTHING,
  "/readyz": { requests: 3, steps: 3 },
  "/openapi.json": NOTHING,
  "/docs": NOTHING,
};

/** Counts the store requests of each GET in a new process, for a store with a number of changes of each status. */
async function countRequests(each: number): Promise<Map<string, Trips>> {
  const clock = testClock();
  const store = memoryStore();
  const intent = {
    kpis: { nps: { baseline: 30, target: 50 } },
    policy: { consent_ttl_hours: 720, approval_ttl_hours: 720 },
  };
  const { bring, post } = client(app(await openDeps({ store, clock, intent })));
  let newest = "";
  for (const status of ["applied", "approved", "pending_consent"] as const)
    for (let number = 0; number < each; number++, clock.advance(SECOND))
      newest = await bring(status, { target: `${status}.${number}`, kpi: "nps", expected_delta_k: 1, value: "1" });
  await post("kpi", { nps: 41 });
  const trips = roundTrips(store);
  const deps = await openDeps({ store: trips.store, clock, intent });
  await projectAll(deps);
  const { get } = client(app(deps));
  const tripsByPath = new Map<string, Trips>();
  for (const path of Object.keys(COSTS)) {
    trips.take();
    const { status } = await get(path.replace("CHANGE", newest));
    if (status !== 200 && !path.startsWith("/api/evolved/")) throw new Error(`${path}: ${status}`);
    tripsByPath.set(path, trips.take());
  }
  return tripsByPath;
}

test("the table of costs has every GET", () => {
  expect(GET_PATHS.filter((path) => !(path in COSTS))).toEqual([]);
});

test("a GET makes the store requests of its row, with many changes at most `pages` more", async () => {
  const [few, many] = [await countRequests(FEW), await countRequests(MANY)];
  for (const [path, { requests, steps, pages = 0, heads = 1 }] of Object.entries(COSTS)) {
    const withFew = few.get(path)!;
    const withMany = many.get(path)!;
    expect([withFew.requests, withFew.steps], `${path}: ${withFew.names.join(", ")}`).toEqual([requests, steps]);
    expect(withMany.requests, `${path} with ${MANY} of each: ${withMany.names.join(", ")}`).toBeLessThanOrEqual(
      requests + pages,
    );
    expect(withMany.heads, `${path}: reads of the log's end`).toBeLessThanOrEqual(heads);
  }
}, 120_000);
