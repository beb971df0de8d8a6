/** The newest samples of running rollouts. They are not logged; a decision records the totals that it uses. */
import type { FedTotals, ArmMaximums } from "../../rollout/samples.ts";
import type { Reads } from "../../store/store.ts";

declare module "../../store/store.ts" {
  interface Collections {
    /** Changes that are being rolled out in steps. */
    rollouts_running: true;
    samples: StoredSamples;
    /**
     * Failed rollbacks that a rule ordered; `from` and `until`: the pause before the next attempt, milliseconds since the epoch.
     */
    rollout_rollbacks: { tries: number; from?: number; until?: number };
  }
}

/** `samples/<change_id>`. */
export interface StoredSamples {
  rows: readonly StoredRow[];
}

/** The newest totals of a KPI in a step; `impossible`: why later numbers were rejected, until possible ones are fed. */
export interface StoredRow extends FedTotals {
  largest: ArmMaximums;
  impossible?: string | undefined;
}

/** Reads the samples of a change in the order of steps and KPIs. */
export const readSamples = async (reads: Pick<Reads, "get">, changeId: string): Promise<readonly StoredRow[]> =>
  (await reads.get("samples", changeId))?.value.rows ?? [];

/** Returns the totals in the form of entries. */
export const toFedTotals = ({ step, kpi, as_of, at, by, treated, control }: StoredRow): FedTotals => ({
  step,
  kpi,
  as_of,
  at,
  by,
  treated,
  control,
});
