/** The system's state. No data gives `null`, never an invented 0. */
import * as z from "zod";
import type { PulseDeps } from "./deps.ts";
import { effectSchema } from "../governance/rules/effect.ts";
import { shownFreeze } from "../governance/freeze.ts";
import { freezeSchema } from "../governance/rules/freeze.ts";
import { figuresOf, goalSchema } from "./figures.ts";
import { needSchema } from "./need.ts";
import { memorySchema } from "../follow/record_keeping.ts";
import { reliabilitySchema } from "./reliability.ts";
import { taskCounts, taskStats, taskStatsSchema } from "./tasks.ts";

declare module "../store/store.ts" {
  interface Meta {
    chat_provenance: z.infer<typeof provenanceSchema>;
  }
}

const share = z.number().min(0).max(1).nullable();

/** `meta/chat_provenance`: whether the latest reply was given memories to go by. */
const provenanceSchema = z.object({
  injected: z.boolean(),
  reply_id: z.string(),
  memory_ids: z.array(z.string()),
  mode: z.enum(["rules", "llm"]),
  at: z.string(),
});

export const stateSchema = z.object({
  tick: z.number().int(),
  E: share,
  M: share,
  R: share,
  N: share,
  /** What each value was worked out from. */
  dimensions: z.object({ E: effectSchema, M: memorySchema, R: reliabilitySchema, N: needSchema }),
  goals: z.array(goalSchema),
  /** `null` before the first reply. */
  provenance: z.object({ chat: provenanceSchema.nullable() }),
  tasks: taskStatsSchema,
  /** What holds every apply back; `null`: nothing is frozen. */
  freeze: freezeSchema.nullable(),
  as_of: z.string(),
});
export type State = z.infer<typeof stateSchema>;

/** The number of cycles so far. */
export const tickOf = async ({ store }: Pick<PulseDeps, "store">): Promise<number> =>
  (await store.get("meta", "tick"))?.value.tick ?? 0;

/** The state as the records tell it now. */
export async function stateView(deps: PulseDeps): Promise<State> {
  const { store, clock } = deps;
  const [figures, tick, tasks, chat, freeze] = await Promise.all([
    figuresOf(deps),
    tickOf(deps),
    taskCounts(store),
    store.get("meta", "chat_provenance"),
    shownFreeze(deps),
  ]);
  const { goals, effect, memory, reliability, need, values } = figures;
  return {
    tick,
    ...values,
    dimensions: { E: effect, M: memory, R: reliability, N: need },
    goals,
    provenance: { chat: chat?.value ?? null },
    tasks: taskStats(tasks),
    freeze,
    as_of: new Date(clock.now()).toISOString(),
  };
}
