/** Creates a product with a random log of some weeks, and computes its changes from the log. */
import { DAY, HOUR } from "../../support/clock.ts";
import { seededIntegers } from "../../support/seeded_integers.ts";
import { scriptedAdapter } from "../../support/scripted_adapter.ts";
import { service, type TestService } from "../../support/service.ts";

const PEOPLE = ["ana@acme.example", "Bo", "chen@acme.example", "dana"];
const TENANTS = ["t1", "t2", "northwind"];
const TARGETS = ["ui.theme", "UI.Theme", "limits.seats", "signup.short_form", "crm.followup"];
const KINDS = ["config", "workflow", "feature_flag"];
const RISKS = ["low", "medium", "high"];

/** Creates a service with changes in random states; the same seed creates the same log. */
export async function randomLog(seed: number, changes: number): Promise<TestService> {
  const randomBelow = seededIntegers(seed);
  const pick = <T>(values: readonly T[]): T => values[randomBelow(values.length)]!;
  const intent = {
    kpis: { csat: { baseline: 4, target: 5 } },
    policy: { required_approvers: { standard: 1, major: 2 }, consent_ttl_hours: 24 * 9 },
  };
  const api = await service({ intent, adapter: scriptedAdapter() });
  const { clock } = api.deps;
  await api.post("kpi", { csat: 4.2 });
  const ids: string[] = [];
  for (let index = 0; index < changes; index++) {
    const { change_id } = await api.propose({
      tenant_id: pick(TENANTS),
      target: pick(TARGETS),
      kind: pick(KINDS),
      risk: pick(RISKS),
      summary: `Change number ${index}`,
      proposer: pick(PEOPLE),
      ...(randomBelow(2) ? { kpi: "csat", expected_delta_k: 0.1 } : {}),
    });
    ids.push(change_id);
    for (let steps = randomBelow(5); steps > 0; steps--) {
      clock.advance(randomBelow(10) * HOUR);
      const id = pick(ids);
      const approver = pick(PEOPLE);
      const step = pick(["approve", "approve", "approve", "apply", "apply", "deny", "rollback", "kpi"]);
      if (step === "kpi") await api.post("kpi", { csat: 3.5 + randomBelow(15) / 10 });
      else await api.post(step, { change_id: id, approver, actor: approver, note: "as seen" });
    }
    if (randomBelow(4) === 0) clock.advance(DAY);
  }
  return api;
}

/** A change as recorded in the log. */
export interface LoggedChange {
  id: string;
  tenant: string;
  target: string;
  proposer: string;
  status: string;
  proposed: string;
  /** The time of each approval, by approver. */
  approvers: Map<string, string>;
  denier?: string;
  denied?: string;
  applied?: string;
  rolledBack?: string;
}

/** Computes every change from the log, without code of the service. */
export async function foldLog({ get }: TestService): Promise<Map<string, LoggedChange>> {
  const changes = new Map<string, LoggedChange>();
  const { entries } = (await get("audit?limit=1000")).body;
  for (const { event_type, change_id, tenant, timestamp, detail } of entries) {
    const facts = JSON.parse(detail);
    if (event_type === "change_proposed")
      changes.set(change_id, {
        id: change_id,
        tenant,
        target: facts.target,
        proposer: facts.proposer,
        status: "pending_consent",
        proposed: timestamp,
        approvers: new Map(),
      });
    const change = changes.get(change_id);
    if (!change) continue;
    if (event_type === "consent_decision") {
      if (facts.decision === "approved") change.approvers.set(facts.approver, timestamp);
      // An expiry also has a time, but nobody who denied.
      else Object.assign(change, { denied: timestamp, ...(facts.decision === "denied" && { denier: facts.approver }) });
      change.status = facts.status ?? change.status;
    }
    if (event_type === "change_applied") Object.assign(change, { status: "applied", applied: timestamp });
    if (event_type === "change_rolled_back") Object.assign(change, { status: "rolled_back", rolledBack: timestamp });
  }
  return changes;
}

/** Counts equal keys; the members of the result are in the order of the keys. */
export function countKeys(keys: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const key of keys.toSorted()) counts[key] = (counts[key] ?? 0) + 1;
  return counts;
}
