/** Evaluation in each cycle: the values, and what has become noteworthy about them. */
import type { OperationsDeps } from "./deps.ts";
import { withRequestCache } from "../kit/request_cache.ts";
import { utcDay } from "../kit/days.ts";
import { type Figures, computeFigures } from "./figures.ts";
import { addNotice } from "../projections/activity_log.ts";
import type { Notice } from "../projections/activity.ts";
import type { Effect } from "../changes/rules/effect.ts";
import { staleKpis } from "./need.ts";

declare module "../store/store.ts" {
  interface Collections {
    values_days: Values;
  }
  interface Meta {
    values: Values;
    noticed: Noticed;
  }
}

/** E is noted again when it has moved by this much. */
const NOTEWORTHY = 0.05;
/** Maximum number of stale KPIs noted in a cycle. */
const STALE_AT_ONCE = 5;

/** The dimensions as they were last worked out: `meta/values`, and `values_days/<UTC day>` for the last of each day. */
type Values = Figures["values"] & { at: string };

/** `meta/noticed`: the facts that the growth log has already. */
interface Noticed {
  E: number | null;
  stale: string[];
  breach: number | null;
}

/** Works the values out, keeps them, and notes what has become noteworthy. */
export async function evaluate(deps: OperationsDeps): Promise<void> {
  const { effect, values } = await computeFigures(withRequestCache(deps));
  const now = deps.clock.now();
  const at = new Date(now).toISOString();
  await deps.store.transact(async (tx) => {
    tx.put("meta", "values", { ...values, at });
    tx.put("values_days", utcDay(now), { ...values, at });
    const before = (await tx.get("meta", "noticed"))?.value ?? { E: null, stale: [], breach: null };
    const kept = (await tx.get("meta", "breach"))?.value;
    const { noticed, news } = newsOf(deps, effect, before, kept);
    if (kept && !kept.noticed) tx.put("meta", "breach", { ...kept, noticed: true });
    for (const notice of news) await addNotice(deps, tx, { at, ...notice });
    if (JSON.stringify(noticed) !== JSON.stringify(before)) tx.put("meta", "noticed", noticed);
  });
}

function newsOf(
  { clock, integrity }: OperationsDeps,
  { value, parts }: Effect,
  before: Noticed,
  kept: { first_invalid: number; reason: string; noticed?: true } | undefined,
): { noticed: Noticed; news: Omit<Notice, "at">[] } {
  const news: Omit<Notice, "at">[] = [];
  const { E } = before;
  const moved = value !== null && Math.abs(value - (E ?? -1)) >= NOTEWORTHY;
  if (moved) {
    const title = `E moved${E === null ? "" : ` from ${E.toFixed(3)}`} to ${value.toFixed(3)}`;
    const detail = parts.map((part) => `${part.kpi} ${part.value} (${part.attainment?.toFixed(3) ?? "not counted"})`);
    news.push({ kind: "effect", title, detail: detail.join(", ") });
  }
  const old = staleKpis({ value, parts }, clock.now());
  const fresh = old.filter((name) => !before.stale.includes(name)).slice(0, STALE_AT_ONCE);
  for (const kpi of fresh) {
    const title = `${kpi} was not fed for more than 7 days`;
    news.push({ kind: "stale_kpi", title, detail: "E still counts its last value.", ref: kpi });
  }
  const { first_invalid: breach = null, reason = "" } = kept ?? integrity.breach ?? {};
  // A stored breach is reported once, by any process, until a restart finds the chain repaired.
  if (breach !== null && (kept ? !kept.noticed : breach !== before.breach)) {
    const title = `The audit chain does not hold at entry ${breach}`;
    news.push({ kind: "audit_chain", title, detail: reason });
  }
  const noticed = {
    E: moved ? value : E,
    stale: old.filter((name) => before.stale.includes(name) || fresh.includes(name)),
    // Another process may not know of the breach: this must not make it report the breach again each time.
    breach: breach ?? before.breach,
  };
  return { noticed, news };
}
