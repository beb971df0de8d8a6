/** What governance keeps in the store, by collection. */
import type { Change } from "./rules/change.ts";
import type { KpiState } from "./rules/kpi.ts";
import type { OutcomeRecord } from "./rules/outcome.ts";
import type { Identity } from "./runtime.ts";

declare module "../store/store.ts" {
  interface Collections {
    changes: ChangeRecord;
    claims: Claim;
    counts: Singles<{ changes: StatusCounts; minor: MinorCount }>;
    live: true;
    live_by_target: true;
    live_targets: LiveTarget;
    outcomes: OutcomeRecord;
    outcomes_open: true;
    owners: string;
    kpi: Singles<{ latest: KpiState }>;
    kpi_days: Pick<KpiState, "values"> & { at: string };
  }
  interface Meta {
    identity: Identity;
    adapter: { last_error: string | null; at: string };
  }
}

/** `changes/<change_id>` */
export interface ChangeRecord {
  change: Change;
  /** Ids of the audit entries about this change, oldest first. */
  audit: number[];
  /** How many operations on the host were begun; numbers the claims. */
  operations: number;
  /** Set when a guardrail saw its KPI worsen after this change was applied. */
  guardrail?: GuardrailEvidence;
}

/** What a guardrail saw. */
export interface GuardrailEvidence {
  kpi: string;
  action: "alert" | "rollback";
  baseline: number;
  value: number;
  /** How much worse than the baseline, above 0. */
  regression: number;
  max_regression: number;
  at: string;
}

/** `claims/<change_id>`: the durable intention to run the adapter. */
export interface Claim {
  change_id: string;
  operation: "apply" | "rollback";
  /** The process that runs it. */
  owner: string;
  /** Rises with every claim on this change; a result is committed only under its own number. */
  number: number;
  at: string;
  /** Milliseconds since the epoch; afterwards anybody may resolve the claim. */
  ends: number;
  /** Who asked, and why, when it was not a request. */
  by?: string;
  evidence?: GuardrailEvidence;
}

/** `counts/changes`: how many changes there are by status. */
export type StatusCounts = Partial<Record<Change["status"], number>>;

/** `counts/minor`: minor changes granted, by UTC day; only the newest day is kept. */
export interface MinorCount {
  day: string;
  count: number;
}

/** `live_targets/<target and tenant>`: how many live changes are on it, and ten of them at most. */
export interface LiveTarget {
  count: number;
  ids: string[];
}

/** The id of a change in the `live` view: pending or approved, in order of creation. */
export const liveKey = (change: Pick<Change, "status" | "change_id">): string => `${change.status}:${change.change_id}`;

/** The place of a change's tenant and target in a view by target; neither holds a line break. */
export const targetKey = ({ target, tenant_id }: Pick<Change, "target" | "tenant_id">): string =>
  `${target.toLowerCase()}\n${tenant_id}\n`;
