/** A rollout on a target system in memory, on which another program has set the initial text of the target. */
import { memoryStore } from "../../lib/store/memory.ts";
import { targetAdapter } from "../../lib/targets/adapter.ts";
import { testClock } from "./clock.ts";
import { memoryTarget } from "./memory_target.ts";
import { openRollout, STAGES, totals } from "./rollouts.ts";

const ENTRY = { tenant_id: "t1", target: "ui.a", kind: "config" } as const;

/** Initial text of the target. Formatting the JSON would change it, so a test sees if a rollback restores its bytes. */
export const INITIAL_TEXT = '{ "old":  1.50 }';

/** Opens a service on a target system in memory, and applies a change with a rollout to its first step. */
export async function openRolloutOnTarget(options: { stages?: object; policy?: object } = {}) {
  const clock = testClock();
  const store = memoryStore();
  const { system, overwrite, raw, faults, edits } = memoryTarget();
  overwrite(ENTRY, INITIAL_TEXT);
  const adapter = targetAdapter(system, { store, clock });
  const rollout = await openRollout({ ...options, store, clock, adapter, proposal: { target: ENTRY.target } });
  const text = () => raw(ENTRY);
  return {
    ...rollout,
    store,
    clock,
    system,
    adapter,
    /** Faults of the next write, and edits right before it. */
    faults,
    edits,
    /** Sets the target as another program does. */
    overwrite: (next: string) => overwrite(ENTRY, next),
    text,
    /** Returns the share of users, of 10,000, who have the new value on the system. */
    share: (): number => {
      const value = JSON.parse(text()!);
      return value === true ? 10_000 : (value.$treated?.share ?? 0);
    },
    leases: async () => (await store.list("leases", { limit: 9 })).map(({ value }) => value),
    /** Lets the hours of a step pass, feeds good samples and runs the cycle that they trigger. */
    async completeStep(step = 0) {
      rollout.passHours(24);
      return rollout.feedNow({ step, ...totals(100_000, STAGES.steps[step]!.share) });
    },
  };
}
