/** Unleash as a target system: a real server on a real database, read by the stock client. */
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import type { ChangeWithStages } from "../../../lib/changes/operations/adapter_port.ts";
import type { Change } from "../../../lib/changes/rules/change.ts";
import { systemClock } from "../../../lib/kit/platform.ts";
import { stagesSchema } from "../../../lib/rollout/stages.ts";
import { memoryStore } from "../../../lib/store/memory.ts";
import { targetAdapter } from "../../../lib/targets/adapter.ts";
import type { Entry, SetResult, TargetValue } from "../../../lib/targets/port.ts";
import { unleashTarget, type UnleashTargetOptions } from "../../../local/targets/unleash.ts";
import { targetCases } from "../../contract/target_system_cases.ts";
import { type CutProxy, startProxy } from "../../support/cut_proxy.ts";
import { freePort } from "../../support/free_port.ts";
import { runAllSystems } from "./all_systems.ts";
import { runRollouts } from "./unleash_rollouts.ts";
import { ADMIN_TOKEN, startUnleash, type UnleashServer } from "../../support/unleash.ts";

const neverAborted = new AbortController().signal;
const started = await startUnleash().catch((error: Error) => error.message);
if (typeof started === "string") process.stdout.write(`Unleash: skipped, ${started}\n`);
const isMissing = typeof started === "string";
// Used only if the server is not missing.
const server = started as UnleashServer;
let proxy: CutProxy;

beforeAll(async () => {
  if (!isMissing) proxy = await startProxy({ host: "127.0.0.1", port: server.port });
});
afterAll(async () => {
  if (isMissing) return;
  await proxy.stop();
  await server.stop();
});

const rollout = (percentage: number, overrides = {}) => ({
  name: "flexibleRollout",
  parameters: { rollout: String(percentage), stickiness: "userId", groupId: "new-checkout" },
  ...overrides,
});
const flag = (percentage: number, enabled = true) => ({ enabled, strategies: [rollout(percentage)] });

let flagCount = 0;
const newFlag = (): string => `flag-${++flagCount}`;
const ENVIRONMENT = "development";
const requestPath = (name: string): string => `/api/admin/projects/default/features/${name}`;

/** Another person's edit of a strategy, in Unleash itself. */
async function editRollout(name: string, percentage: number): Promise<void> {
  const path = `${requestPath(name)}/environments/${ENVIRONMENT}`;
  const [strategy] = (await server.call("GET", path)).strategies;
  const parameters = { ...strategy.parameters, rollout: String(percentage) };
  await server.call("PUT", `${path}/strategies/${strategy.id}`, { ...strategy, parameters });
}

function openUnleash(overrides: Partial<UnleashTargetOptions> = {}) {
  const { url, token } = server;
  const system = unleashTarget({
    url,
    token,
    project: "default",
    environment: ENVIRONMENT,
    clock: systemClock,
    ...overrides,
  });
  const adapter = targetAdapter(system, { store: memoryStore(), clock: systemClock });
  return {
    system,
    adapter,
    apply: (one: Change) => adapter.apply(one, neverAborted),
    rollback: (one: Change) => adapter.rollback({ ...one, status: "applied" }, neverAborted),
  };
}

let changeCount = 0;
const change = (target: string, value: unknown): Change => {
  const change_id = `chg_00000000-0000-7000-8000-${String(++changeCount).padStart(12, "0")}`;
  return { change_id, tenant_id: "t1", kind: "config", target, value } as Change;
};

/** Removes a flag as a rollback does. */
async function remove(system: ReturnType<typeof openUnleash>["system"], entry: Entry): Promise<SetResult> {
  const attempt = { change_id: "chg_x", operation: "rollback", attempt: "attempt-x", at: "" } as const;
  return system.compareAndSet(entry, undefined, await system.read(entry, neverAborted), attempt, neverAborted);
}

/** A proxy in front of the server, for `fetch` of a target. */
const behindProxy = () => ({ url: `http://${proxy.host}/` });

describe.skipIf(isMissing)("target system contract", () => {
  test.each(targetCases)("$name", ({ run }) =>
    run(async () => {
      const own = `case-${++flagCount}`;
      const { system } = openUnleash({ flagName: ({ tenant_id, target }) => `${own}.${tenant_id}.${target}` });
      const values = [flag(10), flag(20), { enabled: false, strategies: [] }, flag(100)];
      return { system, values, overwrite: ({ tenant_id, target }) => editRollout(`${own}.${tenant_id}.${target}`, 77) };
    }),
  );
});

describe.skipIf(isMissing)("a flag of Unleash", () => {
  test("the stock client sees an apply and its rollback; a boolean only switches the flag", async () => {
    const name = newFlag();
    const { apply, rollback } = openUnleash();
    const client = await server.startClient();
    onTestFinished(() => client.destroy());
    const users = Array.from({ length: 1000 }, (_, i) => ({ userId: `user-${i}` }));
    const expectUsers = () =>
      expect.poll(() => users.filter((user) => client.isEnabled(name, user)).length, { timeout: 10_000 });
    const [created, off] = [change(name, flag(10)), change(name, false)];
    // Ten percent of 1000 users, give or take.
    expect(await apply(created)).toEqual({ result: "applied", previous: null });
    await expectUsers().toSatisfy((on: number) => on > 60 && on < 140);
    expect(await apply(off)).toEqual({ result: "applied", previous: { value: true } });
    await expectUsers().toBe(0);
    await rollback(off);
    await expectUsers().toSatisfy((on: number) => on > 60 && on < 140);
    await rollback(created);
    await expectUsers().toBe(0);
    await expect(server.call("GET", requestPath(name))).rejects.toThrow("404");
  });

  test("tags, description and the other environment stay, and the tag names the change", async () => {
    const name = newFlag();
    await server.call("POST", "/api/admin/projects/default/features", {
      name,
      description: "of the team",
      type: "kill-switch",
    });
    await server.call("POST", `/api/admin/features/${name}/tags`, { type: "simple", value: "checkout" });
    const production = `${requestPath(name)}/environments/production`;
    await server.call("POST", `${production}/strategies`, { name: "default" });
    const { apply, adapter } = openUnleash();
    const one = change(name, flag(30));
    await apply(one);
    expect(await server.call("GET", requestPath(name))).toMatchObject({
      description: "of the team",
      type: "kill-switch",
    });
    expect((await server.call("GET", production)).strategies).toHaveLength(1);
    const { tags } = await server.call("GET", `/api/admin/features/${name}/tags`);
    expect(tags.map(({ type, value }: { type: string; value: string }) => `${type}:${value}`)).toEqual([
      expect.stringMatching(`^countersign:${one.change_id}/[\\w-]{8}$`),
      "simple:checkout",
    ]);
    expect(await adapter.verify(one, neverAborted)).toBe("applied");
  });

  test("a value with segments, constraints and variants is verified in any equivalent form", async () => {
    const name = newFlag();
    const { id } = await server.call("POST", "/api/admin/segments", { name: `segment-of-${name}`, constraints: [] });
    const variant = { name: "blue", weight: 1000, weightType: "variable", stickiness: "userId" };
    const strategies = [
      rollout(50, { constraints: [{ contextName: "userId", operator: "IN", values: ["1"], inverted: false }] }),
      {
        name: "default",
        title: "staff",
        segments: [id],
        variants: [{ ...variant, payload: { type: "string", value: "x" } }],
      },
      { name: "default", disabled: true, parameters: {}, constraints: [] },
    ];
    const one = change(name, { strategies, enabled: true });
    const { apply, adapter } = openUnleash();
    await apply(one);
    expect(await adapter.verify(one, neverAborted)).toBe("applied");
    expect(await adapter.held!(one, neverAborted)).toEqual({ value: one.value });
    const reordered = { enabled: true, strategies: strategies.toReversed() };
    expect(await adapter.verify({ ...one, value: reordered }, neverAborted)).toBe("unknown");
  });

  test("an edit between the read and the import is reported, with what was overwritten", async () => {
    const name = newFlag();
    const { apply } = openUnleash();
    await apply(change(name, flag(10)));
    const system = openUnleash({
      async fetch(url, init) {
        if (String(url).endsWith("/import")) await editRollout(name, 55);
        return fetch(url, init);
      },
    }).system;
    const entry: Entry = change(name, flag(20));
    const attempt = { change_id: "chg_x", operation: "apply", attempt: "attempt-x", at: "" } as const;
    const next = { value: entry.value, version: "" };
    const result = await system.compareAndSet(
      entry,
      next,
      await system.read(entry, neverAborted),
      attempt,
      neverAborted,
    );
    expect(result).toMatchObject({ done: true, overwrote: { value: flag(55) } });
    expect(await system.read(entry, neverAborted)).toEqual({
      value: flag(20),
      version: (result as { version: string }).version,
    });
  });

  test("an edit between the read and a removal is reported, with what was overwritten", async () => {
    const name = newFlag();
    const one = change(name, flag(10));
    await openUnleash().apply(one);
    const system = openUnleash({
      async fetch(url, init) {
        if (init?.method === "DELETE" && String(url).includes("/projects/")) await editRollout(name, 55);
        return fetch(url, init);
      },
    }).system;
    expect(await remove(system, one)).toMatchObject({ done: true, overwrote: { value: flag(55) } });
    await expect(server.call("GET", requestPath(name))).rejects.toThrow("404");
  });

  test("a removed flag is deleted only when Unleash has recorded that it is archived", async () => {
    const name = newFlag();
    const one = change(name, flag(10));
    await openUnleash().apply(one);
    let lastLifecycle: { stage: string }[] = [];
    const stages: string[] = [];
    const { system } = openUnleash({
      async fetch(url, init) {
        const answer = await fetch(url, init);
        if (String(url).endsWith("/lifecycle")) lastLifecycle = (await answer.clone().json()) as typeof lastLifecycle;
        if (String(url).endsWith(`/archive/${name}`)) stages.push(...lastLifecycle.map(({ stage }) => stage));
        return answer;
      },
    });
    expect(await remove(system, one)).toMatchObject({ done: true });
    expect(stages.toSorted()).toEqual(["archived", "initial"]);
    await expect(server.call("GET", requestPath(name))).rejects.toThrow("404");
  });

  test("a removed flag is deleted after 3 s in which Unleash does not record that it is archived", async () => {
    const name = newFlag();
    const one = change(name, flag(10));
    await openUnleash().apply(one);
    const waits: number[] = [];
    const { system } = openUnleash({
      sleep: async (ms) => void waits.push(ms),
      async fetch(url, init) {
        if (!String(url).endsWith("/lifecycle")) {
          // Unleash crashes if a flag is deleted earlier, so the test waits itself.
          if (String(url).endsWith(`/archive/${name}`)) await server.untilArchived(name);
          return fetch(url, init);
        }
        return Response.json([]);
      },
    });
    expect(await remove(system, one)).toMatchObject({ done: true });
    expect(waits.reduce((sum, ms) => sum + ms)).toBe(3000);
    await expect(server.call("GET", requestPath(name))).rejects.toThrow("404");
  });

  test("an import over a flag that was archived in between is a conflict", async () => {
    const name = newFlag();
    await openUnleash().apply(change(name, flag(10)));
    const { apply } = openUnleash({
      async fetch(url, init) {
        if (String(url).endsWith("/import")) await server.call("DELETE", requestPath(name));
        return fetch(url, init);
      },
    });
    await expect(apply(change(name, flag(20)))).rejects.toThrow("is archived");
  });

  test("an edit of another environment in between is not reported as overwritten", async () => {
    const name = newFlag();
    await openUnleash().apply(change(name, flag(10)));
    const { apply } = openUnleash({
      async fetch(url, init) {
        if (String(url).endsWith("/import"))
          await server.call("POST", `${requestPath(name)}/environments/production/strategies`, { name: "default" });
        return fetch(url, init);
      },
    });
    expect(await apply(change(name, flag(20)))).toEqual({ result: "applied", previous: { value: flag(10) } });
  });

  test("a flag in use in another environment is not removed by a rollback", async () => {
    const name = newFlag();
    const { apply, rollback } = openUnleash();
    const one = change(name, flag(10));
    await apply(one);
    await server.call("POST", `${requestPath(name)}/environments/production/strategies`, { name: "default" });
    await expect(rollback(one)).rejects.toThrow("used in another environment");
    expect((await server.call("GET", requestPath(name))).archived).toBe(false);
  });

  test("an archived flag and a flag without strategies are rejected in a dry run and by an apply", async () => {
    const [archived, empty] = [newFlag(), newFlag()];
    for (const name of [archived, empty]) await server.call("POST", "/api/admin/projects/default/features", { name });
    await server.call("DELETE", requestPath(archived));
    const { adapter, apply } = openUnleash();
    for (const [one, reason] of [
      [change(archived, flag(10)), "is archived"],
      [change(empty, true), "needs a strategy"],
      [change(newFlag(), true), "does not exist"],
    ] as const) {
      expect(await adapter.validate(one, neverAborted)).toEqual({ ok: false, reason: expect.stringContaining(reason) });
      await expect(apply(one)).rejects.toThrow(reason);
    }
    await apply(change(empty, flag(10, false)));
    expect((await server.call("GET", `${requestPath(empty)}/environments/${ENVIRONMENT}`)).enabled).toBe(false);
  });

  test("a flag of another project and an unknown environment or segment are rejected", async () => {
    const name = newFlag();
    await openUnleash().apply(change(name, flag(10)));
    const next = change(name, flag(20));
    await expect(openUnleash({ project: "other" }).apply(next)).rejects.toThrow("another project");
    await expect(openUnleash({ environment: "staging" }).apply(next)).rejects.toThrow('no environment "staging"');
    const strategies = [rollout(10, { segments: [999_999] })];
    await expect(openUnleash().apply(change(name, { enabled: true, strategies }))).rejects.toThrow(
      "segment that does not",
    );
  });

  test("an admin token cannot import, and other wrong tokens are rejected; a ping reports both", async () => {
    const name = newFlag();
    for (const [token, atPing, atApply] of [
      [ADMIN_TOKEN, "use a personal access token", "use a personal access token"],
      ["user:wrong", "does not accept the token (401)", "does not accept the token (401)"],
      ["*:development.client-token-of-the-test", "of another type", "of another type"],
    ] as const) {
      const { system, apply } = openUnleash({ token });
      await expect(system.ping!(neverAborted)).rejects.toThrow(atPing);
      await expect(apply(change(name, flag(10)))).rejects.toThrow(atApply);
    }
    const viewer = openUnleash({ token: await server.createToken("Viewer") });
    await viewer.system.ping!(neverAborted);
    await expect(viewer.apply(change(name, flag(10)))).rejects.toThrow("lacks a permission (403)");
    await openUnleash().system.ping!(neverAborted);
  });
});

describe.skipIf(isMissing)("a share of the users, read by the stock client", () => {
  const accounts = Array.from({ length: 1000 }, (_, index) => `account-${index}`);
  /** Starts a client that lists the accounts with a flag on, and says if the flag is on without an account. */
  async function watch(name: string) {
    const client = await server.startClient();
    onTestFinished(() => client.destroy());
    const list = () => accounts.filter((account) => client.isEnabled(name, { properties: { account } }));
    return {
      list,
      expectOn: async (low: number, high: number) => {
        await expect.poll(() => list().length, { timeout: 10_000 }).toSatisfy((on) => on >= low && on <= high);
        return new Set(list());
      },
      isOnWithout: () => client.isEnabled(name, {}),
    };
  }
  const stages = stagesSchema().parse({
    unit: "account",
    fed_by: "agent:analytics",
    // Shares of 10,000: a tenth and a half of the users.
    steps: [1000, 5000].map((share) => ({ share, advance: "manual", min_hours: 0 })),
    watch: [{ kpi: "conversion", kind: "binary", good: "up", allowed: 0.01 }],
  });
  const readFlag = async (name: string) => {
    const { enabled, strategies } = await server.call("GET", `${requestPath(name)}/environments/${ENVIRONMENT}`);
    return { enabled, strategies: strategies.map(({ id: _, ...rest }: { id: string }) => rest) };
  };

  test("a switch is given to more users at each step, and its rollback restores the strategies", async () => {
    const name = newFlag();
    const { adapter, apply, rollback } = openUnleash();
    const strategies = [{ name: "default", parameters: {} }];
    await apply(change(name, { enabled: false, strategies }));
    const before = await readFlag(name);
    const one: Change & ChangeWithStages = { ...change(name, true), stages };
    const { expectOn, isOnWithout } = await watch(name);
    await apply(one);
    const first = await expectOn(60, 140);
    expect([await adapter.verify(one, neverAborted), isOnWithout()]).toEqual(["applied", false]);
    await adapter.setStage!(one, 1, neverAborted);
    const second = await expectOn(430, 570);
    expect([[...first].filter((account) => !second.has(account)), isOnWithout()]).toEqual([[], false]);
    await adapter.setStage!(one, 2, neverAborted);
    await expectOn(1000, 1000);
    expect([isOnWithout(), await adapter.verify(one, neverAborted)]).toEqual([true, "applied"]);
    expect(await readFlag(name)).toEqual({ ...before, enabled: true });
    await rollback(one);
    expect(await readFlag(name)).toEqual(before);
  });

  test("users outside of the share have the flag's old value, which a rollback restores", async () => {
    const name = newFlag();
    const { apply, rollback, adapter } = openUnleash();
    const parameters = { rollout: "30", stickiness: "account", groupId: name };
    await apply(change(name, { enabled: true, strategies: [rollout(30, { parameters })] }));
    const before = await readFlag(name);
    const { expectOn, list } = await watch(name);
    const treatedBefore = await expectOn(240, 360);
    const everybody = { enabled: true, strategies: [{ name: "default", parameters: {} }] };
    const one: Change & ChangeWithStages = { ...change(name, everybody), stages };
    await apply(one);
    await expect.poll(() => list().length, { timeout: 10_000 }).toBeGreaterThan(treatedBefore.size);
    const now = new Set(list());
    expect([...treatedBefore].filter((account) => !now.has(account))).toEqual([]);
    // A tenth of the accounts that had the flag off is treated.
    const treated = [...now].filter((account) => !treatedBefore.has(account)).length / (1000 - treatedBefore.size);
    expect(treated > 0.06 && treated < 0.14).toBe(true);
    await editRollout(name, 11);
    expect(await adapter.verify(one, neverAborted)).toBe("unknown");
    await adapter.restore!(one, "r1", neverAborted);
    await rollback(one);
    expect(await readFlag(name)).toEqual(before);
  });

  test("a split value is on for its share of the accounts, and off without one", async () => {
    const name = newFlag();
    const { apply, rollback } = openUnleash();
    const shares = [
      ["on", true, 2000],
      ["off", false, 8000],
    ];
    const one = change(name, { $split: { unit: "account", shares } });
    await apply(one);
    const { expectOn, isOnWithout } = await watch(name);
    await expectOn(150, 250);
    expect(isOnWithout()).toBe(false);
    await rollback(one);
    await expectOn(0, 0);
  });
});

describe.skipIf(isMissing)("a server that does not answer", () => {
  const startSet = (
    system: ReturnType<typeof openUnleash>["system"],
    entry: Entry,
    expected: TargetValue,
    at: string,
  ) => {
    const attempt = { change_id: "chg_lost", operation: "apply", attempt: `attempt ${entry.target}`, at } as const;
    const next = { value: entry.value, version: "" };
    return { attempt, result: system.compareAndSet(entry, next, expected, attempt, neverAborted) };
  };
  const now = () => new Date().toISOString();
  /** A time so long ago that a request from then can no longer arrive. */
  const longAgo = "2026-01-02T03:04:05.678Z";

  test.each([
    ["request", "open", undefined],
    ["answer", "done", flag(10)],
  ] as const)("a lost %s leaves the outcome open, and the history resolves it", async (loss, outcome, stored) => {
    const { system } = openUnleash(behindProxy());
    const entry = change(newFlag(), flag(10));
    const expected = await system.read(entry, neverAborted);
    const lost = proxy.lose(loss, "/features-batch/import");
    const { attempt, result } = startSet(system, entry, expected, now());
    await expect(result).rejects.toMatchObject({ name: "Unanswered" });
    await lost;
    const direct = openUnleash().system;
    await expect.poll(() => direct.resolve!(entry, attempt, neverAborted)).toBe(outcome);
    expect((await direct.read(entry, neverAborted)).value).toEqual(stored);
    if (loss === "request")
      expect(await direct.resolve!(entry, { ...attempt, at: longAgo }, neverAborted)).toBe("not_done");
  });

  test("a history that cannot be read after the import leaves the outcome open", async () => {
    let historyReads = 0;
    const { system } = openUnleash({
      // The first read of the history is before the import, the second after it.
      fetch: (url, init) =>
        String(url).includes("/search/events") && ++historyReads === 2
          ? Promise.reject(new Error("lost"))
          : fetch(url, init),
    });
    const entry = change(newFlag(), flag(10));
    const { attempt, result } = startSet(system, entry, { version: "0" }, now());
    await expect(result).rejects.toMatchObject({ name: "Unanswered" });
    expect(await openUnleash().system.resolve!(entry, attempt, neverAborted)).toBe("done");
  });

  test("a removal whose response was lost is resolved by the value once it can no longer occur", async () => {
    const entry = change(newFlag(), flag(10));
    await openUnleash().apply(entry as Change);
    let isLost = false;
    const { system } = openUnleash({
      async fetch(url, init) {
        const answer = await fetch(url, init);
        if (init!.method !== "DELETE") return answer;
        isLost = true;
        throw new Error("the connection was lost");
      },
    });
    const expected = await system.read(entry, neverAborted);
    const attempt = { change_id: "chg_gone", operation: "rollback", attempt: "attempt-gone", at: now() } as const;
    const result = system.compareAndSet(entry, undefined, expected, attempt, neverAborted);
    await expect(result).rejects.toMatchObject({ name: "Unanswered" });
    expect(isLost).toBe(true);
    expect(await system.resolve!(entry, attempt, neverAborted)).toBe("open");
    // Undefined: the current value shows the outcome.
    expect(await system.resolve!(entry, { ...attempt, at: longAgo }, neverAborted)).toBeUndefined();
    expect((await system.read(entry, neverAborted)).value).toBeUndefined();
  });

  test("a write that was delayed by a paused database is found", async () => {
    const { system } = openUnleash();
    const entry = change(newFlag(), flag(10));
    const expected = await system.read(entry, neverAborted);
    let resume: (() => void) | undefined;
    onTestFinished(() => resume?.());
    const controller = new AbortController();
    const paused = openUnleash({
      async fetch(url, init) {
        if (!String(url).endsWith("/import")) return fetch(url, init);
        resume = await server.pauseDatabase();
        const answer = fetch(url, init);
        setTimeout(() => controller.abort(), 200);
        return answer;
      },
    }).system;
    const attempt = { change_id: "chg_late", operation: "apply", attempt: "attempt-late", at: now() } as const;
    const next = { value: entry.value, version: "" };
    const result: Promise<SetResult> = paused.compareAndSet(entry, next, expected, attempt, controller.signal);
    await expect(result).rejects.toMatchObject({ name: "Unanswered" });
    resume!();
    await expect.poll(() => system.resolve!(entry, attempt, neverAborted), { timeout: 20_000 }).toBe("done");
    expect((await system.read(entry, neverAborted)).value).toEqual(flag(10));
  });

  test("a refused connection has a certain result: nothing was set", async () => {
    const { system } = openUnleash({ url: `http://127.0.0.1:${await freePort()}` });
    const entry = change(newFlag(), flag(10));
    const { result } = startSet(system, entry, { version: "0" }, now());
    expect(await result).toEqual({
      done: false,
      rejected: expect.stringContaining("cannot be reached (ECONNREFUSED)"),
    });
  });
});

test.skipIf(isMissing)("one program sets and restores a value in a system of each type", () => runAllSystems(server));
test.skipIf(isMissing)("rollouts advance, hold, and are rolled back to the earlier strategies", () =>
  runRollouts(server),
);
