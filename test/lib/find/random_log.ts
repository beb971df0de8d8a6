/** A product that people worked with at random for some weeks, and what its log alone says of it. */
import { DAY, HOUR } from "../../support/clock.ts";
import { seededIntegers } from "../../support/seeded_integers.ts";
import { scriptedAdapter } from "../../support/scripted_adapter.ts";
import { service, type TestService } from "../../support/service.ts";

const PEOPLE = ["ana@acme.example", "Bo", "chen@acme.example", "dana"];
const TENANTS = ["t1", "t2", "northwind"];
const TARGETS = ["ui.theme", "UI.Theme", "limits.seats", "signup.short_form", "crm.followup"];
const KINDS = ["config", "workflow", "feature_flag"];
const RISKS = ["low", "medium", "high"];

/** A service with so many changes, each in some state. */
export async function randomLog(seed: number, changes: number): Promise<TestService> {
  const below = seededIntegers(seed);
  const one = <T>(of: readonly T[]): T => of[below(of.length)]!;
  const intent = {
    kpis: { csat: { baseline: 4, target: 5 } },
    policy: { required_approvers: { standard: 1, major: 2 }, consent_ttl_hours: 24 * 9 },
  };
  const opened = await service({ intent, adapter: scriptedAdapter() });
  const { clock } = opened.deps;
  await opened.post("kpi", { csat: 4.2 });
  const ids: string[] = [];
  for (let made = 0; made < changes; made++) {
    const { change_id } = await opened.propose({
      tenant_id: one(TENANTS),
      target: one(TARGETS),
      kind: one(KINDS),
      risk: one(RISKS),
      summary: `Change number ${made}`,
      proposer: one(PEOPLE),
      ...(below(2) ? { kpi: "csat", expected_delta_k: 0.1 } : {}),
    });
    ids.push(change_id);
    for (let steps = below(5); steps > 0; steps--) {
      clock.advance(below(10) * HOUR);
      const id = one(ids);
      const approver = one(PEOPLE);
      const step = one(["approve", "approve", "approve", "apply", "apply", "deny", "rollback", "kpi"]);
      if (step === "kpi") await opened.post("kpi", { csat: 3.5 + below(15) / 10 });
      else await opened.post(step, { change_id: id, approver, actor: approver, note: "as seen" });
    }
    if (below(4) === 0) clock.advance(DAY);
  }
  return opened;
}

/** A change as its entries tell it, folded here and nowhere else. */
export interface LoggedChange {
  id: string;
  tenant: string;
  target: string;
  proposer: string;
  status: string;
  proposed: string;
  approvers: Map<string, string>;
  denier?: string;
  denied?: string;
  applied?: string;
  rolledBack?: string;
}

/** Every change, as the log alone tells it. */
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
      else Object.assign(change, { denied: timestamp, ...(facts.decision === "denied" && { denier: facts.approver }) });
      change.status = facts.status ?? change.status;
    }
    if (event_type === "change_applied") Object.assign(change, { status: "applied", applied: timestamp });
    if (event_type === "change_rolled_back") Object.assign(change, { status: "rolled_back", rolledBack: timestamp });
  }
  return changes;
}

/** How many there are of each key, as an object in the order of its keys. */
export function counted(keys: readonly string[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const key of keys.toSorted()) counts[key] = (counts[key] ?? 0) + 1;
  return counts;
}
