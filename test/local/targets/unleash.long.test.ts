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

const calm = new AbortController().signal;
const started = await startUnleash().catch((error: Error) => error.message);
if (typeof started === "string") process.stdout.write(`Unleash: skipped, ${started}\n`);
const isMissing = typeof started === "string";
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

const rollout = (percentage: number, over = {}) => ({
  name: "flexibleRollout",
  parameters: { rollout: String(percentage), stickiness: "userId", groupId: "new-checkout" },
  ...over,
});
const flag = (percentage: number, enabled = true) => ({ enabled, strategies: [rollout(percentage)] });

let flags = 0;
const newFlag = (): string => `flag-${++flags}`;
const ENVIRONMENT = "development";
const requestPath = (name: string): string => `/api/admin/projects/default/features/${name}`;

/** Another person's edit of a strategy, in Unleash itself. */
async function editRollout(name: string, percentage: number): Promise<void> {
  const path = `${requestPath(name)}/environments/${ENVIRONMENT}`;
  const [strategy] = (await server.call("GET", path)).strategies;
  const parameters = { ...strategy.parameters, rollout: String(percentage) };
  await server.call("PUT", `${path}/strategies/${strategy.id}`, { ...strategy, parameters });
}

function bench(over: Partial<UnleashTargetOptions> = {}) {
  const { url, token } = server;
  const system = unleashTarget({
    url,
    token,
    project: "default",
    environment: ENVIRONMENT,
    clock: systemClock,
    ...over,
  });
  const adapter = targetAdapter(system, { store: memoryStore(), clock: systemClock });
  return {
    system,
    adapter,
    apply: (one: Change) => adapter.apply(one, calm),
    rollback: (one: Change) => adapter.rollback({ ...one, status: "applied" }, calm),
  };
}

let changes = 0;
const change = (target: string, value: unknown): Change => {
  const change_id = `chg_00000000-0000-7000-8000-${String(++changes).padStart(12, "0")}`;
  return { change_id, tenant_id: "t1", kind: "config", target, value } as Change;
};

/** Removes a flag as a rollback does. */
async function remove(system: ReturnType<typeof bench>["system"], entry: Entry): Promise<SetResult> {
  const attempt = { change_id: "chg_x", operation: "rollback", attempt: "attempt-x", at: "" } as const;
  return system.compareAndSet(entry, undefined, await system.read(entry, calm), attempt, calm);
}

/** A proxy in front of the server, for `fetch` of a target. */
const behindProxy = () => ({ url: `http://${proxy.host}/` });

describe.skipIf(isMissing)("target system contract", () => {
  test.each(targetCases)("$name", ({ run }) =>
    run(async () => {
      const own = `case-${++flags}`;
      const { system } = bench({ flagName: ({ tenant_id, target }) => `${own}.${tenant_id}.${target}` });
      const values = [flag(10), flag(20), { enabled: false, strategies: [] }, flag(100)];
      return { system, values, overwrite: ({ tenant_id, target }) => editRollout(`${own}.${tenant_id}.${target}`, 77) };
    }),
  );
});

describe.skipIf(isMissing)("a flag of Unleash", () => {
  test("the stock client sees an apply and its rollback, and a boolean switches only", async () => {
    const name = newFlag();
    const { apply, rollback } = bench();
    const client = await server.startClient();
    onTestFinished(() => client.destroy());
    const users = Array.from({ length: 1000 }, (_, i) => ({ userId: `user-${i}` }));
    const expectUsers = () =>
      expect.poll(() => users.filter((user) => client.isEnabled(name, user)).length, { timeout: 10_000 });
    const [created, off] = [change(name, flag(10)), change(name, false)];
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
    const { apply, adapter } = bench();
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
    expect(await adapter.verify(one, calm)).toBe("applied");
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
    const { apply, adapter } = bench();
    await apply(one);
    expect(await adapter.verify(one, calm)).toBe("applied");
    expect(await adapter.held!(one, calm)).toEqual({ value: one.value });
    const reordered = { enabled: true, strategies: strategies.toReversed() };
    expect(await adapter.verify({ ...one, value: reordered }, calm)).toBe("unknown");
  });

  test("an edit between the read and the import is reported, with what was overwritten", async () => {
    const name = newFlag();
    const { apply } = bench();
    await apply(change(name, flag(10)));
    const system = bench({
      async fetch(url, init) {
        if (String(url).endsWith("/import")) await editRollout(name, 55);
        return fetch(url, init);
      },
    }).system;
    const entry: Entry = change(name, flag(20));
    const attempt = { change_id: "chg_x", operation: "apply", attempt: "attempt-x", at: "" } as const;
    const next = { value: entry.value, version: "" };
    const result = await system.compareAndSet(entry, next, await system.read(entry, calm), attempt, calm);
    expect(result).toMatchObject({ done: true, overwrote: { value: flag(55) } });
    expect(await system.read(entry, calm)).toEqual({
      value: flag(20),
      version: (result as { version: string }).version,
    });
  });

  test("an edit between the read and a removal is reported, with what was overwritten", async () => {
    const name = newFlag();
    const one = change(name, flag(10));
    await bench().apply(one);
    const system = bench({
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
    await bench().apply(one);
    let read: { stage: string }[] = [];
    const stages: string[] = [];
    const { system } = bench({
      async fetch(url, init) {
        const answer = await fetch(url, init);
        if (String(url).endsWith("/lifecycle")) read = (await answer.clone().json()) as typeof read;
        if (String(url).endsWith(`/archive/${name}`)) stages.push(...read.map(({ stage }) => stage));
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
    await bench().apply(one);
    const waits: number[] = [];
    const { system } = bench({
      sleep: async (ms) => void waits.push(ms),
      async fetch(url, init) {
        if (!String(url).endsWith("/lifecycle")) {
          // The server itself must survive the test.
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
    await bench().apply(change(name, flag(10)));
    const { apply } = bench({
      async fetch(url, init) {
        if (String(url).endsWith("/import")) await server.call("DELETE", requestPath(name));
        return fetch(url, init);
      },
    });
    await expect(apply(change(name, flag(20)))).rejects.toThrow("is archived");
  });

  test("an edit of another environment in between is not reported as overwritten", async () => {
    const name = newFlag();
    await bench().apply(change(name, flag(10)));
    const { apply } = bench({
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
    const { apply, rollback } = bench();
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
    const { adapter, apply } = bench();
    for (const [one, reason] of [
      [change(archived, flag(10)), "is archived"],
      [change(empty, true), "needs a strategy"],
      [change(newFlag(), true), "does not exist"],
    ] as const) {
      expect(await adapter.validate(one, calm)).toEqual({ ok: false, reason: expect.stringContaining(reason) });
      await expect(apply(one)).rejects.toThrow(reason);
    }
    await apply(change(empty, flag(10, false)));
    expect((await server.call("GET", `${requestPath(empty)}/environments/${ENVIRONMENT}`)).enabled).toBe(false);
  });

  test("a flag of another project and an unknown environment or segment are rejected", async () => {
    const name = newFlag();
    await bench().apply(change(name, flag(10)));
    const next = change(name, flag(20));
    await expect(bench({ project: "other" }).apply(next)).rejects.toThrow("another project");
    await expect(bench({ environment: "staging" }).apply(next)).rejects.toThrow('no environment "staging"');
    const strategies = [rollout(10, { segments: [999_999] })];
    await expect(bench().apply(change(name, { enabled: true, strategies }))).rejects.toThrow("segment that does not");
  });

  test("an admin token cannot import, and other wrong tokens are rejected; a ping says so", async () => {
    const name = newFlag();
    for (const [token, atPing, atApply] of [
      [ADMIN_TOKEN, "use a personal access token", "use a personal access token"],
      ["user:wrong", "does not accept the token (401)", "does not accept the token (401)"],
      ["*:development.client-token-of-the-test", "of another type", "of another type"],
    ] as const) {
      const { system, apply } = bench({ token });
      await expect(system.ping!(calm)).rejects.toThrow(atPing);
      await expect(apply(change(name, flag(10)))).rejects.toThrow(atApply);
    }
    const viewer = bench({ token: await server.createToken("Viewer") });
    await viewer.system.ping!(calm);
    await expect(viewer.apply(change(name, flag(10)))).rejects.toThrow("lacks a permission (403)");
    await bench().system.ping!(calm);
  });
});

describe.skipIf(isMissing)("a share of the users, read by the stock client", () => {
  const accounts = Array.from({ length: 1000 }, (_, index) => `account-${index}`);
  /** Polls the accounts for whom a flag is on, and whether it is on without an account. */
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
    steps: [1000, 5000].map((share) => ({ share, advance: "manual", min_hours: 0 })),
    watch: [{ kpi: "conversion", kind: "binary", good: "up", allowed: 0.01 }],
  });
  const readFlag = async (name: string) => {
    const { enabled, strategies } = await server.call("GET", `${requestPath(name)}/environments/${ENVIRONMENT}`);
    return { enabled, strategies: strategies.map(({ id: _, ...rest }: { id: string }) => rest) };
  };

  test("a switch is given to more users at each step, and its rollback restores the strategies", async () => {
    const name = newFlag();
    const { adapter, apply, rollback } = bench();
    const strategies = [{ name: "default", parameters: {} }];
    await apply(change(name, { enabled: false, strategies }));
    const before = await readFlag(name);
    const one: Change & ChangeWithStages = { ...change(name, true), stages };
    const { expectOn, isOnWithout } = await watch(name);
    await apply(one);
    const first = await expectOn(60, 140);
    expect([await adapter.verify(one, calm), isOnWithout()]).toEqual(["applied", false]);
    await adapter.setStage!(one, 1, calm);
    const second = await expectOn(430, 570);
    expect([[...first].filter((account) => !second.has(account)), isOnWithout()]).toEqual([[], false]);
    await adapter.setStage!(one, 2, calm);
    await expectOn(1000, 1000);
    expect([isOnWithout(), await adapter.verify(one, calm)]).toEqual([true, "applied"]);
    expect(await readFlag(name)).toEqual({ ...before, enabled: true });
    await rollback(one);
    expect(await readFlag(name)).toEqual(before);
  });

  test("users outside of the share have the flag's old value, which a rollback restores", async () => {
    const name = newFlag();
    const { apply, rollback, adapter } = bench();
    const parameters = { rollout: "30", stickiness: "account", groupId: name };
    await apply(change(name, { enabled: true, strategies: [rollout(30, { parameters })] }));
    const before = await readFlag(name);
    const { expectOn, list } = await watch(name);
    const old = await expectOn(240, 360);
    const everybody = { enabled: true, strategies: [{ name: "default", parameters: {} }] };
    const one: Change & ChangeWithStages = { ...change(name, everybody), stages };
    await apply(one);
    await expect.poll(() => list().length, { timeout: 10_000 }).toBeGreaterThan(old.size);
    const now = new Set(list());
    expect([...old].filter((account) => !now.has(account))).toEqual([]);
    // A tenth of those who were off is treated.
    const treated = [...now].filter((account) => !old.has(account)).length / (1000 - old.size);
    expect(treated > 0.06 && treated < 0.14).toBe(true);
    await editRollout(name, 11);
    expect(await adapter.verify(one, calm)).toBe("unknown");
    await adapter.restore!(one, "r1", calm);
    await rollback(one);
    expect(await readFlag(name)).toEqual(before);
  });

  test("a split value is on for its share of the accounts, and off without one", async () => {
    const name = newFlag();
    const { apply, rollback } = bench();
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
  const set = (system: ReturnType<typeof bench>["system"], entry: Entry, expected: TargetValue, at: string) => {
    const attempt = { change_id: "chg_lost", operation: "apply", attempt: `attempt ${entry.target}`, at } as const;
    const next = { value: entry.value, version: "" };
    return { attempt, result: system.compareAndSet(entry, next, expected, attempt, calm) };
  };
  const now = () => new Date().toISOString();
  const longAgo = "2026-01-02T03:04:05.678Z";

  test.each([
    ["request", "open", undefined],
    ["answer", "done", flag(10)],
  ] as const)("a lost %s leaves the outcome open, and the history resolves it", async (loss, outcome, held) => {
    const { system } = bench(behindProxy());
    const entry = change(newFlag(), flag(10));
    const expected = await system.read(entry, calm);
    const lost = proxy.lose(loss, "/features-batch/import");
    const { attempt, result } = set(system, entry, expected, now());
    await expect(result).rejects.toMatchObject({ name: "Unanswered" });
    await lost;
    const direct = bench().system;
    await expect.poll(() => direct.resolve!(entry, attempt, calm)).toBe(outcome);
    expect((await direct.read(entry, calm)).value).toEqual(held);
    if (loss === "request") expect(await direct.resolve!(entry, { ...attempt, at: longAgo }, calm)).toBe("not_done");
  });

  test("a history that cannot be read after the import leaves the outcome open", async () => {
    let events = 0;
    const { system } = bench({
      fetch: (url, init) =>
        String(url).includes("/search/events") && ++events === 2 ? Promise.reject(new Error("lost")) : fetch(url, init),
    });
    const entry = change(newFlag(), flag(10));
    const { attempt, result } = set(system, entry, { version: "0" }, now());
    await expect(result).rejects.toMatchObject({ name: "Unanswered" });
    expect(await bench().system.resolve!(entry, attempt, calm)).toBe("done");
  });

  test("a removal whose response was lost is resolved by the value after it can no longer occur", async () => {
    const entry = change(newFlag(), flag(10));
    await bench().apply(entry as Change);
    let isLost = false;
    const { system } = bench({
      async fetch(url, init) {
        const answer = await fetch(url, init);
        if (init!.method !== "DELETE") return answer;
        isLost = true;
        throw new Error("the connection was lost");
      },
    });
    const expected = await system.read(entry, calm);
    const attempt = { change_id: "chg_gone", operation: "rollback", attempt: "attempt-gone", at: now() } as const;
    const result = system.compareAndSet(entry, undefined, expected, attempt, calm);
    await expect(result).rejects.toMatchObject({ name: "Unanswered" });
    expect(isLost).toBe(true);
    expect(await system.resolve!(entry, attempt, calm)).toBe("open");
    expect(await system.resolve!(entry, { ...attempt, at: longAgo }, calm)).toBeUndefined();
    expect((await system.read(entry, calm)).value).toBeUndefined();
  });

  test("a write that was delayed by a paused database is found", async () => {
    const { system } = bench();
    const entry = change(newFlag(), flag(10));
    const expected = await system.read(entry, calm);
    let resume: (() => void) | undefined;
    onTestFinished(() => resume?.());
    const gaveUp = new AbortController();
    const paused = bench({
      async fetch(url, init) {
        if (!String(url).endsWith("/import")) return fetch(url, init);
        resume = await server.pauseDatabase();
        const answer = fetch(url, init);
        setTimeout(() => gaveUp.abort(), 200);
        return answer;
      },
    }).system;
    const attempt = { change_id: "chg_late", operation: "apply", attempt: "attempt-late", at: now() } as const;
    const next = { value: entry.value, version: "" };
    const result: Promise<SetResult> = paused.compareAndSet(entry, next, expected, attempt, gaveUp.signal);
    await expect(result).rejects.toMatchObject({ name: "Unanswered" });
    resume!();
    await expect.poll(() => system.resolve!(entry, attempt, calm), { timeout: 20_000 }).toBe("done");
    expect((await system.read(entry, calm)).value).toEqual(flag(10));
  });

  test("a refused connection has a certain result: nothing was set", async () => {
    const { system } = bench({ url: `http://127.0.0.1:${await freePort()}` });
    const entry = change(newFlag(), flag(10));
    const { result } = set(system, entry, { version: "0" }, now());
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
