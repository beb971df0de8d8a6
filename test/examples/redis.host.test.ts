/** The example target system for Redis on a real server. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, describe, expect, onTestFinished, test } from "vitest";
import { countersign, type Entry, targetAdapter, type TargetSystem, type TargetValue } from "../../handlers/index.ts";
import { memoryStore } from "../../lib/store/memory.ts";
import { Unanswered } from "../../lib/kit/time_limit.ts";
import { targetCases } from "../contract/target_system_cases.ts";
import { client } from "../support/client.ts";
import { startProxy } from "../support/cut_proxy.ts";
import { manifest } from "../support/intents.ts";
import { type RedisClient, startRedis } from "../support/redis_server.ts";
import { runScenarios } from "../support/target_scenarios.ts";

const EXAMPLE = join(import.meta.dirname, "../../examples/redis/redis_system.mjs");
type Make = (options: { url: string; prefix: string }) => { system: TargetSystem; close(): void };

const server = await startRedis();
const { redisSystem } = (await import(/* @vite-ignore */ EXAMPLE)) as { redisSystem: Make };
const url = `redis://127.0.0.1:${server?.port}`;
const redis = server?.client as RedisClient;
const proxy = server && (await startProxy({ host: "127.0.0.1", port: server.port }));
const makeSignal = () => new AbortController().signal;

const openSystems: { close(): void }[] = [];
afterAll(async () => {
  for (const system of openSystems) system.close();
  await proxy?.stop();
  await server?.stop();
});
let prefixCount = 0;
/** Opens a connected system on unused keys. */
async function open(address = url, prefix = `app${++prefixCount}:`) {
  const connected = redisSystem({ url: address, prefix });
  openSystems.push(connected);
  await expect.poll(() => connected.system.ping!(makeSignal()).then(() => "connected", String)).toBe("connected");
  const redisKey = ({ tenant_id, target }: Entry) => `${prefix}${tenant_id}:${target}`;
  return { ...connected, prefix, redisKey };
}

const entry: Entry = { tenant_id: "t1", target: "seats", kind: "config", value: { limit: 1 } };
/** The value to set on a key whose current version is `none`: it does not exist. */
const next = { value: entry.value, version: "" };
let attempts = 0;
const attempt = () => ({
  change_id: "chg_a",
  operation: "apply" as const,
  attempt: `attempt-${++attempts}`,
  at: new Date().toISOString(),
});

test("the example is one file of fewer than 120 lines", () => {
  expect(readFileSync(EXAMPLE, "utf8").split("\n").length).toBeLessThan(120);
});

describe.skipIf(!server)("keys of Redis", () => {
  test.each(targetCases)("$name", ({ run }) =>
    run(async () => {
      const { system, redisKey, close } = await open();
      return {
        system,
        overwrite: async (entry) =>
          void (await redis.set(redisKey(entry), '{ "limit": 1.50,  "by": "another program" }')),
        dispose: async () => close(),
      };
    }),
  );

  test("a mounted service applies, rolls back exactly, and keeps the time to live of a key", async () => {
    const { system, redisKey } = await open();
    await redis.set(redisKey(entry), '{ "limit":  7 }', { expiration: { type: "EX", value: 1000 } });
    const store = memoryStore();
    const targets = [{ name: "redis", match: ["*"], adapter: targetAdapter(system, { store }) }];
    const service = await countersign({ store, intent: manifest(), targets });
    onTestFinished(() => service.close());
    const { bring, must } = client(service.fetch);
    const id = await bring("applied", { tenant_id: "t1", kind: "config", target: "seats", value: '{"limit":9}' });
    expect(await redis.get(redisKey(entry))).toBe('{"limit":9}');
    await must("rollback", id);
    expect(await redis.get(redisKey(entry))).toBe('{ "limit":  7 }');
    expect(await redis.ttl(redisKey(entry))).toBeGreaterThan(900);
  });

  test.each([
    ["request", "not_done", null],
    ["answer", "done", '{"limit":1}'],
  ] as const)("a lost %s is unanswered, and then resolved as %s", async (loss, outcome, text) => {
    const { system, redisKey, prefix } = await open(`redis://${proxy!.host}`);
    const context = attempt();
    const lost = proxy!.lose(loss, "EVAL");
    const written = system.compareAndSet(entry, next, { version: "none" }, context, makeSignal());
    await expect(written).rejects.toBeInstanceOf(Unanswered);
    await lost;
    expect(await (await open(url, prefix)).system.resolve!(entry, context, makeSignal())).toBe(outcome);
    expect(await redis.get(redisKey(entry))).toBe(text);
  });

  test("an attempt that was given up sets nothing when it comes late", async () => {
    const { system, redisKey } = await open();
    const context = attempt();
    expect(await system.resolve!(entry, context, makeSignal())).toBe("not_done");
    expect(await system.compareAndSet(entry, next, { version: "none" }, context, makeSignal())).toMatchObject({
      done: false,
    });
    expect(await redis.get(redisKey(entry))).toBeNull();
  });

  test("an attempt of two days ago is resolved by the value alone", async () => {
    const { system } = await open();
    const at = new Date(Date.now() - 2 * 86_400_000).toISOString();
    expect(await system.resolve!(entry, { ...attempt(), at }, makeSignal())).toBeUndefined();
  });

  test("a server that stands still leaves the outcome open, and a refused connection sets nothing", async () => {
    const { system, redisKey } = await open();
    const context = attempt();
    onTestFinished(() => server!.signal("SIGCONT"));
    server!.signal("SIGSTOP");
    const stopped = new AbortController();
    const written = system.compareAndSet(entry, next, { version: "none" }, context, stopped.signal);
    stopped.abort();
    await expect(written).rejects.toBeInstanceOf(Unanswered);
    server!.signal("SIGCONT");
    expect(await system.resolve!(entry, context, makeSignal())).toBe("done");
    expect(await redis.get(redisKey(entry))).toBe('{"limit":1}');
    const { system: offline } = redisSystem({ url: "redis://127.0.0.1:1", prefix: "app:" });
    const refused = offline.compareAndSet(entry, next, { version: "none" }, attempt(), makeSignal());
    await expect(refused).rejects.toThrow("cannot be reached");
    await expect(refused).rejects.not.toBeInstanceOf(Unanswered);
  });

  test("the rights that the README lists are enough, and a missing one is a rejection", async () => {
    const readme = readFileSync(join(EXAMPLE, "../README.md"), "utf8");
    const [, rights = ""] = /`ACL (SETUSER countersign [^`]+)`/.exec(readme) ?? [];
    await redis.sendCommand(["ACL", ...rights.replace(">…", ">secret-of-the-test").split(" ")]);
    const { system } = await open(url.replace("//", "//countersign:secret-of-the-test@"), "app:");
    expect(system.place(entry)).not.toContain("secret");
    const context = attempt();
    const write = (expected: TargetValue) => system.compareAndSet(entry, next, expected, context, makeSignal());
    expect(await write({ version: "none" })).toMatchObject({ done: true });
    expect(await system.resolve!(entry, context, makeSignal())).toBe("done");
    const current = await system.read(entry, makeSignal());
    expect(await system.compareAndSet(entry, undefined, current, attempt(), makeSignal())).toMatchObject({
      done: true,
    });
    await redis.sendCommand(["ACL", "SETUSER", "countersign", "-eval"]);
    expect(await system.compareAndSet(entry, next, { version: "none" }, attempt(), makeSignal())).toEqual({
      done: false,
      rejected: "Redis rejects it (NOPERM)",
    });
  });

  test("random scenarios match the model", async () => {
    const figures = await runScenarios([1, 20], async () => {
      const { system, redisKey, close } = await open(`redis://${proxy!.host}`);
      return {
        open: () => system,
        entries: ["seats", "rooms"].map((target) => ({ tenant_id: "t1", target, kind: "config", value: null })),
        value: (limit) => ({ limit }),
        read: async (entry) => JSON.parse((await redis.get(redisKey(entry))) ?? "null") ?? undefined,
        async edit(entry, value) {
          if (value === undefined) await redis.del(redisKey(entry));
          else await redis.set(redisKey(entry), JSON.stringify(value));
        },
        lose(loss) {
          void proxy!.lose(loss, "EVAL");
          // The proxy has at most one pending loss: this one replaces it and never happens.
          return () => void proxy!.lose(loss, "a text that is never sent");
        },
        isFenced: true,
        dispose: async () => close(),
      };
    });
    expect(figures["scenario"]).toBe(20);
  });
});
