/** Crashes at each write of a rollout: the target never exposes a share that neither the log nor a stored lease names. */
import { expect, test } from "vitest";
import type { Store } from "../../../../lib/store/store.ts";
import { targetAdapter } from "../../../../lib/targets/adapter.ts";
import type { TargetSystem } from "../../../../lib/targets/port.ts";
import { MINUTE } from "../../../support/clock.ts";
import { type Core, makeCore } from "../../../support/core.ts";
import { restartDeps, type TestDeps } from "../../../support/deps.ts";
import { dice } from "../../../support/dice.ts";
import { chainFault } from "../../../support/independent_chain.ts";
import { selectCases, rounds } from "../../../support/run_length.ts";
import { type CrashPoint, CRASH_MOMENTS, crashAtWrite } from "../../../support/crash_at_write.ts";
import { rolloutClient, AGENTS, STAGES, totals } from "../../../support/rollouts.ts";
import { INITIAL_TEXT, openRolloutOnTarget } from "../../../support/target_rollout.ts";

const INTENT = { principals: AGENTS };

/** Creates a running rollout; `runUntilCrash` continues it in another process that crashes at a given write. */
async function createRollout() {
  const bench = await openRolloutOnTarget();
  const { api, store, system, change_id, clock } = bench;
  const start = async (processStore: Store, targetSystem: TargetSystem): Promise<Core> =>
    makeCore(
      await restartDeps({ ...api.deps, store: processStore } as TestDeps, {
        adapter: targetAdapter(targetSystem, { store: processStore, clock }),
        exclusive: true,
        intent: INTENT,
      }),
    );
  /** Runs an action in another process, which crashes at `crashPoint`; returns false if the action ended before. */
  const runUntilCrash = async (crashPoint: CrashPoint, action: (api: Core) => Promise<unknown>): Promise<boolean> => {
    const { store: crashingStore, system: crashingSystem, hasCrashed } = crashAtWrite(store, system, crashPoint);
    try {
      await action(await start(crashingStore, crashingSystem));
    } catch (error) {
      if (!hasCrashed()) throw error;
    }
    return hasCrashed();
  };
  return { ...bench, change_id, runUntilCrash, start: () => start(store, system) };
}
type RolloutBench = Awaited<ReturnType<typeof createRollout>>;

/** Share of all users; shares are in parts of 10,000. */
const ALL_USERS = 10_000;

/** Returns the share that the log names and the shares of stored leases of advances. A step after the last one is for all users. */
async function listAllowedShares({ api, change_id, leases }: RolloutBench): Promise<number[]> {
  const record = (await api.deps.store.get("changes", change_id))!.value;
  const findShare = (step: number): number => STAGES.steps[step]?.share ?? ALL_USERS;
  const { exposure, status } = record.change;
  const leasedShares = (await leases()).flatMap((lease) => (lease.operation === "stage" ? findShare(lease.step) : []));
  return status === "applied" ? [exposure!.share, ...leasedShares] : leasedShares;
}

/** Checks that the share on the target is allowed, and that the log skips no step. */
async function checkShareAndSteps(bench: RolloutBench): Promise<void> {
  const { share, text, api, change_id } = bench;
  if (text() !== INITIAL_TEXT) expect(await listAllowedShares(bench)).toContain(share());
  const steps = (await api.audit())
    .filter((entry) => entry.change_id === change_id && entry.event_type === "stage_advanced")
    .map(({ detail }) => JSON.parse(detail).to);
  expect(steps).toEqual(steps.map((_, index) => index + 1));
}

/** Recovers in a new process after the crash, rolls back, and checks that the first text is restored. */
async function recoverAndRollBack(bench: RolloutBench): Promise<void> {
  const { start, clock, leases, text, change_id, api: first } = bench;
  const api = await start();
  clock.advance(20 * MINUTE);
  await api.cycle();
  await checkShareAndSteps(bench);
  expect(await leases()).toEqual([]);
  const { exposure, status } = await api.change(change_id);
  if (status === "applied") {
    expect(bench.share()).toBe(exposure!.share);
    await api.must("rollback", change_id);
  }
  expect([text(), await leases()]).toEqual([INITIAL_TEXT, []]);
  expect(chainFault(await first.audit())).toBeNull();
}

/** Success rates of the users with and without the new value. */
const WORSE_RATES: [treated: number, control: number] = [0.1, 0.2];
const SAME_RATES: [treated: number, control: number] = [0.2, 0.2];
/** Samples of the first step, in which a tenth of the users has the new value. */
const GOOD = totals(100_000, STAGES.steps[0]!.share, SAME_RATES);
const WORSE = totals(100_000, STAGES.steps[0]!.share, WORSE_RATES);

/** Actions during which the process crashes. */
const ACTIONS = {
  "an advance": async (api: Core, { change_id }: RolloutBench) =>
    void (await rolloutClient(api, change_id).feedNow(GOOD)),
  "a rollback by the rule": async (api: Core, { change_id }: RolloutBench) =>
    void (await rolloutClient(api, change_id).feedNow(WORSE)),
  "a rollback by hand": async (api: Core, { change_id }: RolloutBench) =>
    void (await api.post("rollback", { change_id, actor: "ops" })),
} as const;

test.each(Object.entries(ACTIONS))(
  "a crash at any write of %s exposes no share beyond the log or a stored lease",
  async (_, action) => {
    let crashes = 0;
    for (const when of selectCases(CRASH_MOMENTS, 1))
      for (let at = 1, hasFinished = false; !hasFinished; at++) {
        const bench = await createRollout();
        bench.passHours(24);
        hasFinished = !(await bench.runUntilCrash({ at, when }, (api) => action(api, bench)));
        if (!hasFinished) crashes++;
        await checkShareAndSteps(bench);
        await recoverAndRollBack(bench);
      }
    expect(crashes).toBeGreaterThanOrEqual(4);
  },
);

const CRASHES = Number(process.env["ROLLOUT_KILLS"] ?? rounds(5, 20, 1000));

test(`${CRASHES} crashes at random writes of rollouts skip no step and expose no larger share`, async () => {
  const roll = dice(45);
  const endCounts: Record<string, number> = {};
  for (let crashes = 0; crashes < CRASHES;) {
    const bench = await createRollout();
    for (let round = 0; round < 12; round++) {
      bench.passHours(25);
      const { change } = (await bench.store.get("changes", bench.change_id))!.value;
      if (change.status !== "applied" || change.exposure!.share === ALL_USERS) break;
      const step = change.exposure!.step;
      const isWorse = roll(8) === 0;
      const sample = totals(100_000, STAGES.steps[step]!.share, isWorse ? WORSE_RATES : SAME_RATES);
      const crashPoint: CrashPoint = { at: 1 + roll(14), when: CRASH_MOMENTS[roll(2)]! };
      const fault = roll(5);
      if (fault === 0) bench.faults.push(roll(2) === 0 ? "lost answer" : "lost request");
      const hasCrashed = await bench.runUntilCrash(crashPoint, async (api) => {
        const { feed, decide, act } = rolloutClient(api, bench.change_id);
        if (roll(10) === 0) await act(step, "hold");
        else if (change.exposure!.waits_for === "by_hand") await act(step, "resume");
        await feed([{ step, kpi: "conversion", as_of: bench.clock.iso(), ...sample }]);
        await decide();
        if (roll(20) === 0) await api.post("rollback", { change_id: bench.change_id, actor: "ops" });
      });
      if (hasCrashed) crashes++;
      bench.faults.length = 0;
      await checkShareAndSteps(bench);
    }
    const { status, exposure } = (await bench.store.get("changes", bench.change_id))!.value.change;
    const end = status === "applied" ? `step ${exposure!.step}` : status;
    endCounts[end] = (endCounts[end] ?? 0) + 1;
    await recoverAndRollBack(bench);
  }
  if (CRASHES > 5) process.stdout.write(`ends of rollouts: ${JSON.stringify(endCounts)}\n`);
}, 600_000);
