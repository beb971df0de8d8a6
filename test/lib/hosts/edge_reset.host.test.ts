/** A reset of the object interrupts requests and loses no acknowledged data. */
import { request as httpRequest, type ServerResponse } from "node:http";
import type { Miniflare } from "miniflare";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { events, FOLLOWUP } from "../../support/client.ts";
import { SECOND } from "../../support/clock.ts";
import { form, get } from "../../support/requests.ts";
import { makeBarrier } from "../../support/scripted_adapter.ts";
import { startWebhookHost, type FaultyResponse, type WebhookHost } from "../../support/webhook_host.ts";
import { startWorkerd, workerScript } from "../../support/worker/edge_service.ts";
import { readEvents } from "../../support/worker/event_reader.ts";
import { SETUP_HEADER, setupText } from "../../support/worker/setup.ts";
import { SETUP_ENTRY, type SetupService, startSetupService } from "../../support/worker/setup_service.ts";

const SECRET = "a secret of sixteen or more";
const INTERRUPTED = { status: 503, body: { code: "interrupted", status: 503 } };

let workerd: Miniflare;
let url: string;

beforeAll(async () => {
  ({ workerd, url } = await startWorkerd(await workerScript(SETUP_ENTRY)));
});
afterAll(() => workerd.dispose());

describe("an apply that is interrupted", () => {
  let host: WebhookHost;
  let api: SetupService;
  let change_id: string;

  /** Resets the object while the host product holds an apply back: before it is done, or after. */
  async function interruptApply(when: "before" | "after"): Promise<void> {
    host = await startWebhookHost(SECRET);
    onTestFinished(() => host.stop());
    api = startSetupService(url, { SVC_PRODUCT_ADAPTER: host.url, SVC_ADAPTER_SECRET: SECRET });
    change_id = await api.bring("approved");
    const { opened, open } = makeBarrier();
    const held: FaultyResponse = () => open();
    host.planFault("apply", when, held);
    const applying = api.act("apply", change_id);
    await opened;
    await api.reset();
    expect(await applying).toMatchObject(INTERRUPTED);
  }
  const runCycle = () => api.post("/api/action/run-now", { action: "cycle" });
  const listed = async () => events(await api.audit(`?change_id=${change_id}`)).slice(2);

  test("is left to its owner by requests and cycles while its lease lasts", async () => {
    await interruptApply("before");
    api.advance(59 * SECOND);
    expect((await api.act("apply", change_id)).body).toMatchObject({ status: 409, code: "operation_in_progress" });
    expect((await runCycle()).status).toBe(200);
    expect(await listed()).toEqual([]);
    expect((await api.change(change_id)).status).toBe("approved");
  });

  test("and was carried out by the host product is completed by the next cycle", async () => {
    await interruptApply("after");
    expect((await api.change(change_id)).status).toBe("approved");
    api.advance(60 * SECOND);
    expect((await runCycle()).body.result).toMatchObject({ resolved: 1 });
    expect(await listed()).toEqual(["change_applied"]);
    expect((await api.change(change_id)).status).toBe("applied");
    expect(host.effects).toEqual([`apply ${change_id}`]);
    await api.must("rollback", change_id);
    expect(host.states.get(change_id)).toBe("rolled_back");
  });

  test("and never reached the host product is recorded as failed, and may be requested again", async () => {
    await interruptApply("before");
    api.advance(60 * SECOND);
    expect((await api.act("apply", change_id)).status).toBe(200);
    expect(await listed()).toEqual(["change_apply_failed", "change_applied"]);
    expect(host.effects).toEqual([`apply ${change_id}`]);
    expect((await api.get("audit/verify")).body).toMatchObject({ valid: true, length: 5 });
  });
});

test("an apply is completed although its caller disconnects", async () => {
  const host = await startWebhookHost(SECRET);
  onTestFinished(() => host.stop());
  const api = startSetupService(url, { SVC_PRODUCT_ADAPTER: host.url, SVC_ADAPTER_SECRET: SECRET });
  const change_id = await api.bring("approved");
  const stream = await readEvents(`${url}/api/events`, { [SETUP_HEADER]: setupText(api.setup) });
  onTestFinished(() => stream.stop());
  const { opened, open } = makeBarrier();
  let held: ServerResponse | undefined;
  host.planFault("apply", "after", (response) => ((held = response), open()));
  const caller = httpRequest(`${url}/api/product/apply`, {
    method: "POST",
    headers: { [SETUP_HEADER]: setupText(api.setup), "content-type": "application/x-www-form-urlencoded" },
    agent: false,
  });
  caller.on("error", () => undefined).end(`change_id=${change_id}`);
  const gone = new Promise((resolve) => caller.on("close", resolve));
  await opened;
  caller.destroy();
  await gone;
  expect((await api.change(change_id)).status).toBe("approved");
  held!.writeHead(200, { "content-type": "application/json" }).end('{"result":"applied"}');
  expect((await stream.next("audit")).data).toMatchObject({ event_type: "change_applied", change_id });
});

test("all acknowledged concurrent writes survive the reset, in one valid chain", async () => {
  const api = startSetupService(url);
  await api.propose();
  let answered = 0;
  const { opened: someAnswered, open } = makeBarrier();
  const writes = Array.from({ length: 60 }, async () => {
    const reply = await api.post("propose-crm-followup", FOLLOWUP);
    if (++answered === 5) open();
    return reply;
  });
  await someAnswered;
  await api.reset();
  const replies = await Promise.all(writes);
  for (const reply of replies.filter(({ status }) => status !== 201)) expect(reply).toMatchObject(INTERRUPTED);
  const acknowledged = replies.filter(({ status }) => status === 201);
  expect(acknowledged.length).toBeGreaterThanOrEqual(5);

  const entries = new Map((await api.audit()).map((entry) => [entry.current_hash, entry]));
  for (const { body } of acknowledged) expect(entries.get(body.audit_entry.current_hash)).toEqual(body.audit_entry);
  const { changes, total } = (await api.get("runtime")).body;
  const proposals = entries.size - 1;
  expect([changes.length, total]).toEqual([proposals, proposals]);
  expect((await api.get("audit/verify")).body).toMatchObject({ valid: true, length: entries.size });
});

describe("a request during a reset of the object", () => {
  test("is repeated when it is a read", async () => {
    const api = startSetupService(url);
    const { change_id } = await api.propose();
    const response = await api.fetchAfterReset(get(`changes/${change_id}`, {}, url));
    expect([response.status, (await response.json()).change_id]).toEqual([200, change_id]);
  });

  test("is not repeated when it is a write; the caller may repeat it with its idempotency key", async () => {
    const api = startSetupService(url);
    await api.propose();
    const write = () => form("propose-crm-followup", FOLLOWUP, { "idempotency-key": "k1", "x-request-id": "r1" }, url);
    const lost = await api.fetchAfterReset(write());
    expect(lost.headers.get("retry-after")).toBe("1");
    expect(await lost.json()).toMatchObject({ ...INTERRUPTED.body, request_id: "r1" });
    expect((await api.audit()).length).toBe(2);
    expect((await api.fetch(write())).status).toBe(201);
    expect((await api.fetch(write())).headers.get("idempotency-replayed")).toBe("true");
    expect((await api.audit()).length).toBe(3);
  });
});

test("a reader of events continues where it was", async () => {
  const api = startSetupService(url);
  const address = `${url}/api/events`;
  const headers = () => ({ [SETUP_HEADER]: setupText(api.setup) });
  const first = await readEvents(address, headers());
  await api.propose();
  const seen = await first.next("audit");
  expect(seen.data).toMatchObject({ id: 1, event_type: "intent_in_force" });
  expect((await first.next("audit")).data).toMatchObject({ id: 2, event_type: "change_proposed" });
  await api.reset();
  await expect(first.next("audit")).rejects.toThrow();
  await api.propose();
  const second = await readEvents(address, { ...headers(), "last-event-id": seen.id });
  onTestFinished(() => second.stop());
  expect((await second.next("audit")).data).toMatchObject({ id: 2 });
  expect((await second.next("audit")).data).toMatchObject({ id: 3 });
});

test("a failed start is retried with the next request, and its cause is not shown", async () => {
  const api = startSetupService(url);
  api.setup.fails = true;
  const reply = await api.get("intent");
  expect(reply).toMatchObject({ status: 503, body: { code: "cannot_start" } });
  expect(reply.text).not.toMatch(/disk|secret/);
  delete api.setup.fails;
  expect((await api.get("intent")).status).toBe(200);
});
