/** The KPIs as the log tells them, for what is remembered of an apply. */
import { detailIn } from "./rules/event.ts";
import type { KpiValue } from "./rules/kpi.ts";
import type { Transaction } from "./transaction.ts";

/** So many feeds are looked through for a KPI of which something else is kept. */
const MOST_FEEDS = 1000;

/** The last value of every KPI; what is kept of one is taken where its entry tells of it. */
export async function kpisTold({
  tx,
  evidence,
}: Pick<Transaction, "tx" | "evidence">): Promise<Record<string, number>> {
  const { values = {} } = (await tx.get("kpi", "latest"))?.value ?? {};
  const told: Record<string, number> = {};
  for (const [kpi, kept] of Object.entries(values)) {
    const value = (await isTold(evidence, kpi, kept)) ? kept.value : await lastFed(evidence, kpi);
    if (value !== undefined) told[kpi] = value;
  }
  return told;
}

type Evidence = Transaction["evidence"];

async function isTold(evidence: Evidence, kpi: string, { entry, value }: KpiValue): Promise<boolean> {
  const feed = await evidence.entry(entry);
  return feed?.event_type === "kpi_refreshed" && detailIn(feed.detail).values?.[kpi] === value;
}

async function lastFed(evidence: Evidence, kpi: string): Promise<number | undefined> {
  let feeds = 0;
  for await (const { detail } of evidence.newest("kpi_refreshed")) {
    const { values } = detailIn(detail);
    if (values && Object.hasOwn(values, kpi)) return values[kpi];
    if (++feeds === MOST_FEEDS) return undefined;
  }
  return undefined;
}
