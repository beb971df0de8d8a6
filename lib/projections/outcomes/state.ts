/** State and small collections of the projection of outcomes. */
import { type KpiState, NO_KPIS } from "../../changes/rules/kpi.ts";
import type { OutcomeCounts } from "../../changes/rules/outcome.ts";
import type { ProjectionContext } from "../projection.ts";
import { listDue } from "./indexes.ts";
import type { Gap, RecordStatus } from "./record_keeping.ts";
import type { BufferState } from "../buffer.ts";
import type { Counts } from "../counts.ts";

declare module "../../store/store.ts" {
  interface Collections {
    /** `closing_days/<UTC day>`: counts of the changes that were closed on a day. */
    closing_days: Counts;
    /** `on_record/<change_id>`: changes whose record lacks an item, or got one late. */
    on_record: RecordStatus;
    /** `closed/<16 digits>`: closed changes, in order. */
    closed: string;
    /** `kpi_days/<UTC day>`: the values after the day's last feed. */
    kpi_days: Pick<KpiState, "values"> & { at: string };
  }
}

/** The state that is stored with the cursor. */
export interface State {
  kpis: KpiState;
  /** The manifest hash of the last entry that names one. */
  manifest: string | null;
  /** The next horizon. */
  due: string | null;
  /** Numbers of outcomes by KPI. */
  windows: Record<string, OutcomeCounts>;
  total: Counts;
  gaps: Gap[];
  rows: BufferState;
  memories: BufferState;
  closed: BufferState;
  /** Outcomes that ended at their horizon, and verdicts, since the log began. */
  timed_out: number;
  verdicts: number;
}

const EMPTY_BUFFER = { seq: 0, count: 0 };

/** The state before the first entry. */
export const START: State = {
  kpis: NO_KPIS,
  manifest: null,
  due: null,
  windows: {},
  total: {},
  gaps: [],
  rows: EMPTY_BUFFER,
  memories: EMPTY_BUFFER,
  closed: EMPTY_BUFFER,
  timed_out: 0,
  verdicts: 0,
};

/** Returns how many outcomes of a KPI were opened, and how many are over. */
export const getWindows = (windows: State["windows"], kpi: string | null): OutcomeCounts =>
  windows[kpi ?? ""] ?? { opened: 0, over: 0 };

/** Updates the next horizon. */
export async function updateDue(context: ProjectionContext<State>): Promise<void> {
  const [next] = await listDue(context.tx, 1);
  context.state = { ...context.state, due: next?.moment ?? null };
}
