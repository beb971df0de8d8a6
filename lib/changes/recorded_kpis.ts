/** Reads the last values of KPIs from the log. */
import { parseDetail } from "./rules/event.ts";
import type { KpiValue } from "./rules/kpi.ts";
import type { Reads } from "../store/store.ts";
import type { Evidence } from "./evidence.ts";

/** Feeds that are searched for a KPI; if they lack it, the entry named by the stored value is read. */
const MAX_FEEDS_SEARCHED = 100;

/** Sources of the feeds. */
export interface RecordedFeeds {
  tx: Pick<Reads, "get">;
  evidence: Evidence;
}

/** Reads the last value of every KPI from the newest feed that has it. */
export async function readRecordedKpis({ tx, evidence }: RecordedFeeds): Promise<Record<string, number>> {
  const { values: stored = {} } = (await tx.get("kpi", "latest"))?.value ?? {};
  const recorded = new Map<string, number>();
  let feeds = 0;
  const next = evidence.walkType("kpi_refreshed");
  for (let feed; (feed = await next());) {
    for (const [kpi, value] of Object.entries(parseDetail(feed.detail).values ?? {}))
      if (!recorded.has(kpi)) recorded.set(kpi, value);
    if (Object.keys(stored).every((kpi) => recorded.has(kpi)) || ++feeds === MAX_FEEDS_SEARCHED) break;
  }
  for (const [kpi, last] of Object.entries(stored))
    if (!recorded.has(kpi) && (await isRecorded(evidence, kpi, last))) recorded.set(kpi, last.value);
  return Object.fromEntries(recorded);
}

async function isRecorded(evidence: Evidence, kpi: string, { entry, value }: KpiValue): Promise<boolean> {
  const feed = await evidence.storedEntry(entry);
  return feed?.event_type === "kpi_refreshed" && parseDetail(feed.detail).values?.[kpi] === value;
}
