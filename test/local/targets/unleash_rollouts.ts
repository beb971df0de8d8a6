/** Rollouts through the service on a real Unleash: advanced, held and rolled back, as its stock client sees them. */
import { expect } from "vitest";
import { systemClock } from "../../../lib/kit/platform.ts";
import { memoryStore } from "../../../lib/store/memory.ts";
import { targetAdapter } from "../../../lib/targets/adapter.ts";
import { unleashTarget } from "../../../local/targets/unleash.ts";
import { testClock } from "../../support/clock.ts";
import { rolloutClient, AGENTS, STAGES, totals } from "../../support/rollouts.ts";
import { service } from "../../support/service.ts";
import type { UnleashServer } from "../../support/unleash.ts";

const ENVIRONMENT = "development";
const FEATURES = "/api/admin/projects/default/features";
const USERS = Array.from({ length: 1000 }, (_, at) => ({ userId: `user-${at}` }));
const SHARES = STAGES.steps.map(({ share }) => share);
const UNCHANGED_RATES: [treated: number, control: number] = [0.2, 0.2];
const WORSE_RATES: [treated: number, control: number] = [0.1, 0.2];

/** The flags before the rollouts, by name. */
const BEFORE = {
  "ui.off": { enabled: false, strategies: [{ name: "default", parameters: {} }] },
  "ui.some": {
    enabled: true,
    strategies: [
      { name: "flexibleRollout", parameters: { rollout: "7", stickiness: "userId", groupId: "group of before" } },
    ],
  },
};
const VALUES = {
  "ui.off": true,
  "ui.some": { enabled: true, strategies: [{ name: "default", parameters: {} }] },
};

async function openService(server: UnleashServer) {
  const [store, clock] = [memoryStore(), testClock()];
  const { url, token } = server;
  const system = unleashTarget({ url, token, project: "default", environment: ENVIRONMENT, clock: systemClock });
  return service({ intent: { principals: AGENTS }, store, clock, adapter: targetAdapter(system, { store, clock }) });
}

/** Rolls out on flags of a server: to all users, and to a step whose KPIs get worse. */
export async function runRollouts(server: UnleashServer): Promise<void> {
  const api = await openService(server);
  const client = await server.startClient();
  try {
    for (const [name, { enabled, strategies }] of Object.entries(BEFORE)) {
      await server.call("POST", FEATURES, { name });
      const path = `${FEATURES}/${name}/environments/${ENVIRONMENT}`;
      for (const strategy of strategies) await server.call("POST", `${path}/strategies`, strategy);
      if (enabled) await server.call("POST", `${path}/on`);
      const readFlag = async () => {
        const found = await server.call("GET", path);
        return {
          enabled: found.enabled,
          strategies: found.strategies.map(({ id: _, ...rest }: { id: string }) => rest),
        };
      };
      const before = await readFlag();
      const listTreated = () => USERS.filter((user) => client.isEnabled(name, user)).map(({ userId }) => userId);
      await expect.poll(() => listTreated().length > 0, { timeout: 10_000 }).toBe(enabled);
      const treatedBefore = listTreated();
      /** Waits until a share of the users who did not have the value has it; returns all users who have it. */
      const expectShare = async (share: number) => {
        const expected = (USERS.length - treatedBefore.length) * (share / 10_000);
        // The deviation of a random count is about its square root; four of them are allowed.
        const isNear = (treated: string[]) =>
          Math.abs(treated.length - treatedBefore.length - expected) <= 4 * Math.sqrt(expected) + 1;
        await expect.poll(listTreated, { timeout: 10_000 }).toSatisfy(isNear);
        const treated = new Set(listTreated());
        expect(treatedBefore.filter((user) => !treated.has(user))).toEqual([]);
        return treated;
      };
      const proposal = { target: name, value: JSON.stringify(VALUES[name as keyof typeof VALUES]) };
      for (const rates of [UNCHANGED_RATES, WORSE_RATES]) {
        const change_id = await api.bring("applied", { ...proposal, stages: JSON.stringify(STAGES) });
        const { act, exposure, feedNow, passHours } = rolloutClient(api, change_id);
        const first = await expectShare(SHARES[0]!);
        passHours(24);
        expect((await act(0, "hold")).status).toBe(200);
        await feedNow({ step: 0, ...totals(100_000, SHARES[0]!) });
        expect(await exposure()).toMatchObject({ step: 0, waits_for: "by_hand" });
        expect((await act(0, "resume")).status).toBe(200);
        await feedNow({ step: 0, ...totals(100_000, SHARES[0]!) });
        expect(await exposure()).toMatchObject({ step: 1 });
        const second = await expectShare(SHARES[1]!);
        expect([...first].filter((user) => !second.has(user))).toEqual([]);
        passHours(24);
        await feedNow({ step: 1, ...totals(100_000, SHARES[1]!, rates) });
        if (rates === UNCHANGED_RATES) {
          expect(await exposure()).toMatchObject({ step: 2, share: 10_000 });
          await expectShare(10_000);
          await api.must("rollback", change_id);
        }
        expect((await api.change(change_id)).status).toBe("rolled_back");
        expect(await readFlag()).toEqual(before);
        await expect.poll(listTreated, { timeout: 10_000 }).toEqual(treatedBefore);
      }
    }
  } finally {
    client.destroy();
  }
}
