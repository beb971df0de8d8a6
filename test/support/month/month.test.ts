/** The ledger of the simulated month matches the service, since other tests compare the service with the ledger. */
import { beforeAll, expect, test } from "vitest";
import type { Month } from "./acts.ts";
import { type Act, listActs, type ActKind } from "./ledger.ts";
import { sharedMonth } from "./month.ts";

/** The type of the audit entry of each act that has one. */
const EVENT_TYPES: Partial<Record<ActKind, string>> = {
  proposed: "change_proposed",
  approved: "consent_decision",
  denied: "consent_decision",
  withdrawn: "consent_decision",
  revoked: "consent_decision",
  expired: "consent_decision",
  lapsed: "consent_decision",
  applied: "change_applied",
  apply_failed: "change_apply_failed",
  rolled_back: "change_rolled_back",
  rollback_failed: "change_rollback_failed",
  reviewed: "emergency_reviewed",
  drifted: "change_drifted",
  refused: "proposal_refused",
  fed: "kpi_refreshed",
  froze: "service_frozen",
};

let month: Month;
beforeAll(async () => void (month = await sharedMonth()));

test("every change has the status of the ledger", async () => {
  for (const { name, id, status, ended, tenant, tier, proposer, drifting } of month.ledger.changes.values()) {
    const change = (await month.get(`changes/${id}`)).body;
    const expected = { status, tenant_id: tenant, tier, proposer };
    expect(change, name).toMatchObject(ended ? { ...expected, resolution: ended } : expected);
    const drift = await month.deps.store.get("drift", id);
    expect(drift !== undefined, `${name} drifts`).toBe(drifting);
  }
});

test("the log has an entry with the same timestamp for each act of the ledger, and no others", async () => {
  const entries: { id: number; event_type: string; change_id: string; timestamp: string }[] = (
    await month.get("audit?limit=1000")
  ).body.entries;
  const reported = entries.map(({ timestamp, event_type, change_id }) => `${timestamp} ${event_type} ${change_id}`);
  const recorded = month.ledger.acts.flatMap(({ at, did, change, entry }: Act) => {
    if (!EVENT_TYPES[did]) return [];
    const act = `${at} ${EVENT_TYPES[did]} ${change ? month.idOf(change) : ""}`;
    if (entry !== undefined) expect(reported[entry - entries[0]!.id]).toBe(act);
    return [act];
  });
  // The entry of the intent at the start is no act.
  expect(reported.filter((entry) => !entry.includes("intent_in_force")).sort()).toEqual(recorded.sort());
});

test("the acts of a change that is denied, applied or rolled back include that act", () => {
  for (const [name, { status, ended }] of month.ledger.changes) {
    const acts = listActs(month.ledger, name).map(({ did }) => did);
    if (ended) expect(acts, name).toContain(ended);
    if (status === "applied" || status === "rolled_back") expect(acts, name).toContain(status);
  }
});
