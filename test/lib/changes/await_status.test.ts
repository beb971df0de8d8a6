import { afterEach, beforeEach, expect, onTestFinished, test, vi } from "vitest";
import { awaitStatus, type WaitOptions } from "../../../lib/changes/await_status.ts";
import { type CommitSignal, createCommitSignal } from "../../../lib/kit/commit_signal.ts";
import { serveHttp } from "../../../local/node_http.ts";
import { app, countersign } from "../../../handlers/index.ts";
import { memoryStore } from "../../../lib/store/memory.ts";
import { PROPOSAL } from "../../support/client.ts";
import { manifest } from "../../support/intents.ts";
import { form, get } from "../../support/requests.ts";
import { service, type TestService } from "../../support/service.ts";

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] }));
afterEach(() => void vi.useRealTimers());

/** Waits, and lets fake time pass for the look that comes after a pause. */
function waiting(api: TestService, id: string, over: Partial<WaitOptions> = {}) {
  let state: "waiting" | "settled" = "waiting";
  const result = awaitStatus(api.deps, id, { seconds: 60, ...over }).finally(() => (state = "settled"));
  result.catch(() => undefined);
  return { result, state: () => state, pass: (ms: number) => vi.advanceTimersByTimeAsync(ms) };
}

test("answers on the commit that moves the status, and not on one that does not", async () => {
  const api = await service({ intent: { policy: { required_approvers: { standard: 2 } } } });
  const id = await api.bring("pending_consent");
  const { result, state, pass } = waiting(api, id);
  await pass(200);
  await api.post("approve", { change_id: id, approver: "ana" });
  await api.propose({ target: "ui.other" });
  await pass(200);
  expect(state()).toBe("waiting");
  await api.post("approve", { change_id: id, approver: "bo" });
  await pass(200);
  expect(await result).toMatchObject({ moved: true, change: { change_id: id, status: "approved" } });
});

test("a commit between a read and the wait is not missed, even without store notifications", async () => {
  const api = await service();
  const id = await api.bring("pending_consent");
  const { get } = api.deps.store;
  let looks = 0;
  const store = {
    ...api.deps.store,
    get: (async (collection: never, key: never) => {
      const found = await get(collection, key);
      if (++looks === 1) await api.must("approve", id);
      return found;
    }) as typeof get,
  };
  const result = awaitStatus({ ...api.deps, store }, id, { seconds: 60 }, { pause: 100, poll: 1e9 });
  await vi.advanceTimersByTimeAsync(101);
  expect(await result).toMatchObject({ moved: true, change: { status: "approved" } });
});

test("what another process committed is found within a second or so, by one look", async () => {
  const api = await service();
  const id = await api.bring("pending_consent");
  const get = vi.spyOn(api.deps.store, "get");
  // Its own signal, which nobody notifies: as for what is written elsewhere.
  const result = awaitStatus({ ...api.deps, commits: createCommitSignal() }, id, { seconds: 60 });
  await vi.advanceTimersByTimeAsync(10_000);
  const looks = get.mock.calls.filter(([collection]) => collection === "changes").length;
  expect(looks).toBeGreaterThanOrEqual(9);
  expect(looks).toBeLessThanOrEqual(11);
  await api.must("deny", id);
  await vi.advanceTimersByTimeAsync(1_200);
  expect(await result).toMatchObject({ moved: true, change: { status: "denied" } });
});

test("nobody looks more than ten times a second, however much is committed", async () => {
  const api = await service();
  const id = await api.bring("pending_consent");
  const get = vi.spyOn(api.deps.store, "get");
  const commits = createCommitSignal();
  const result = awaitStatus({ ...api.deps, commits }, id, { seconds: 1 });
  for (let passed = 0; passed < 1100; passed += 10) {
    commits.notify();
    await vi.advanceTimersByTimeAsync(10);
  }
  expect((await result).moved).toBe(false);
  expect(get.mock.calls.length).toBeLessThanOrEqual(11);
});

test("without a move it ends with the time, or sooner where the host does not wait for so long", async () => {
  const api = await service();
  const id = await api.bring("pending_consent");
  const one = waiting(api, id, { seconds: 30 });
  const other = awaitStatus({ ...api.deps, maxWaitSeconds: 20 }, id, { seconds: 30 });
  await one.pass(20_000);
  expect(await other).toMatchObject({ moved: false, change: { status: "pending_consent" } });
  await one.pass(9_999);
  expect(one.state()).toBe("waiting");
  await one.pass(2);
  expect(await one.result).toMatchObject({ moved: false });
  expect(vi.getTimerCount()).toBe(0);
});

test.each(["denied", "rolled_back"] as const)("a change that is %s moves no more: answered at once", async (status) => {
  const api = await service();
  const id = await api.bring(status);
  expect(await awaitStatus(api.deps, id, { seconds: 60 })).toMatchObject({ moved: false, change: { status } });
});

test("what the caller has not seen is answered at once, whatever its status", async () => {
  const api = await service();
  const id = await api.bring("approved");
  const from = ({ status }: { status: string }): boolean => status === "pending_consent";
  expect(await awaitStatus(api.deps, id, { seconds: 60, isKnown: from })).toMatchObject({ moved: true });
});

test("an unknown change is 404 at once", async () => {
  const api = await service();
  await expect(awaitStatus(api.deps, "chg_none", { seconds: 60 })).rejects.toMatchObject({ code: "change_not_found" });
});

test("a closing service answers everybody first", async () => {
  const running = await countersign({ store: memoryStore(), intent: manifest({}) });
  const { change_id } = (await (await running.fetch(form("propose", PROPOSAL))).json()) as { change_id: string };
  const asked = running.fetch(get(`changes/${change_id}?wait=60`));
  await vi.advanceTimersByTimeAsync(200);
  const closed = running.close();
  await vi.advanceTimersByTimeAsync(1);
  expect((await asked).status).toBe(200);
  await closed;
});

test("places are bounded in all and for one, apart from those of event streams, and given back", async () => {
  const commits = createCommitSignal();
  const api = await service({ commits });
  const id = await api.bring("pending_consent");
  for (let streams = 0; streams < 64; streams++) commits.join(64, 64, "ana");
  const gone = new AbortController();
  const wait = (name: string, signal?: AbortSignal) => awaitStatus(api.deps, id, { seconds: 60, name, signal });
  const waits = Array.from({ length: 32 }, (_, index) => wait("ana", index === 0 ? gone.signal : undefined));
  await vi.advanceTimersByTimeAsync(1);
  await expect(wait("ana")).rejects.toMatchObject({ code: "too_many_waiting", status: 503 });
  gone.abort();
  await vi.advanceTimersByTimeAsync(1);
  expect(await waits[0]).toMatchObject({ moved: false });
  waits.push(wait("ana"));
  for (let other = 0; other < 224; other++) waits.push(wait(`bo${other}`));
  await vi.advanceTimersByTimeAsync(1);
  await expect(wait("cy")).rejects.toMatchObject({ code: "too_many_waiting" });
  await api.must("approve", id);
  await vi.advanceTimersByTimeAsync(200);
  expect((await Promise.all(waits.slice(1))).every(({ moved }) => moved)).toBe(true);
  const [leave] = Array.from({ length: 256 }, () => commits.join(256, 256, "dee", "waiting"));
  expect(leave).toBeDefined();
});

test("over HTTP, If-None-Match prevents missed steps, and 304 says that there was none", async () => {
  const api = await service({ intent: { policy: { required_approvers: { standard: 2 } } } });
  const id = await api.bring("pending_consent");
  await api.post("approve", { change_id: id, approver: "ana" });
  // One who saw revision 1 and then asked learns of the consent in between, also where the status is the same.
  const late = await api.get(`changes/${id}?wait=60`, { "if-none-match": '"1"' });
  expect([late.status, late.body.revision, late.body.status]).toEqual([200, 2, "pending_consent"]);
  const still = api.get(`changes/${id}?wait=1`, { "if-none-match": 'W/"1", W/"2"' });
  await vi.advanceTimersByTimeAsync(1_500);
  expect([(await still).status, (await still).text, (await still).headers.get("etag")]).toEqual([304, "", '"2"']);
  // Without wait the header means nothing: gates and outcome move without a revision.
  expect((await api.get(`changes/${id}`, { "if-none-match": '"2"' })).status).toBe(200);
  await api.post("deny", { change_id: id, approver: "bo" });
  const ended = await api.get(`changes/${id}?wait=60`, { "if-none-match": '"3"' });
  expect([ended.status, ended.body.status]).toEqual([200, "denied"]);
  for (const wait of ["61", "-1", "x", "1.5"]) expect((await api.get(`changes/${id}?wait=${wait}`)).status).toBe(400);
});

test("a client that goes away frees its place", async () => {
  vi.useRealTimers();
  const base = createCommitSignal();
  const changed: (() => void)[] = [];
  let there = 0;
  const reported = (by: number): void => {
    there += by;
    for (const resolve of changed.splice(0)) resolve();
  };
  const commits: CommitSignal = Object.create(base, {
    join: {
      value: (...given: Parameters<CommitSignal["join"]>) => {
        const leave = base.join(...given);
        reported(1);
        return () => {
          leave?.();
          reported(-1);
        };
      },
    },
  });
  const api = await service({ commits });
  const id = await api.bring("pending_consent");
  const server = await serveHttp(app(api.deps), { host: "127.0.0.1", port: 0, deps: api.deps });
  onTestFinished(async () => {
    commits.close();
    await server.stop();
  });
  const until = async (count: number): Promise<void> => {
    while (there !== count) await new Promise<void>((resolve) => changed.push(resolve));
  };
  const away = new AbortController();
  const asked = fetch(`${server.url}/api/product/changes/${id}?wait=60`, { signal: away.signal });
  await until(1);
  away.abort();
  await expect(asked).rejects.toThrow("aborted");
  await until(0);
});
