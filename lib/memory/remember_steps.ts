/** What governance leaves in memory: one sentence a decision, operation, verdict or day of KPIs. */
import type { AuditEvent } from "../audit/chain.ts";
import type { EventType } from "../audit/entry.ts";
import type { Change } from "../governance/rules/change.ts";
import type { KpiState } from "../governance/rules/kpi.ts";
import type { Tx } from "../store/store.ts";
import { type MemoryKind, remember } from "./memories.ts";

declare module "../store/store.ts" {
  interface Meta {
    kpi_memory: { day: string; key: string };
  }
}

type Detail = Partial<Record<"decision" | "progress" | "stage" | "error" | "host" | "state" | "by", string>>;

const STEPS: Partial<Record<EventType, { kind: MemoryKind; tell: (change: Change, detail: Detail) => string }>> = {
  consent_decision: {
    kind: "decision",
    tell: ({ approver, approval_note }, { decision, progress }) =>
      `${decision}${progress ? ` (${progress})` : ""} by ${approver}${approval_note ? `: ${approval_note}` : ""}`,
  },
  change_applied: { kind: "outcome", tell: () => "applied" },
  change_apply_failed: { kind: "outcome", tell: (_, { stage, error }) => `apply failed in ${stage}: ${error}` },
  change_drifted: { kind: "outcome", tell: (_, { state }) => `the host no longer shows it: ${state}` },
  change_rolled_back: { kind: "rollback", tell: (_, { by }) => `rolled back${by ? ` by ${by}` : ""}` },
  change_rollback_failed: { kind: "rollback", tell: (_, { stage, error }) => `rollback failed in ${stage}: ${error}` },
};

const named = ({ target, tenant_id, summary }: Change): string => `${target} of ${tenant_id} (${summary})`;

/** Remembers a step of a change, if it is one to remember: decisions, operations and drift, not proposals. */
export async function rememberStep(
  tx: Tx,
  change: Change,
  event: Pick<AuditEvent, "event_type" | "detail">,
  at: string,
): Promise<void> {
  const step = STEPS[event.event_type];
  if (!step) return;
  const text = `${named(change)}: ${step.tell(change, event.detail as Detail)}`;
  await remember(tx, { kind: step.kind, text, at, ref: change.change_id });
}

/** Remembers the verdict on a change whose outcome has just become final; one without a KPI has none. */
export async function rememberVerdict(tx: Tx, changeId: string): Promise<void> {
  const final = (await tx.get("outcomes", changeId))?.value.final;
  const change = (await tx.get("changes", changeId))?.value.change;
  if (!final || final.kpi === null || !change) return;
  const moved = final.realised_delta === null ? "not fed since" : `${final.realised_delta} realised`;
  const text = `${named(change)}: ${final.verdict}; ${final.kpi} ${final.expected_delta_k ?? "nothing"} expected, ${moved}`;
  await remember(tx, { kind: "outcome", text, at: final.as_of, ref: changeId });
}

/** Remembers the KPIs of a day; a later feed of the same day replaces what an earlier one left. */
export async function rememberKpis(tx: Tx, { values }: KpiState, effect: number | null, at: string): Promise<void> {
  const day = at.slice(0, 10);
  const last = (await tx.get("meta", "kpi_memory"))?.value;
  const fed = Object.entries(values).filter((entry) => entry[1].at.startsWith(day));
  const told = fed.map(([kpi, { value }]) => `${kpi} ${value}`).join(", ");
  const text = `KPIs of ${day}: ${told}${effect === null ? "" : `; E ${Number(effect.toFixed(3))}`}`;
  const key = await remember(tx, { kind: "kpi", text, at, ref: day }, last?.day === day ? last.key : undefined);
  tx.put("meta", "kpi_memory", { day, key });
}
