/** The system's state. No data gives `null`, never an invented 0. */
import * as z from "zod";
import type { Deps } from "../deps.ts";
import { goalOf, type KpiState, NO_KPIS } from "../governance/kpi.ts";
import { effectOf } from "./effect.ts";

const share = z.number().min(0).max(1).nullable();

export const stateSchema = z.object({
  tick: z.number().int(),
  E: share,
  M: share,
  R: share,
  N: share,
  dimensions: z.object({ E: z.unknown(), M: z.unknown(), R: z.unknown(), N: z.unknown() }),
  goals: z.array(
    z.object({
      kpi: z.string(),
      baseline: z.number(),
      target: z.number(),
      current: z.number().nullable(),
      /** 0 at the baseline, 1 at the target; not clamped. */
      progress: z.number().nullable(),
      status: z.enum(["no_data", "behind", "on_track", "met"]),
    }),
  ),
  provenance: z.object({ chat: z.unknown() }),
  tasks: z.object({
    queued: z.number().int(),
    running: z.number().int(),
    completed: z.number().int(),
    failed: z.number().int(),
    rated: z.number().int(),
    mean_rating: z.number().nullable(),
  }),
  as_of: z.string(),
});
export type State = z.infer<typeof stateSchema>;

/** The state as the records tell it now. */
export async function stateView({ store, clock, product }: Deps): Promise<State> {
  const kpis = (await store.get<KpiState>("kpi", "latest"))?.value ?? NO_KPIS;
  const effect = product ? effectOf(kpis, product.intent) : { value: null, parts: [] };
  return {
    tick: (await store.get<{ tick: number }>("meta", "tick"))?.value.tick ?? 0,
    E: effect.value,
    M: null,
    R: null,
    N: null,
    dimensions: { E: effect, M: null, R: null, N: null },
    goals: product
      ? Object.keys(product.intent.kpis).map((kpi) => progressOf(kpi, kpis, goalOf(kpi, kpis, product.intent)!))
      : [],
    provenance: { chat: null },
    tasks: { queued: 0, running: 0, completed: 0, failed: 0, rated: 0, mean_rating: null },
    as_of: new Date(clock.now()).toISOString(),
  };
}

function progressOf(
  kpi: string,
  kpis: KpiState,
  { baseline, target }: { baseline: number; target: number },
): State["goals"][number] {
  const current = kpis.values[kpi]?.value ?? null;
  const progress = current === null || target === baseline ? null : (current - baseline) / (target - baseline);
  const status = progress === null ? "no_data" : progress >= 1 ? "met" : progress >= 0 ? "on_track" : "behind";
  return { kpi, baseline, target, current, progress, status };
}
