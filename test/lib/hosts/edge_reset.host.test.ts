/** A reset of the Durable Object interrupts requests and loses no acknowledged data. */
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

  /** Resets the object while the host product delays its response to an apply: before or after it sets the value. */
  async function interruptApply(when: "before" | "after"): Promise<void> {
    host = await startWebhookHost(SECRET);
    onTestFinished(() => host.stop());
    api = startSetupService(url, { SVC_PRODUCT_ADAPTER: host.url, SVC_ADAPTER_SECRET: SECRET });
    change_id = await api.bring("approved");
    const { opened: applyReceived, open } = makeBarrier();
    const noResponse: FaultyResponse = () => open();
    host.planFault("apply", when, noResponse);
    const applying = api.act("apply", change_id);
    await applyReceived;
    await api.reset();
    expect(await applying).toMatchObject(INTERRUPTED);
  }
  const runCycle = () => api.post("/api/action/run-now", { action: "cycle" });
  /** Returns the change's events after its proposal and consent. */
  const listNewEvents = async () => events(await api.audit(`?change_id=${change_id}`)).slice(2);

  test("is not resumed by requests or cycles until its lease ends", async () => {
    await interruptApply("before");
    // A lease lasts 60 seconds.
    api.advance(59 * SECOND);
    expect((await api.act("apply", change_id)).body).toMatchObject({ status: 409, code: "operation_in_progress" });
    expect((await runCycle()).status).toBe(200);
    expect(await listNewEvents()).toEqual([]);
    expect((await api.change(change_id)).status).toBe("approved");
  });

  test("after the host product set the value is completed by the next cycle", async () => {
    await interruptApply("after");
    expect((await api.change(change_id)).status).toBe("approved");
    api.advance(60 * SECOND);
    expect((await runCycle()).body.result).toMatchObject({ resolved: 1 });
    expect(await listNewEvents()).toEqual(["change_applied"]);
    expect((await api.change(change_id)).status).toBe("applied");
    expect(host.effects).toEqual([`apply ${change_id}`]);
    await api.must("rollback", change_id);
    expect(host.states.get(change_id)).toBe("rolled_back");
  });

  test("before the host product set the value is recorded as failed, and can be requested again", async () => {
    await interruptApply("before");
    api.advance(60 * SECOND);
    expect((await api.act("apply", change_id)).status).toBe(200);
    expect(await listNewEvents()).toEqual(["change_apply_failed", "change_applied"]);
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
  const { opened: applyReceived, open } = makeBarrier();
  let delayedResponse: ServerResponse | undefined;
  host.planFault("apply", "after", (response) => ((delayedResponse = response), open()));
  const caller = httpRequest(`${url}/api/product/apply`, {
    method: "POST",
    headers: { [SETUP_HEADER]: setupText(api.setup), "content-type": "application/x-www-form-urlencoded" },
    agent: false,
  });
  caller.on("error", () => undefined).end(`change_id=${change_id}`);
  const disconnected = new Promise((resolve) => caller.on("close", resolve));
  await applyReceived;
  caller.destroy();
  await disconnected;
  expect((await api.change(change_id)).status).toBe("approved");
  delayedResponse!.writeHead(200, { "content-type": "application/json" }).end('{"result":"applied"}');
  expect((await stream.next("audit")).data).toMatchObject({ event_type: "change_applied", change_id });
});

test("all acknowledged concurrent writes survive the reset, in one valid chain", async () => {
  const api = startSetupService(url);
  await api.propose();
  let replyCount = 0;
  const { opened: fiveReplies, open } = makeBarrier();
  const writes = Array.from({ length: 60 }, async () => {
    const reply = await api.post("propose-crm-followup", FOLLOWUP);
    if (++replyCount === 5) open();
    return reply;
  });
  await fiveReplies;
  await api.reset();
  const replies = await Promise.all(writes);
  for (const reply of replies.filter(({ status }) => status !== 201)) expect(reply).toMatchObject(INTERRUPTED);
  const acknowledged = replies.filter(({ status }) => status === 201);
  expect(acknowledged.length).toBeGreaterThanOrEqual(5);

  const entries = new Map((await api.audit()).map((entry) => [entry.current_hash, entry]));
  for (const { body } of acknowledged) expect(entries.get(body.audit_entry.current_hash)).toEqual(body.audit_entry);
  const { changes, total } = (await api.get("runtime")).body;
  // The first entry is that of the intent.
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
    const interrupted = await api.fetchAfterReset(write());
    expect(interrupted.headers.get("retry-after")).toBe("1");
    expect(await interrupted.json()).toMatchObject({ ...INTERRUPTED.body, request_id: "r1" });
    expect((await api.audit()).length).toBe(2);
    expect((await api.fetch(write())).status).toBe(201);
    expect((await api.fetch(write())).headers.get("idempotency-replayed")).toBe("true");
    expect((await api.audit()).length).toBe(3);
  });
});

test("after a reset a client of the event stream continues after the event that it names", async () => {
  const api = startSetupService(url);
  const address = `${url}/api/events`;
  const headers = () => ({ [SETUP_HEADER]: setupText(api.setup) });
  const first = await readEvents(address, headers());
  await api.propose();
  const firstEvent = await first.next("audit");
  expect(firstEvent.data).toMatchObject({ id: 1, event_type: "intent_in_force" });
  expect((await first.next("audit")).data).toMatchObject({ id: 2, event_type: "change_proposed" });
  await api.reset();
  await expect(first.next("audit")).rejects.toThrow();
  await api.propose();
  const second = await readEvents(address, { ...headers(), "last-event-id": firstEvent.id });
  onTestFinished(() => second.stop());
  expect((await second.next("audit")).data).toMatchObject({ id: 2 });
  expect((await second.next("audit")).data).toMatchObject({ id: 3 });
});

test("a failed start is retried with the next request, and the response hides the cause", async () => {
  const api = startSetupService(url);
  api.setup.fails = true;
  const reply = await api.get("intent");
  expect(reply).toMatchObject({ status: 503, body: { code: "cannot_start" } });
  expect(reply.text).not.toMatch(/disk|secret/);
  delete api.setup.fails;
  expect((await api.get("intent")).status).toBe(200);
});
