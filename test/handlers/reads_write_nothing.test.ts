/** Lists the GETs that write to the store, each with the reason; no other may. */
import { expect, test } from "vitest";
import { app } from "../../handlers/index.ts";
import { sampleClock } from "../../lib/changes/certain_time.ts";
import { memoryStore } from "../../lib/store/memory.ts";
import type { Store } from "../../lib/store/store.ts";
import { client } from "../support/client.ts";
import { DAY, MINUTE, testClock } from "../support/clock.ts";
import { opened } from "../support/deps.ts";
import { READS } from "../support/reads.ts";

/** The tree and the checkpoint are durable before they are returned. */
const CHECKPOINT = "meta";
/** The proof that writes are taken, where no cycle made one. */
const PROBE = "meta";

/** The collection that each of these GETs tries to write first. */
const WRITES: Readonly<Record<string, string>> = {
  "/api/product/audit/checkpoint": CHECKPOINT,
  "/api/product/audit/proof?id=1": CHECKPOINT,
  "/api/product/changes/CHANGE/certificate": CHECKPOINT,
  "/api/product/pack?from=2026-01-01T00:00:00Z": CHECKPOINT,
  "/api/metrics": PROBE,
  "/readyz": PROBE,
};

/** A store whose transactions cannot write, and the collections that they tried to write. */
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

test("a GET writes nothing, even where much is overdue, but for those that are listed", async () => {
  const clock = testClock();
  const durable = memoryStore();
  const policy = {
    consent_ttl_hours: 1,
    approval_ttl_hours: 1,
    break_glass: { approvers: ["bo"], review_hours: 1 },
  };
  const { bring, post, propose } = client(app(await opened({ store: durable, clock, intent: { policy } })));
  const { change_id: urgent } = await propose({ target: "ui.urgent" });
  await post("approve", { change_id: urgent, approver: "bo", emergency: true, note: "down" });
  await post("apply", { change_id: urgent });
  let newest = "";
  for (const status of ["applied", "approved", "pending_consent"] as const)
    newest = await bring(status, { target: `ui.${status}`, value: "1", kpi: "csat", expected_delta_k: 1 });
  await post("kpi", { csat: 4 });

  const { store, tried } = readOnly(durable);
  const deps = await opened({ store, clock, intent: { policy } });
  clock.advance(60 * DAY);
  await sampleClock(deps);
  clock.advance(11 * MINUTE);
  const { get } = client(app(deps));
  const found: Record<string, string> = {};
  for (const path of READS) {
    tried.length = 0;
    const { status } = await get(path.replace("CHANGE", newest));
    if (tried.length > 0) found[path] = tried.join(", ");
    else expect([200, 404], `${path}: ${status}`).toContain(status);
  }
  expect(found).toEqual(WRITES);
});
