/** What a cycle looks at anew: the values, and what has become noteworthy about them. */
import type { PulseDeps } from "./deps.ts";
import type { Tx } from "../store/store.ts";
import { dayOf } from "../kit/days.ts";
import { type Figures, figuresOf } from "./figures.ts";
import { addNotice } from "../follow/growth_log.ts";
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

/** E is told of again when it has moved by this much. */
const NOTEWORTHY = 0.05;
/** So many KPIs that went stale are told of in a cycle. */
const STALE_AT_ONCE = 5;

/** The dimensions as they were last worked out: `meta/values`, and `values_days/<UTC day>` for the last of each day. */
export interface Values {
  E: number | null;
  M: number | null;
  R: number | null;
  N: number;
  at: string;
}

/** `meta/noticed`: what the growth log was told already. */
interface Noticed {
  E: number | null;
  stale: string[];
  breach: number | null;
}

/** Works the values out, keeps them, and notes what has become noteworthy. */
export async function evaluate(deps: PulseDeps): Promise<Values> {
  const figures = await figuresOf(deps);
  const now = deps.clock.now();
  const at = new Date(now).toISOString();
  const { effect, memory, reliability, need } = figures;
  const values: Values = { E: effect.value, M: memory.value, R: reliability.value, N: need.value, at };
  await deps.store.transact(async (tx) => {
    tx.put("meta", "values", values);
    tx.put("values_days", dayOf(now), values);
    await notice(tx, deps, figures, at);
  });
  return values;
}

async function notice(tx: Tx, deps: PulseDeps, { effect }: Figures, at: string): Promise<void> {
  const before = (await tx.get("meta", "noticed"))?.value ?? { E: null, stale: [], breach: null };
  const old = staleKpis(effect, deps.clock.now());
  const news = old.filter((name) => !before.stale.includes(name)).slice(0, STALE_AT_ONCE);
  const stale = old.filter((name) => before.stale.includes(name) || news.includes(name));
  const breach = deps.integrity.breach?.first_invalid ?? null;
  const moved = effect.value !== null && Math.abs(effect.value - (before.E ?? -1)) >= NOTEWORTHY;
  if (moved) {
    const from = before.E === null ? "" : ` from ${before.E.toFixed(3)}`;
    const parts = effect.parts.map(
      ({ kpi, value, attainment }) => `${kpi} ${value} (${attainment?.toFixed(3) ?? "not counted"})`,
    );
    await addNotice(deps, tx, {
      at,
      kind: "effect",
      title: `E moved${from} to ${effect.value!.toFixed(3)}`,
      detail: parts.join(", "),
    });
  }
  for (const kpi of news)
    await addNotice(deps, tx, {
      at,
      kind: "stale_kpi",
      title: `${kpi} was not fed for more than 7 days`,
      detail: "E still counts its last value.",
      ref: kpi,
    });
  if (breach !== null && breach !== before.breach)
    await addNotice(deps, tx, {
      at,
      kind: "audit_chain",
      title: `The audit chain does not hold at entry ${breach}`,
      detail: deps.integrity.breach!.reason,
    });
  // Another process may not know of the breach: that it does not must not have it told anew each time.
  const noticed: Noticed = { E: moved ? effect.value : before.E, stale, breach: breach ?? before.breach };
  if (JSON.stringify(noticed) !== JSON.stringify(before)) tx.put("meta", "noticed", noticed);
}
