/** The newest samples of running rollouts. A decision records the totals that it uses, so nothing else of them is logged. */
import type { FedTotals, ArmMaximums } from "../../rollout/samples.ts";
import type { Reads } from "../../store/store.ts";

declare module "../../store/store.ts" {
  interface Collections {
    /** Changes that are being rolled out in steps. */
    rollouts_running: true;
    samples: StoredSamples;
    /** Failed rollbacks that the rule ordered; `from` and `until`: the pause before the next try, in milliseconds. */
    rollout_rollbacks: { tries: number; from?: number; until?: number };
  }
}

/** `samples/<change_id>`. */
export interface StoredSamples {
  rows: readonly StoredRow[];
}

/** The newest totals of a KPI in a step; `impossible`: later numbers that cannot be, until possible ones come. */
export interface StoredRow extends FedTotals {
  largest: ArmMaximums;
  impossible?: string | undefined;
}

/** Reads the samples of a change in the order of steps and KPIs. */
export const readSamples = async (reads: Pick<Reads, "get">, changeId: string): Promise<readonly StoredRow[]> =>
  (await reads.get("samples", changeId))?.value.rows ?? [];

/** Returns totals as entries name them. */
export const toFedTotals = ({ step, kpi, as_of, at, by, treated, control }: StoredRow): FedTotals => ({
  step,
  kpi,
  as_of,
  at,
  by,
  treated,
  control,
});
