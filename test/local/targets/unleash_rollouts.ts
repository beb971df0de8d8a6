/** Rollouts through the service on a real Unleash: advanced, held and taken back, by what its stock client sees. */
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
const GOOD: [number, number] = [0.2, 0.2];
const WORSE: [number, number] = [0.1, 0.2];

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

/** Rolls out on flags of a server: to everybody, and to a step whose numbers are worse. */
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
      const listOn = () => USERS.filter((user) => client.isEnabled(name, user)).map(({ userId }) => userId);
      await expect.poll(() => listOn().length > 0, { timeout: 10_000 }).toBe(enabled);
      const others = listOn();
      /** Users who have the value at a share, in parts of those who had it not before. */
      const expectShare = async (share: number) => {
        const most = (USERS.length - others.length) * (share / 10_000);
        const isNear = (on: string[]) => Math.abs(on.length - others.length - most) <= 4 * Math.sqrt(most) + 1;
        await expect.poll(listOn, { timeout: 10_000 }).toSatisfy(isNear);
        const on = new Set(listOn());
        expect(others.filter((user) => !on.has(user))).toEqual([]);
        return on;
      };
      const proposal = { target: name, value: JSON.stringify(VALUES[name as keyof typeof VALUES]) };
      for (const rates of [GOOD, WORSE]) {
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
        if (rates === GOOD) {
          expect(await exposure()).toMatchObject({ step: 2, share: 10_000 });
          await expectShare(10_000);
          await api.must("rollback", change_id);
        }
        expect((await api.change(change_id)).status).toBe("rolled_back");
        expect(await readFlag()).toEqual(before);
        await expect.poll(listOn, { timeout: 10_000 }).toEqual(others);
      }
    }
  } finally {
    client.destroy();
  }
}
