/** The KPIs as the log tells them, for what is remembered of an apply. */
import { detailIn } from "./rules/event.ts";
import type { KpiValue } from "./rules/kpi.ts";
import type { Transaction } from "./transaction.ts";

/** So many feeds are looked through for a KPI that the newest ones do not tell of; then what is kept is asked for its entry. */
const MOST_FEEDS = 100;

/** The last value of every KPI, from the newest feed that tells of it. */
export async function readRecordedKpis({
  tx,
  evidence,
}: Pick<Transaction, "tx" | "evidence">): Promise<Record<string, number>> {
  const { values: kept = {} } = (await tx.get("kpi", "latest"))?.value ?? {};
  const told = new Map<string, number>();
  let feeds = 0;
  const next = evidence.newest("kpi_refreshed");
  for (let feed; (feed = await next());) {
    for (const [kpi, value] of Object.entries(detailIn(feed.detail).values ?? {}))
      if (!told.has(kpi)) told.set(kpi, value);
    if (Object.keys(kept).every((kpi) => told.has(kpi)) || ++feeds === MOST_FEEDS) break;
  }
  for (const [kpi, last] of Object.entries(kept))
    if (!told.has(kpi) && (await isTold(evidence, kpi, last))) told.set(kpi, last.value);
  return Object.fromEntries(told);
}

async function isTold(evidence: Transaction["evidence"], kpi: string, { entry, value }: KpiValue): Promise<boolean> {
  const feed = await evidence.kept(entry);
  return feed?.event_type === "kpi_refreshed" && detailIn(feed.detail).values?.[kpi] === value;
}
