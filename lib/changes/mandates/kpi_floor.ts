/** KPI floors of mandates: a mandate is not active while a KPI is worse than its floor. */
import { invalidField } from "../../kit/errors.ts";
import { type RecordedFeeds, readRecordedKpis } from "../recorded_kpis.ts";
import { type Intent, listKpiNames } from "../rules/intent.ts";
import { kpiDirection } from "../rules/kpi.ts";
import type { MandateRecord } from "../rules/mandate_record.ts";

/** A KPI that is worse than its floor. */
export interface KpiBelowFloor {
  kpi: string;
  value: number;
}

/** Sources of the last feeds, and the intent with the KPIs. */
export interface FloorSources extends RecordedFeeds {
  product: { intent: Pick<Intent, "kpis"> };
}

/** Returns the first KPI that is worse than its floor. */
export function findKpiBelowFloor(
  { bounds: { kpi_floor = {} } }: Pick<MandateRecord, "bounds">,
  values: Readonly<Record<string, number>>,
  intent: Pick<Intent, "kpis">,
): KpiBelowFloor | undefined {
  for (const [kpi, floor] of Object.entries(kpi_floor)) {
    const value = Object.hasOwn(values, kpi) ? values[kpi]! : undefined;
    // The direction is 1 where up is good, and -1 where down is.
    if (value !== undefined && kpiDirection(kpi, intent) * (value - floor) < 0) return { kpi, value };
  }
  return undefined;
}

/** Returns the first KPI of a mandate that is worse than its floor according to the last feeds. */
export async function findKpiBelowFloorNow(
  sources: FloorSources,
  mandate: MandateRecord,
): Promise<KpiBelowFloor | undefined> {
  if (!mandate.bounds.kpi_floor) return undefined;
  return findKpiBelowFloor(mandate, await readRecordedKpis(sources), sources.product.intent);
}

/** Returns a KPI of a floor that the intent does not name. */
export const findUnknownKpi = (kpi_floor: object | undefined, intent: Pick<Intent, "kpis">): string | undefined =>
  Object.keys(kpi_floor ?? {}).find((kpi) => !listKpiNames(intent).includes(kpi));

/** Requires that the intent names each KPI of a floor. Errors: 400 `invalid_field`. */
export function requireKnownKpis(kpi_floor: object | undefined, intent: Pick<Intent, "kpis">): void {
  const unknown = findUnknownKpi(kpi_floor, intent);
  if (unknown !== undefined) throw invalidField("kpi_floor", `names ${unknown}, which is no KPI of the intent`);
}
