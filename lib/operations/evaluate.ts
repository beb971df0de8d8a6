/** Computes E, M, R and N in each cycle, and adds notices for a move of E, a stale KPI or a broken chain. */
import type { OperationsDeps } from "./deps.ts";
import { addRequestCache } from "../kit/request_cache.ts";
import { utcDay } from "../kit/days.ts";
import { type Figures, computeFigures } from "./figures.ts";
import { addNotice } from "../projections/activity_log.ts";
import type { Notice } from "../projections/activity.ts";
import type { Effect } from "../changes/rules/effect.ts";
import { listStaleKpis } from "./need.ts";

declare module "../store/store.ts" {
  interface Collections {
    values_days: Values;
  }
  interface Meta {
    values: Values;
    noticed: NoticedFacts;
  }
}

/** Least move of E since its last notice that causes another. */
const MIN_NOTICED_MOVE = 0.05;
/** Maximum number of notices of stale KPIs in a cycle. */
const MAX_STALE_NOTICES = 5;

/** The last computed dimensions: `meta/values`, and `values_days/<UTC day>` for the last of each day. */
type Values = Figures["values"] & { at: string };

/** `meta/noticed`: facts that have their notice already. */
interface NoticedFacts {
  E: number | null;
  stale: string[];
  breach: number | null;
}

/** Computes and stores the values, and adds notices of new facts. */
export async function evaluate(deps: OperationsDeps): Promise<void> {
  const { effect, values } = await computeFigures(addRequestCache(deps));
  const now = deps.clock.now();
  const at = new Date(now).toISOString();
  await deps.store.transact(async (tx) => {
    tx.put("meta", "values", { ...values, at });
    tx.put("values_days", utcDay(now), { ...values, at });
    const before = (await tx.get("meta", "noticed"))?.value ?? { E: null, stale: [], breach: null };
    const storedBreach = (await tx.get("meta", "breach"))?.value;
    const { noticed, notices } = findNotices(deps, effect, before, storedBreach);
    if (storedBreach && !storedBreach.noticed) tx.put("meta", "breach", { ...storedBreach, noticed: true });
    for (const notice of notices) await addNotice(deps, tx, { at, ...notice });
    if (JSON.stringify(noticed) !== JSON.stringify(before)) tx.put("meta", "noticed", noticed);
  });
}

function findNotices(
  { clock, integrity }: OperationsDeps,
  { value, parts }: Effect,
  before: NoticedFacts,
  storedBreach: { first_invalid: number; reason: string; noticed?: true } | undefined,
): { noticed: NoticedFacts; notices: Omit<Notice, "at">[] } {
  const notices: Omit<Notice, "at">[] = [];
  const { E } = before;
  // Without an earlier notice every value counts as a move: -1 is far from each.
  const moved = value !== null && Math.abs(value - (E ?? -1)) >= MIN_NOTICED_MOVE;
  if (moved) {
    const title = `E moved${E === null ? "" : ` from ${E.toFixed(3)}`} to ${value.toFixed(3)}`;
    const detail = parts.map((part) => `${part.kpi} ${part.value} (${part.attainment?.toFixed(3) ?? "not counted"})`);
    notices.push({ kind: "effect", title, detail: detail.join(", ") });
  }
  const stale = listStaleKpis({ value, parts }, clock.now());
  const newlyStale = stale.filter((name) => !before.stale.includes(name)).slice(0, MAX_STALE_NOTICES);
  for (const kpi of newlyStale) {
    const title = `${kpi} was not fed for more than 7 days`;
    notices.push({ kind: "stale_kpi", title, detail: "E still counts its last value.", ref: kpi });
  }
  const { first_invalid: breach = null, reason = "" } = storedBreach ?? integrity.breach ?? {};
  // Processes share a stored breach, so that only one of them reports it; a restart that finds the chain repaired deletes it.
  if (breach !== null && (storedBreach ? !storedBreach.noticed : breach !== before.breach)) {
    const title = `The audit chain does not hold at entry ${breach}`;
    notices.push({ kind: "audit_chain", title, detail: reason });
  }
  const noticed = {
    E: moved ? value : E,
    stale: stale.filter((name) => before.stale.includes(name) || newlyStale.includes(name)),
    // A process that does not know of the breach must not clear it here, or one that does would report it in each cycle.
    breach: breach ?? before.breach,
  };
  return { noticed, notices };
}
