/** The state of the projection of outcomes, and its small collections. */
import { type KpiState, NO_KPIS } from "../../changes/rules/kpi.ts";
import type { Windows } from "../../changes/rules/outcome.ts";
import type { Following } from "../follower.ts";
import { listDue } from "../outcome_places.ts";
import type { Gap, OnRecord } from "../record_keeping.ts";
import type { Ring } from "../ring.ts";
import type { Tally } from "../tally.ts";

declare module "../../store/store.ts" {
  interface Collections {
    /** `closing_days/<UTC day>`: what was counted of the changes that were closed on it. */
    closing_days: Tally;
    /** `on_record/<change_id>`: of changes that lack something, or to which something was added late. */
    on_record: OnRecord;
    /** `closed/<16 digits>`: changes in the order in which they were over. */
    closed: string;
    /** `kpi_days/<UTC day>`: the values after the day's last feed. */
    kpi_days: Pick<KpiState, "values"> & { at: string };
  }
}

/** Kept with its cursor. */
export interface State {
  kpis: KpiState;
  /** The manifest under which the last entry was written that names one. */
  manifest: string | null;
  /** When the next horizon is over. */
  due: string | null;
  /** By KPI. */
  windows: Record<string, Windows>;
  total: Tally;
  gaps: Gap[];
  rows: Ring;
  memories: Ring;
  closed: Ring;
  /** Outcomes that ended at their horizon, and verdicts, since the log began. */
  timed_out: number;
  verdicts: number;
}

const EMPTY = { seq: 0, count: 0 };

/** Where it begins. */
export const START: State = {
  kpis: NO_KPIS,
  manifest: null,
  due: null,
  windows: {},
  total: {},
  gaps: [],
  rows: EMPTY,
  memories: EMPTY,
  closed: EMPTY,
  timed_out: 0,
  verdicts: 0,
};

/** How many outcomes of a KPI were opened, and how many are over. */
export const windowsOf = (windows: State["windows"], kpi: string | null): Windows =>
  windows[kpi ?? ""] ?? { opened: 0, over: 0 };

/** Finds when the next horizon is over. */
export async function findDue(on: Following<State>): Promise<void> {
  const [next] = await listDue(on.tx, 1);
  on.state = { ...on.state, due: next?.moment ?? null };
}
