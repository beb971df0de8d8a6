/** A process that dies at any write of a rollout: no user has the value but those whom the log or a durable order names. */
import { expect, test } from "vitest";
import type { Store } from "../../../../lib/store/store.ts";
import { targetAdapter } from "../../../../lib/targets/adapter.ts";
import type { TargetSystem } from "../../../../lib/targets/port.ts";
import { MINUTE } from "../../../support/clock.ts";
import { type Core, makeCore } from "../../../support/core.ts";
import { restarted, type TestDeps } from "../../../support/deps.ts";
import { dice } from "../../../support/dice.ts";
import { chainFault } from "../../../support/independent_chain.ts";
import { dealt, rounds } from "../../../support/length.ts";
import { type Death, DEATHS, mortal } from "../../../support/mortal.ts";
import { actOnRollout, AGENTS, STAGES, totals } from "../../../support/rollouts.ts";
import { FOREIGN, rolloutOnTarget } from "../../../support/target_rollout.ts";

const INTENT = { principals: AGENTS };

/** A running rollout; `live` goes on with it in another process, which dies as given. */
async function mortalRollout() {
  const one = await rolloutOnTarget();
  const { api, store, system, change_id, clock } = one;
  const start = async (over: Store, set: TargetSystem): Promise<Core> =>
    makeCore(
      await restarted({ ...api.deps, store: over } as TestDeps, {
        adapter: targetAdapter(set, { store: over, clock }),
        exclusive: true,
        intent: INTENT,
      }),
    );
  /** Returns true where the process died. */
  const live = async (death: Death, act: (api: Core) => Promise<unknown>): Promise<boolean> => {
    const { store: dying, system: set, died } = mortal(store, system, death);
    try {
      await act(await start(dying, set));
    } catch (error) {
      if (!died()) throw error;
    }
    return died();
  };
  return { ...one, change_id, live, start: () => start(store, system) };
}
type Mortal = Awaited<ReturnType<typeof mortalRollout>>;

/** The shares of the log, and of the orders that are durable. */
async function findAllowed({ api, change_id, leases }: Mortal): Promise<number[]> {
  const record = (await api.deps.store.get("changes", change_id))!.value;
  const shareOf = (step: number): number => STAGES.steps[step]?.share ?? 10_000;
  const { exposure, status } = record.change;
  const orders = (await leases()).flatMap((lease) => (lease.operation === "stage" ? shareOf(lease.step) : []));
  return status === "applied" ? [exposure!.share, ...orders] : orders;
}

/** Requires that the users who have the value are those of the log or of a durable order, and that no step is skipped. */
async function requireTruth(one: Mortal): Promise<void> {
  const { share, text, api, change_id } = one;
  if (text() !== FOREIGN) expect(await findAllowed(one)).toContain(share());
  const steps = (await api.audit())
    .filter((entry) => entry.change_id === change_id && entry.event_type === "stage_advanced")
    .map(({ detail }) => JSON.parse(detail).to);
  expect(steps).toEqual(steps.map((_, index) => index + 1));
}

/** Lets a process after the death bring everything to its end, and rolls back. */
async function requireEnd(one: Mortal): Promise<void> {
  const { start, clock, leases, text, change_id, api: first } = one;
  const api = await start();
  clock.advance(20 * MINUTE);
  await api.cycle();
  await requireTruth(one);
  expect(await leases()).toEqual([]);
  const { exposure, status } = await api.change(change_id);
  if (status === "applied") {
    expect(one.share()).toBe(exposure!.share);
    await api.must("rollback", change_id);
  }
  expect([text(), await leases()]).toEqual([FOREIGN, []]);
  expect(chainFault(await first.audit())).toBeNull();
}

const GOOD = totals(100_000, 1000);
const WORSE = totals(100_000, 1000, [0.1, 0.2]);

/** Acts of a process on a rollout: a step of it with good or bad numbers, or a rollback by hand. */
const ACTS = {
  "an advance": async (api: Core, { change_id }: Mortal) => void (await actOnRollout(api, change_id).feedNow(GOOD)),
  "a rollback by the rule": async (api: Core, { change_id }: Mortal) =>
    void (await actOnRollout(api, change_id).feedNow(WORSE)),
  "a rollback by hand": async (api: Core, { change_id }: Mortal) =>
    void (await api.post("rollback", { change_id, actor: "ops" })),
} as const;

test.each(Object.entries(ACTS))(
  "a death at any write of %s exposes nobody beyond the log or an order",
  async (_, act) => {
    let deaths = 0;
    for (const when of dealt(DEATHS, 1))
      for (let at = 1, isAlive = false; !isAlive; at++) {
        const one = await mortalRollout();
        one.hours(24);
        isAlive = !(await one.live({ at, when }, (api) => act(api, one)));
        if (!isAlive) deaths++;
        await requireTruth(one);
        await requireEnd(one);
      }
    expect(deaths).toBeGreaterThanOrEqual(4);
  },
);

const LIVES = Number(process.env["ROLLOUT_KILLS"] ?? rounds(5, 20, 1000));

test(`rollouts that die at ${LIVES} random moments skip no step and expose nobody beyond it`, async () => {
  const roll = dice(45);
  const ends: Record<string, number> = {};
  for (let kills = 0; kills < LIVES;) {
    const one = await mortalRollout();
    for (let rounds = 0; rounds < 12; rounds++) {
      one.hours(25);
      const { change } = (await one.store.get("changes", one.change_id))!.value;
      if (change.status !== "applied" || change.exposure!.share === 10_000) break;
      const step = change.exposure!.step;
      const isWorse = roll(8) === 0;
      const fed = totals(100_000, STAGES.steps[step]!.share, isWorse ? [0.1, 0.2] : [0.2, 0.2]);
      const death: Death = { at: 1 + roll(14), when: DEATHS[roll(2)]! };
      const fault = roll(5);
      if (fault === 0) one.faults.push(roll(2) === 0 ? "lost answer" : "lost request");
      const died = await one.live(death, async (api) => {
        const { feed, decide, act } = actOnRollout(api, one.change_id);
        if (roll(10) === 0) await act(step, "hold");
        else if (change.exposure!.waits_for === "by_hand") await act(step, "resume");
        await feed([{ step, kpi: "conversion", as_of: one.clock.iso(), ...fed }]);
        await decide();
        if (roll(20) === 0) await api.post("rollback", { change_id: one.change_id, actor: "ops" });
      });
      if (died) kills++;
      one.faults.length = 0;
      await requireTruth(one);
    }
    const { status, exposure } = (await one.store.get("changes", one.change_id))!.value.change;
    const end = status === "applied" ? `step ${exposure!.step}` : status;
    ends[end] = (ends[end] ?? 0) + 1;
    await requireEnd(one);
  }
  if (LIVES > 5) process.stdout.write(`ends of rollouts: ${JSON.stringify(ends)}\n`);
}, 600_000);
