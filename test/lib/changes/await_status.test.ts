/** Waiting for a change's status: `awaitStatus`, and `?wait=` over HTTP. */
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

/** Starts to wait for a change; `pass` advances the fake time, so that scheduled reads happen. */
function startWaiting(api: TestService, id: string, options: Partial<WaitOptions> = {}) {
  let state: "waiting" | "ended" = "waiting";
  const result = awaitStatus(api.deps, id, { seconds: 60, ...options }).finally(() => (state = "ended"));
  result.catch(() => undefined);
  return { result, state: () => state, pass: (ms: number) => vi.advanceTimersByTimeAsync(ms) };
}

test("waiting ends with the commit that changes the status, not with others", async () => {
  const api = await service({ intent: { policy: { required_approvers: { standard: 2 } } } });
  const id = await api.bring("pending_consent");
  const { result, state, pass } = startWaiting(api, id);
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
  const { get: read } = api.deps.store;
  let reads = 0;
  const store = {
    ...api.deps.store,
    get: (async (collection: never, key: never) => {
      const found = await read(collection, key);
      if (++reads === 1) await api.must("approve", id);
      return found;
    }) as typeof read,
  };
  const result = awaitStatus({ ...api.deps, store }, id, { seconds: 60 }, { pause: 100, poll: 1e9 });
  await vi.advanceTimersByTimeAsync(101);
  expect(await result).toMatchObject({ moved: true, change: { status: "approved" } });
});

test("a commit of another process is found within about a second, by one read per second", async () => {
  const api = await service();
  const id = await api.bring("pending_consent");
  const get = vi.spyOn(api.deps.store, "get");
  // A separate signal is not notified of commits, as for those of another process.
  const result = awaitStatus({ ...api.deps, commits: createCommitSignal() }, id, { seconds: 60 });
  await vi.advanceTimersByTimeAsync(10_000);
  const reads = get.mock.calls.filter(([collection]) => collection === "changes").length;
  expect(reads).toBeGreaterThanOrEqual(9);
  expect(reads).toBeLessThanOrEqual(11);
  await api.must("deny", id);
  await vi.advanceTimersByTimeAsync(1_200);
  expect(await result).toMatchObject({ moved: true, change: { status: "denied" } });
});

test("a waiting request reads at most ten times a second, however many commits there are", async () => {
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

test("without a change of status, waiting ends at the timeout or at the host's maximum", async () => {
  const api = await service();
  const id = await api.bring("pending_consent");
  const longWait = startWaiting(api, id, { seconds: 30 });
  const shortWait = awaitStatus({ ...api.deps, maxWaitSeconds: 20 }, id, { seconds: 30 });
  await longWait.pass(20_000);
  expect(await shortWait).toMatchObject({ moved: false, change: { status: "pending_consent" } });
  await longWait.pass(9_999);
  expect(longWait.state()).toBe("waiting");
  await longWait.pass(2);
  expect(await longWait.result).toMatchObject({ moved: false });
  // The timers of other tests in the thread are not counted: a wait that has ended reads no more.
  const get = vi.spyOn(api.deps.store, "get");
  await longWait.pass(5_000);
  expect(get).not.toHaveBeenCalled();
});

test.each(["denied", "rolled_back"] as const)(
  "waiting for a change that is %s, a final status, returns immediately",
  async (status) => {
    const api = await service();
    const id = await api.bring(status);
    expect(await awaitStatus(api.deps, id, { seconds: 60 })).toMatchObject({ moved: false, change: { status } });
  },
);

test("waiting returns immediately if the caller does not know the current status", async () => {
  const api = await service();
  const id = await api.bring("approved");
  const isUnchanged = ({ status }: { status: string }): boolean => status === "pending_consent";
  expect(await awaitStatus(api.deps, id, { seconds: 60, isUnchanged })).toMatchObject({ moved: true });
});

test("waiting for an unknown change is rejected immediately", async () => {
  const api = await service();
  await expect(awaitStatus(api.deps, "chg_none", { seconds: 60 })).rejects.toMatchObject({ code: "change_not_found" });
});

test("a closing service answers all waiting requests first", async () => {
  const running = await countersign({ store: memoryStore(), intent: manifest({}) });
  const { change_id } = (await (await running.fetch(form("propose", PROPOSAL))).json()) as { change_id: string };
  const response = running.fetch(get(`changes/${change_id}?wait=60`));
  await vi.advanceTimersByTimeAsync(200);
  const closed = running.close();
  await vi.advanceTimersByTimeAsync(1);
  expect((await response).status).toBe(200);
  await closed;
});

test("waiting requests are limited in total and per caller, separately from event streams", async () => {
  const commits = createCommitSignal();
  const api = await service({ commits });
  const id = await api.bring("pending_consent");
  const [maxWaiting, maxPerCaller, streamCount] = [256, 32, 64];
  // The arguments of `join` are the limits in total and per caller, the caller, and what it joins: a stream by default.
  for (let streams = 0; streams < streamCount; streams++) commits.join(streamCount, streamCount, "ana");
  const disconnected = new AbortController();
  const wait = (name: string, signal?: AbortSignal) => awaitStatus(api.deps, id, { seconds: 60, name, signal });
  const waits = Array.from({ length: maxPerCaller }, (_, index) =>
    wait("ana", index === 0 ? disconnected.signal : undefined),
  );
  await vi.advanceTimersByTimeAsync(1);
  await expect(wait("ana")).rejects.toMatchObject({ code: "too_many_waiting", status: 503 });
  disconnected.abort();
  await vi.advanceTimersByTimeAsync(1);
  expect(await waits[0]).toMatchObject({ moved: false });
  waits.push(wait("ana"));
  for (let other = 0; other < maxWaiting - maxPerCaller; other++) waits.push(wait(`bo${other}`));
  await vi.advanceTimersByTimeAsync(1);
  await expect(wait("cy")).rejects.toMatchObject({ code: "too_many_waiting" });
  await api.must("approve", id);
  await vi.advanceTimersByTimeAsync(200);
  expect((await Promise.all(waits.slice(1))).every(({ moved }) => moved)).toBe(true);
  // The requests that have ended take no places any more.
  const [leave] = Array.from({ length: maxWaiting }, () => commits.join(maxWaiting, maxWaiting, "dee", "waiting"));
  expect(leave).toBeDefined();
});

test("with If-None-Match no revision is missed, and a timeout without a new one is 304", async () => {
  const api = await service({ intent: { policy: { required_approvers: { standard: 2 } } } });
  const id = await api.bring("pending_consent");
  await api.post("approve", { change_id: id, approver: "ana" });
  // A caller that knows revision 1 gets the consent since then, although the status is the same.
  const late = await api.get(`changes/${id}?wait=60`, { "if-none-match": '"1"' });
  expect([late.status, late.body.revision, late.body.status]).toEqual([200, 2, "pending_consent"]);
  const unchanged = api.get(`changes/${id}?wait=1`, { "if-none-match": 'W/"1", W/"2"' });
  await vi.advanceTimersByTimeAsync(1_500);
  expect([(await unchanged).status, (await unchanged).text, (await unchanged).headers.get("etag")]).toEqual([
    304,
    "",
    '"2"',
  ]);
  // Without wait the header is ignored, since gates and outcome change without a new revision.
  expect((await api.get(`changes/${id}`, { "if-none-match": '"2"' })).status).toBe(200);
  await api.post("deny", { change_id: id, approver: "bo" });
  const ended = await api.get(`changes/${id}?wait=60`, { "if-none-match": '"3"' });
  expect([ended.status, ended.body.status]).toEqual([200, "denied"]);
  for (const wait of ["61", "-1", "x", "1.5"]) expect((await api.get(`changes/${id}?wait=${wait}`)).status).toBe(400);
});

test("a client that disconnects no longer counts as waiting", async () => {
  vi.useRealTimers();
  const base = createCommitSignal();
  const changed: (() => void)[] = [];
  let waiting = 0;
  const addWaiting = (change: number): void => {
    waiting += change;
    for (const resolve of changed.splice(0)) resolve();
  };
  const commits: CommitSignal = Object.create(base, {
    join: {
      value: (...args: Parameters<CommitSignal["join"]>) => {
        const leave = base.join(...args);
        addWaiting(1);
        return () => {
          leave?.();
          addWaiting(-1);
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
  const waitForCount = async (count: number): Promise<void> => {
    while (waiting !== count) await new Promise<void>((resolve) => changed.push(resolve));
  };
  const client = new AbortController();
  const request = fetch(`${server.url}/api/product/changes/${id}?wait=60`, { signal: client.signal });
  await waitForCount(1);
  client.abort();
  await expect(request).rejects.toThrow("aborted");
  await waitForCount(0);
});
