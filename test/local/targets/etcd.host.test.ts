/** Keys of etcd as a target system, on a real server: lost connections, crashes, rights, tokens, quota. */
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import type { Change } from "../../../lib/changes/rules/change.ts";
import { systemClock } from "../../../lib/kit/platform.ts";
import { Unanswered } from "../../../lib/kit/time_limit.ts";
import { memoryStore } from "../../../lib/store/memory.ts";
import { targetAdapter } from "../../../lib/targets/adapter.ts";
import type { AttemptContext, Entry, TargetValue } from "../../../lib/targets/port.ts";
import { etcdTarget, type EtcdTargetOptions } from "../../../local/targets/etcd.ts";
import { adapterCases } from "../../contract/adapter_cases.ts";
import { targetCases } from "../../contract/target_system_cases.ts";
import { startProxy } from "../../support/cut_proxy.ts";
import { encodeBase64, startEtcd } from "../../support/etcd_server.ts";
import { freePort } from "../../support/free_port.ts";

const QUOTA_BYTES = 16 * 1024 * 1024;
const server = await startEtcd([`--quota-backend-bytes=${QUOTA_BYTES}`]);
afterAll(() => server?.stop());

const neverAborted = new AbortController().signal;
const key = ({ tenant_id, target }: Entry) => `/app/${tenant_id}/${target}`;
const open = (overrides: Partial<EtcdTargetOptions> = {}) =>
  etcdTarget({ name: "edge", url: server?.url ?? "http://127.0.0.1:1", prefix: "/app/", key, ...overrides });
const system = open();

const entry: Entry = { tenant_id: "t1", target: "seats", kind: "config", value: { limit: 1 } };
const change = { change_id: "chg_a", ...entry } as Change;
const next: TargetValue = { value: entry.value, version: "" };
let attempts = 0;
const attempt = (): AttemptContext => ({
  change_id: "chg_a",
  operation: "apply",
  attempt: `of-this-file-${++attempts}`,
  at: "2026-01-02T03:04:05.678Z",
});

const put = (text: string, overrides: object = {}) =>
  server!.post("/v3/kv/put", { key: encodeBase64(key(entry)), value: encodeBase64(text), ...overrides });
/** Removes all keys that begin with `/`; `0` is the character after it. */
const clear = () => server!.post("/v3/kv/deleterange", { key: encodeBase64("/"), range_end: encodeBase64("0") });
const listKeys = async () => {
  const answer = await server!.post("/v3/kv/range", { key: encodeBase64("/"), range_end: encodeBase64("0") });
  const kvs = (answer["kvs"] ?? []) as { key: string; value?: string; lease?: string }[];
  return kvs.map((found) => ({
    key: String(Buffer.from(found.key, "base64")),
    value: String(Buffer.from(found.value ?? "", "base64")),
    ...(found.lease !== undefined && { lease: found.lease }),
  }));
};
const readValue = async () => (await listKeys()).find((one) => one.key === key(entry))?.value;

/** Clears the server and puts one key with text of another program; returns the key's value as read. */
async function putForeignText(text = '{ "limit" : 0.0 }') {
  await clear();
  await put(text);
  return system.read(entry, neverAborted);
}

async function openBehindProxy() {
  const { hostname: host, port } = new URL(server!.url);
  const proxy = await startProxy({ host, port: Number(port) });
  onTestFinished(proxy.stop);
  return { ...proxy, system: open({ url: `http://${proxy.host}` }) };
}

describe.skipIf(!server)("keys of etcd", () => {
  test.each(targetCases)("target system contract: $name", ({ run }) =>
    run(async () => {
      await clear();
      const text = '{ "limit": 1.50,  "by": "another program" }';
      const { lose, system: proxiedSystem } = await openBehindProxy();
      return {
        system: proxiedSystem,
        overwrite: async (one) => void (await put(text, { key: encodeBase64(key(one)) })),
        interrupt: () => void lose("answer", "/v3/kv/txn"),
      };
    }),
  );

  test.each(adapterCases)("adapter contract: $name", ({ run }) =>
    run(async () => {
      await clear();
      return {
        adapter: targetAdapter(system, { store: memoryStore(), clock: systemClock }),
        overwrite: async (one, other) =>
          void (await put(JSON.stringify(other), { key: encodeBase64(key(one as Entry)) })),
      };
    }),
  );

  test.each(["request", "answer"] as const)(
    "after a lost %s the outcome is unknown, and resolved with a final result",
    async (loss) => {
      const before = await putForeignText();
      const { lose, system: proxiedSystem } = await openBehindProxy();
      const one = attempt();
      const lost = lose(loss, "/v3/kv/txn");
      await expect(proxiedSystem.compareAndSet(entry, next, before, one, neverAborted)).rejects.toBeInstanceOf(
        Unanswered,
      );
      await lost;
      const outcome = loss === "request" ? "not_done" : "done";
      expect(await open().resolve!(entry, one, neverAborted)).toBe(outcome);
      expect(await system.resolve!(entry, one, neverAborted)).toBe(outcome);
      expect(await readValue()).toBe(loss === "request" ? '{ "limit" : 0.0 }' : '{"limit":1}');
    },
  );

  test("a write that was resolved as not done cannot be done later", async () => {
    const before = await putForeignText();
    const one = attempt();
    expect(await system.resolve!(entry, one, neverAborted)).toBe("not_done");
    expect(await system.compareAndSet(entry, next, before, one, neverAborted)).toEqual({
      done: false,
      rejected: expect.stringContaining("given up"),
    });
    expect(await readValue()).toBe('{ "limit" : 0.0 }');
    expect(await system.compareAndSet(entry, next, before, attempt(), neverAborted)).toMatchObject({ done: true });
  });

  test("a write to a server that is suspended is resolved after the server resumes", async () => {
    const before = await putForeignText();
    const stop = new AbortController();
    const one = attempt();
    server!.signal("SIGSTOP");
    const written = system.compareAndSet(entry, next, before, one, stop.signal);
    const isUnanswered = expect(written).rejects.toBeInstanceOf(Unanswered);
    // The request is sent before it is aborted.
    await new Promise(setImmediate);
    stop.abort(new Error("time is up"));
    await isUnanswered;
    server!.signal("SIGCONT");
    const outcome = await system.resolve!(entry, one, neverAborted);
    expect(await readValue()).toBe(outcome === "done" ? '{"limit":1}' : '{ "limit" : 0.0 }');
    // Nothing is written after the resolution.
    const resolved = await system.read(entry, neverAborted);
    await system.resolve!(entry, one, neverAborted);
    expect(await system.read(entry, neverAborted)).toEqual(resolved);
  });

  test("after a crash during writes the key has the last answered write, or the one under way", async () => {
    const before = await putForeignText();
    let expected = before;
    const written: string[] = [];
    const crashed = server!.crash();
    for (let i = 0; ; i++) {
      const numbered = { value: i, version: "" };
      const result = await system
        .compareAndSet(entry, numbered, expected, attempt(), neverAborted)
        .catch((error) => error as Error);
      if (result instanceof Error || !result.done) break;
      written.push(String(i));
      expected = { value: i, version: result.version, raw: encodeBase64(String(i)) };
    }
    await crashed;
    const stored = (await readValue())!;
    // The last write that was answered, or the one in which the server was killed.
    expect([written.at(-1) ?? '{ "limit" : 0.0 }', String(written.length)]).toContain(stored);
  });

  test("a write to an unreachable server is rejected: it was certainly not done", async () => {
    const unreachable = open({ url: `http://127.0.0.1:${await freePort()}` });
    const rejected = { done: false, rejected: "etcd: ECONNREFUSED" };
    expect(await unreachable.compareAndSet(entry, next, await putForeignText(), attempt(), neverAborted)).toEqual(
      rejected,
    );
    await expect(unreachable.ping!(neverAborted)).rejects.toThrow("ECONNREFUSED");
    await system.ping!(neverAborted);
  });

  // The proof names the last attempt that was done; a resolution as not done writes the fence, with which the attempt fails.
  test("a write compares version, text and fence, and stores value and proof", async () => {
    const before = await putForeignText();
    const requests: unknown[] = [];
    const recording = open({
      fetch: (input, init) => {
        requests.push([new URL(String(input)).pathname, JSON.parse(String(init!.body))]);
        return fetch(input, init);
      },
    });
    const one = attempt();
    await recording.compareAndSet(entry, next, before, one, neverAborted);
    const [at, fence, proof] = [key(entry), `/app/.countersign/chg_a/${one.attempt}`, "/app/.countersign/chg_a"].map(
      encodeBase64,
    );
    // A version is the revision of the key and a hash of its text.
    const [mod_revision] = before.version.split(" ");
    expect(requests).toEqual([
      [
        "/v3/kv/txn",
        {
          compare: [
            { target: "MOD", key: at, result: "EQUAL", mod_revision },
            { target: "VALUE", key: at, result: "EQUAL", value: encodeBase64('{ "limit" : 0.0 }') },
            { target: "VERSION", key: fence, result: "EQUAL", version: "0" },
          ],
          success: [
            { request_put: { key: at, value: encodeBase64('{"limit":1}'), ignore_lease: true } },
            { request_put: { key: proof, value: encodeBase64(one.attempt) } },
          ],
          failure: [{ request_range: { key: at } }, { request_range: { key: fence } }],
        },
      ],
    ]);
    expect(await listKeys()).toEqual([
      { key: "/app/.countersign/chg_a", value: one.attempt },
      { key: key(entry), value: '{"limit":1}' },
    ]);
  });

  test("a write or removal conflicts if revision, text or absence of the key is not as expected", async () => {
    const before = await putForeignText();
    const [revision] = before.version.split(" ");
    const wrong = { ...before, version: before.version.replace(revision!, String(Number(revision) + 1)) };
    for (const expected of [wrong, { ...before, raw: encodeBase64("another text") }, { version: "absent" }])
      for (const value of [next, undefined])
        expect(await system.compareAndSet(entry, value, expected, attempt(), neverAborted)).toEqual({
          done: false,
          conflict: before,
        });
    expect(await system.compareAndSet(entry, next, before, attempt(), neverAborted)).toMatchObject({ done: true });
  });

  test("the lease of a key stays", async () => {
    const { ID } = await server!.post("/v3/lease/grant", { TTL: 3600 });
    await putForeignText();
    await put("0", { lease: ID });
    await system.compareAndSet(entry, next, await system.read(entry, neverAborted), attempt(), neverAborted);
    expect(await listKeys()).toContainEqual({ key: key(entry), value: '{"limit":1}', lease: ID });
  });

  test.each(['{ "b" : 1.0, "a":1e2, "b": 12345678901234567890 }', "plain text", "", "\uFEFF1", "\xff\0"])(
    "a rollback restores the bytes of a key: %j",
    async (text) => {
      await clear();
      const bytes = Buffer.from(text, "latin1").toString("base64");
      await put("", { value: bytes });
      const adapter = targetAdapter(system, { store: memoryStore(), clock: systemClock });
      await adapter.apply(change, neverAborted);
      expect(await adapter.verify(change, neverAborted)).toBe("applied");
      await adapter.rollback({ ...change, status: "applied" } as Change, neverAborted);
      expect((await system.read(entry, neverAborted)).raw).toBe(bytes);
    },
  );

  test("a value that is too large is rejected, and the key stays", async () => {
    const before = await putForeignText();
    const large = { value: "x".repeat(1_600_000), version: "" };
    expect(await system.compareAndSet(entry, large, before, attempt(), neverAborted)).toEqual({
      done: false,
      rejected: expect.stringContaining("request is too large"),
    });
    expect(await system.read(entry, neverAborted)).toEqual(before);
  });

  describe("with users", () => {
    const post = (path: string, body: object, token?: string) => server!.post(`/v3/auth/${path}`, body, token);
    const logIn = async () => String((await post("authenticate", { name: "root", password: "r" }))["token"]);
    const range = { key: encodeBase64("/app/"), range_end: encodeBase64("/app0") };

    beforeAll(async () => {
      if (!server) return;
      await putForeignText();
      for (const role of ["root", "writer", "reader"]) await post("role/add", { name: role });
      await post("role/grant", { name: "writer", perm: { permType: "READWRITE", ...range } });
      await post("role/grant", { name: "reader", perm: { permType: "READ", ...range } });
      for (const [name, password, role] of [
        ["root", "r", "root"],
        ["countersign", "secret-word", "writer"],
        ["guest", "g", "reader"],
      ]) {
        await post("user/add", { name, password });
        await post("user/grant", { user: name, role });
      }
      await post("enable", {});
    });
    afterAll(async () => void (server && (await post("disable", {}, await logIn()))));
    const writer = () => open({ user: "countersign", password: "secret-word" });

    test("a user with the right to write sets, resolves and removes", async () => {
      const asWriter = writer();
      await asWriter.ping!(neverAborted);
      const one = attempt();
      expect(
        await asWriter.compareAndSet(entry, next, await asWriter.read(entry, neverAborted), one, neverAborted),
      ).toMatchObject({ done: true });
      expect(await asWriter.resolve!(entry, one, neverAborted)).toBe("done");
      const removed = await asWriter.compareAndSet(
        entry,
        undefined,
        await asWriter.read(entry, neverAborted),
        attempt(),
        neverAborted,
      );
      expect(removed).toEqual({ done: true, version: "absent" });
    });

    test("an expired token is replaced, for reads and for writes", async () => {
      const paths: string[] = [];
      const recording: typeof fetch = (input, init) => {
        paths.push(new URL(String(input)).pathname);
        return fetch(input, init);
      };
      const asWriter = open({ user: "countersign", password: "secret-word", fetch: recording });
      const before = await asWriter.read(entry, neverAborted);
      // A change of the password ends the sessions.
      const end = async () => post("user/changepw", { name: "countersign", password: "secret-word" }, await logIn());
      await end();
      expect(await asWriter.compareAndSet(entry, next, before, attempt(), neverAborted)).toMatchObject({ done: true });
      await server!.crash();
      await end();
      expect((await asWriter.read(entry, neverAborted)).value).toEqual(entry.value);
      // The first login, and one after each end of the sessions.
      expect(paths.filter((path) => path.endsWith("authenticate"))).toHaveLength(3);
    });

    test.each([
      ["without the right to write", { user: "guest", password: "g" }, "permission denied"],
      ["without a user", { user: undefined }, "user name is empty"],
      ["with a wrong password", { user: "countersign", password: "wrong-word" }, "authentication failed"],
      ["with an unknown user", { user: "nobody", password: "x" }, "authentication failed"],
    ])("a write %s is rejected, and the key stays", async (_, overrides, reason) => {
      const before = await writer().read(entry, neverAborted);
      const result = await open(overrides).compareAndSet(entry, next, before, attempt(), neverAborted);
      expect(result).toEqual({ done: false, rejected: expect.stringContaining(reason) });
      expect(JSON.stringify(result)).not.toMatch(/-word/);
      expect(await writer().read(entry, neverAborted)).toEqual(before);
      // A guest may read, so its ping succeeds.
      if (overrides.user !== "guest") await expect(open(overrides).ping!(neverAborted)).rejects.toThrow(reason);
    });
  });

  // The last test on the server, whose database is full afterwards.
  test("a write to a full database is rejected, and the key stays", async () => {
    const before = await putForeignText();
    const megabyte = "x".repeat(1_000_000);
    const fill = async () => {
      for (let i = 0; i < 40; i++) await put(megabyte, { key: encodeBase64(`/fill/${i}`) });
    };
    await expect(fill()).rejects.toThrow("database space exceeded");
    expect(await system.compareAndSet(entry, next, before, attempt(), neverAborted)).toEqual({
      done: false,
      rejected: expect.stringContaining("database space exceeded"),
    });
    expect(await system.read(entry, neverAborted)).toEqual(before);
  });
});

test("the description of the target has address and key", () => {
  expect(open({ url: "https://ETCD.acme.example:2379" }).place(entry)).toBe(
    'etcd etcd.acme.example:2379 "/app/t1/seats"',
  );
});

test.each(["secret-word", "ftp://host", "http://user:secret-word@host:2379", "http://host:2379/path"])(
  "a malformed address is an error that does not quote it: %s",
  (url) => {
    expect(() => open({ url })).toThrow("must read http://host:port");
    expect(() => open({ url })).not.toThrow("secret-word");
  },
);

test.each([
  [200, "<html>", Unanswered],
  [200, "{}", Unanswered],
  [503, '{"error":"etcdserver: request timed out","code":14}', Unanswered],
  [502, "<html>", Unanswered],
  [404, "<html>", Unanswered],
])("after an answer %i %s the outcome of a write is unknown", async (status, body, errorClass) => {
  const answering = open({ fetch: async () => new Response(body, { status }) });
  const written = answering.compareAndSet(entry, next, { version: "absent" }, attempt(), neverAborted);
  await expect(written).rejects.toBeInstanceOf(errorClass);
});
