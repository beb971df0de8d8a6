/** A rollout on a target system in memory, whose text another program wrote. */
import { memoryStore } from "../../lib/store/memory.ts";
import { targetAdapter } from "../../lib/targets/adapter.ts";
import type { TargetSystem } from "../../lib/targets/port.ts";
import { testClock } from "./clock.ts";
import { memoryTarget } from "./memory_target.ts";
import { rollout, STAGES, totals } from "./rollouts.ts";

const ENTRY = { tenant_id: "t1", target: "ui.a", kind: "config" } as const;

/** Text that parsing and rendering would change: a rollback restores it to the byte. */
export const FOREIGN = '{ "old":  1.50 }';

/** Opens a service on a target system, and applies a change with a rollout to its first step. */
export async function rolloutOnTarget({
  over = {},
  ...options
}: { over?: Partial<TargetSystem>; stages?: object; policy?: object } = {}) {
  const clock = testClock();
  const store = memoryStore();
  const { system: whole, overwrite, raw, faults, edits } = memoryTarget();
  const system: TargetSystem = { ...whole, ...over };
  overwrite(ENTRY, FOREIGN);
  const adapter = targetAdapter(system, { store, clock });
  const running = await rollout({ ...options, store, clock, adapter, proposal: { target: ENTRY.target } });
  const text = () => raw(ENTRY);
  return {
    ...running,
    store,
    clock,
    system,
    adapter,
    /** Faults of the next write, and edits right before it. */
    faults,
    edits,
    overwrite: (next: string) => overwrite(ENTRY, next),
    text,
    /** Share of the users who have the value on the system, of 10,000. */
    share: (): number => {
      const held = JSON.parse(text()!);
      return held === true ? 10_000 : (held.$treated?.share ?? 0);
    },
    leases: async () => (await store.list("leases", { limit: 9 })).map(({ value }) => value),
    /** Lets the hours of a step pass, and feeds good numbers of it with the cycle that they trigger. */
    async goOn(step = 0) {
      running.hours(24);
      return running.feedNow({ step, ...totals(100_000, STAGES.steps[step]!.share) });
    },
  };
}
