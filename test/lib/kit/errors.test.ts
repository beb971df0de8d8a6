/** Failures of the store and unexpected errors become responses without internal details. */
import { expect, test } from "vitest";
import { app } from "../../../handlers/index.ts";
import { RevisionConflict, StoreBusy, StoreUnavailable } from "../../../lib/store/store.ts";
import type { Log } from "../../../lib/kit/platform.ts";
import { memoryStore } from "../../../lib/store/memory.ts";
import { PROPOSAL } from "../../support/client.ts";
import { openDeps } from "../../support/deps.ts";
import { contents, failingStore } from "../../support/failing_store.ts";
import { form } from "../../support/requests.ts";
import { service, makeService } from "../../support/service.ts";

const SECRET = "SVC_ADMIN_TOKEN=hunter2 at /home/svc/state.json";

function createRecordingLog(): Log & { lines: [string, Record<string, unknown>][] } {
  const lines: [string, Record<string, unknown>][] = [];
  const addLine = (message: string, fields: Record<string, unknown> = {}) => void lines.push([message, fields]);
  return { lines, info: addLine, warn: addLine, error: addLine };
}

test.each([
  ["an Error", () => new Error(SECRET)],
  ["a TypeError", () => new TypeError(SECRET)],
  [
    "an error with fields",
    () => Object.assign(new Error(SECRET), { status: 400, code: "teapot", details: { SECRET } }),
  ],
])("%s of unknown origin is a constant 500, and is logged", async (_, createError) => {
  const log = createRecordingLog();
  const store = failingStore(memoryStore());
  const api = await service({ store, log });
  store.fail(createError);
  const before = await contents(store);
  const reply = await api.post("propose", PROPOSAL, { "x-request-id": "r-1" });
  expect([reply.status, reply.body]).toEqual([
    500,
    {
      error: "internal error; the service's log has it under this request_id",
      code: "internal",
      status: 500,
      request_id: "r-1",
    },
  ]);
  expect(log.lines).toEqual([["request failed", expect.objectContaining({ request_id: "r-1" })]]);
  expect(JSON.stringify(log.lines)).toContain("hunter2");
  expect(await contents(store)).toEqual(before);
});

test("a thrown value that is not an Error is handled", async () => {
  const store = failingStore(memoryStore());
  const api = await service({ store });
  for (const thrown of ["text", undefined, null, 0]) {
    store.fail(() => thrown as unknown as Error);
    expect((await api.post("propose", PROPOSAL)).status, String(thrown)).toBe(500);
  }
});

test("a failed read is 500 internal; at the start it prevents the start", async () => {
  const store = memoryStore();
  const starting = service({ store: { ...store, get: () => Promise.reject(new Error(SECRET)) } });
  await expect(starting).rejects.toThrow();
  const deps = await openDeps({ store });
  const broken = makeService({ ...deps, store: { ...store, texts: () => Promise.reject(new Error(SECRET)) } });
  expect(await broken.get("runtime")).toMatchObject({ status: 500, body: { code: "internal" } });
});

test.each(["propose", "approve", "deny", "withdraw", "apply", "rollback", "kpi"] as const)(
  "%s while the store cannot write is 503 and changes nothing; later it succeeds",
  async (action) => {
    const store = failingStore(memoryStore());
    const api = await service({ store });
    const statusBefore = { apply: "approved", rollback: "applied" } as const;
    const change_id = await api.bring(
      action in statusBefore ? statusBefore[action as keyof typeof statusBefore] : "pending_consent",
    );
    const send = () => {
      if (action === "propose") return api.post("propose", PROPOSAL, { "idempotency-key": "k" });
      if (action === "kpi") return api.post("kpi", { csat: 4 });
      return api.act(action, change_id, { "idempotency-key": "k" });
    };
    const before = await contents(store);
    store.fail();
    const rejected = await send();
    expect(rejected).toMatchObject({ status: 503, body: { code: "store_unavailable" } });
    // The error of `failingStore` names a file.
    expect(rejected.text).not.toContain("state.journal");
    expect(await contents(store)).toEqual(before);
    store.recover();
    expect((await send()).status).toBeLessThan(300);
  },
);

test.each([
  ["StoreBusy", () => new StoreBusy("contended")],
  ["RevisionConflict", () => new RevisionConflict("changes", "chg_1", 1, 2)],
])("%s is 503 store_busy with Retry-After", async (_, createError) => {
  const store = failingStore(memoryStore());
  const api = await service({ store });
  store.fail(createError);
  const reply = await api.post("propose", PROPOSAL);
  expect(reply).toMatchObject({ status: 503, body: { code: "store_busy" } });
  expect(Number(reply.headers.get("retry-after"))).toBeGreaterThan(0);
});

test("a closed store is 503 for writes", async () => {
  const store = memoryStore();
  const api = await service({ store });
  await store.close();
  expect(await api.post("propose", PROPOSAL)).toMatchObject({ status: 503, body: { code: "store_unavailable" } });
});

test("a host's own Response is used for answers and errors alike", async () => {
  class HostResponse extends Response {}
  const fetch = app(await openDeps({ Response: HostResponse }));
  for (const request of [form("propose", PROPOSAL), form("propose"), form("/nowhere")])
    expect(await fetch(request)).toBeInstanceOf(HostResponse);
});

test("the store's message never reaches the client", async () => {
  const store = failingStore(memoryStore());
  const api = await service({ store });
  store.fail(() => new StoreUnavailable(SECRET));
  expect((await api.post("propose", PROPOSAL)).text).not.toContain("hunter2");
});
