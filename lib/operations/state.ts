/** The state of the service. Missing data is null, never 0. */
import * as z from "zod";
import type { OperationsDeps } from "./deps.ts";
import { effectSchema } from "../changes/rules/effect.ts";
import { readFreezeInForce } from "../changes/freeze.ts";
import { freezeSchema } from "../changes/rules/freeze.ts";
import { computeFigures } from "./figures.ts";
import { goalSchema } from "./goals.ts";
import { needSchema } from "./need.ts";
import { memorySchema } from "../projections/outcomes/record_keeping.ts";
import { reliabilitySchema } from "./reliability.ts";
import { readTaskCounts, computeTaskStats, taskStatsSchema } from "./tasks.ts";

declare module "../store/store.ts" {
  interface Meta {
    chat_provenance: z.infer<typeof provenanceSchema>;
  }
}

const share = z.number().min(0).max(1).nullable();

/** `meta/chat_provenance`: the memories behind the newest reply. */
const provenanceSchema = z.object({
  injected: z.boolean().describe("Whether memories went into it."),
  reply_id: z.string().meta({ description: "Id of the reply.", examples: ["msg_019a8f3e…"] }),
  memory_ids: z.array(z.string()).meta({ description: "Which memories.", examples: [["mem_0000000007000000"]] }),
  mode: z.enum(["rules", "llm"]).describe("Who worded it: rules or a model."),
  at: z.string().meta({ description: "When.", format: "date-time" }),
});

export const stateSchema = z
  .object({
    tick: z.number().int().describe("The number of cycles so far."),
    E: share.describe("Effect, 0 to 1: how far the KPIs are on their way; null without data."),
    M: share.describe("Memory, 0 to 1: share of required items on record; null without data."),
    R: share.describe("Reliability, 0 to 1: the share of applies that held; null without data."),
    N: share.describe("Need, 0 to 1: rises only with overdue work; 0 without any."),
    dimensions: z
      .object({
        E: effectSchema().describe("Effect: how far the KPIs are on their way."),
        M: memorySchema().describe("Memory: required and recorded items of closed changes."),
        R: reliabilitySchema.describe("Reliability: applies that held."),
        N: needSchema.describe("Need: overdue work."),
      })
      .describe("The numbers behind each value."),
    goals: z.array(goalSchema).describe("The intent's KPI goals."),
    provenance: z
      .object({ chat: provenanceSchema.nullable().describe("The newest reply of the chat; null before the first.") })
      .describe("Inputs of the newest results."),
    tasks: taskStatsSchema.describe("How many tasks there are."),
    freeze: freezeSchema().nullable().describe("The freeze of applies; null if none."),
    oldest_verified_at: z.string().nullable().describe("Each managed place was verified since then; null: not yet."),
    as_of: z.string().meta({ description: "When this was worked out.", format: "date-time" }),
  })
  .describe("The service at a glance. No data is null, never 0.");
export type State = z.infer<typeof stateSchema>;

/** Reads the number of cycles so far. */
export const computeTick = async ({ store }: Pick<OperationsDeps, "store">): Promise<number> =>
  (await store.get("meta", "tick"))?.value.tick ?? 0;

/** Reads the current state. */
export async function readState(deps: OperationsDeps): Promise<State> {
  const { store, clock } = deps;
  const [figures, tick, tasks, chat, freeze, drift] = await Promise.all([
    computeFigures(deps),
    computeTick(deps),
    readTaskCounts(store),
    store.get("meta", "chat_provenance"),
    readFreezeInForce(deps),
    store.get("meta", "drift"),
  ]);
  const { goals, effect, memory, reliability, need, values } = figures;
  return {
    tick,
    // E, M, R and N.
    ...values,
    dimensions: { E: effect, M: memory, R: reliability, N: need },
    goals,
    provenance: { chat: chat?.value ?? null },
    tasks: computeTaskStats(tasks),
    freeze,
    oldest_verified_at: drift?.value.oldest_verified_at ?? null,
    as_of: new Date(clock.now()).toISOString(),
  };
}
