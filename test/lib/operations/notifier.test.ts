/** Webhooks to a real HTTP receiver that works, is slow, fails, or does not answer. */
import { createHmac } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { describe, expect, onTestFinished, test } from "vitest";
import { startNotifier } from "../../../lib/operations/notifier.ts";
import type { SendTimes } from "../../../lib/operations/send_loop.ts";
import { createPromptedNotifier } from "../../../lib/operations/prompted_notifier.ts";
import type { NotifyFormat } from "../../../lib/operations/notify/format.ts";
import { NOTIFICATION_TYPES } from "../../../lib/operations/notify/notification.ts";
import { parseWebhookKey, signWebhook } from "../../../lib/kit/webhook_signature.ts";
import { memoryStore } from "../../../lib/store/memory.ts";
import type { Store } from "../../../lib/store/store.ts";
import { HOUR } from "../../support/clock.ts";
import { fails, makeBarrier } from "../../support/scripted_adapter.ts";
import { openOperations, type OperationsService } from "./operations_service.ts";

const SECRET = "a secret of the two of us";
/** Timeouts and pauses longer than any test, except the pauses between attempts. */
const TIMES: SendTimes = { timeout: 1e9, firstRetry: 1, longestRetry: 4, longestPause: 1e9, poll: 1e9 };

interface Delivery {
  headers: IncomingMessage["headers"];
  text: string;
  // oxlint-disable-next-line typescript/no-explicit-any -- any JSON
  body: any;
}

/** Answers a request to the receiver. */
type Responder = (response: ServerResponse, request: IncomingMessage) => void;

const ok: Responder = (response) => void response.writeHead(204).end();

/** Starts a receiver that answers with each of `responders` once, and then with 204. It records every request. */
async function receiver(...responders: Responder[]) {
  const deliveries: Delivery[] = [];
  const watchers = new Set<() => void>();
  const server: Server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      const text = Buffer.concat(chunks).toString();
      deliveries.push({ headers: request.headers, text, body: JSON.parse(text) });
      (responders.shift() ?? ok)(response, request);
      for (const checkArrived of watchers) checkArrived();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  return {
    url: `http://127.0.0.1:${port}/hook`,
    deliveries,
    /** Resolves when `count` requests have arrived. */
    arrived: (count: number) =>
      new Promise<void>((resolve) => {
        const checkArrived = () => {
          if (deliveries.length < count) return;
          watchers.delete(checkArrived);
          resolve();
        };
        watchers.add(checkArrived);
        checkArrived();
      }),
  };
}

/** Starts a notifier for the events from now on, which stops at the end of the test. */
async function startNotifying(
  { deps }: OperationsService,
  url: string,
  times: Partial<SendTimes> = {},
  { format = "json" }: { format?: NotifyFormat } = {},
) {
  const notifier = startNotifier(deps, { url, format, secret: SECRET, times: { ...TIMES, ...times } });
  while (!(await deps.store.get("meta", "notify"))) await new Promise((resolve) => setImmediate(resolve));
  onTestFinished(() => notifier.stop());
  return notifier;
}

const types = (deliveries: readonly Delivery[]): string[] => deliveries.map(({ body }) => body.type);

/** Verifies the signature as a receiver would, without the sender's code. */
function expectSigned({ headers, text }: Delivery): void {
  const signed = `${headers["webhook-id"]}.${headers["webhook-timestamp"]}.${text}`;
  const mac = createHmac("sha256", SECRET).update(signed).digest("base64");
  expect(headers["webhook-signature"]).toBe(`v1,${mac}`);
}

test("the signature matches the example of Standard Webhooks", () => {
  // The example of the specification's reference libraries.
  const key = parseWebhookKey("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw");
  const signature = signWebhook(key, "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, '{"test": 2432232314}');
  expect(signature).toBe("v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=");
});

test.each([
  ["short", "must have 16 characters or more"],
  // The base64 of "short".
  ["whsec_c2hvcnQ=", "must have 16 characters or more"],
  ["whsec_no base64 at all!", "must be base64 after whsec_"],
])("the secret %s is rejected, and the error does not contain it", (secret, message) => {
  expect(() => parseWebhookKey(secret)).toThrow(message);
  expect(() => parseWebhookKey(secret)).not.toThrow(secret);
});

test("each event with a notification is sent in order and signed, without a token", async () => {
  const { url, deliveries, arrived } = await receiver();
  const svc = await openOperations({
    adminToken: "sesame-open-now",
    intent: {
      kpis: { csat: { baseline: 4, target: 5 } },
      policy: {
        minor: { kinds: ["config"], targets: ["ui.*"] },
        required_approvers: { standard: 2 },
        guardrails: [{ kpi: "csat", max_regression: 0.1, action: "rollback" }],
      },
    },
  });
  await startNotifying(svc, url);
  const token = { "x-svc-admin-token": "sesame-open-now" };
  const post = async (path: string, fields: Record<string, string | number | boolean>) =>
    (await svc.post(path, fields, token)).body;

  await post("kpi", { csat: 4 });
  const proposal = { tenant_id: "t1", kind: "config", target: "crm.score", summary: "Score again", kpi: "csat" };
  const { change_id } = await post("propose", proposal);
  await post("approve", { change_id, approver: "ana" });
  await post("approve", { change_id, approver: "bo" });
  svc.host.on("apply", fails("disk full"), 1);
  await post("apply", { change_id });
  await post("apply", { change_id });
  // The host product loses the change, which the cycle reports as drift, and has it again.
  svc.host.host.delete(change_id);
  await svc.cycle();
  svc.host.host.set(change_id, "applied");
  svc.host.on("rollback", fails("disk full"), 1);
  await post("rollback", { change_id });
  await post("kpi", { csat: 3.5 });
  await svc.cycle();
  await post("propose", {
    ...proposal,
    target: "ui.a",
    tier: "minor",
    affected_users: 1,
    risk: "low",
    reversible: true,
  });
  // Nine notifications of entries, and two of the growth log.
  await arrived(11);
  await svc.cycle();

  // Notifications of entries come in the order of the log; those of the growth log come after them.
  const fromGrowthLog = ["guardrail.tripped", "outcome.verdict"];
  expect(types(deliveries).filter((type) => !fromGrowthLog.includes(type))).toEqual([
    // For the proposal, and after the first of two consents.
    "change.waiting_for_consent",
    "change.waiting_for_consent",
    "change.decided",
    "change.apply_failed",
    "change.applied",
    "change.drifted",
    "change.rollback_failed",
    "change.rolled_back",
    "change.decided",
  ]);
  expect(types(deliveries).filter((type) => fromGrowthLog.includes(type))).toEqual(fromGrowthLog);
  // Other tests cover these: they need time, tampering, a contested value or an automatic apply.
  const others = [
    "change.expiring",
    "change.review_due",
    "breach.found",
    "change.restore_contested",
    "change.apply_blocked",
  ];
  expect(new Set(types(deliveries))).toEqual(new Set(NOTIFICATION_TYPES.filter((type) => !others.includes(type))));
  for (const delivery of deliveries) {
    expectSigned(delivery);
    expect(delivery.headers["webhook-id"]).toBe(delivery.body.id);
    const { id, type, timestamp, data } = delivery.body;
    expect(delivery.headers).toMatchObject({
      "content-type": "application/json",
      "ce-specversion": "1.0",
      "ce-id": id,
      "ce-source": "/countersign/acme-crm%40local",
      "ce-type": `dev.countersign.${type}`,
      "ce-time": timestamp,
    });
    expect(delivery.headers["ce-subject"]).toBe(data.change?.change_id);
    expect(delivery.text).not.toContain("sesame");
  }
  expect(new Set(deliveries.map(({ body }) => body.id)).size).toBe(deliveries.length);
  const entries = deliveries.flatMap(({ body }) => body.data.audit_entry?.id ?? []);
  expect(entries).toEqual([...entries].sort((a, b) => a - b));
  const failed = deliveries.find(({ body }) => body.type === "change.apply_failed")!.body;
  expect(failed).toMatchObject({
    product_id: "acme-crm",
    instance_id: "acme-crm@local",
    data: {
      change: { change_id, target: "crm.score", summary: "Score again" },
      audit_entry: { event_type: "change_apply_failed" },
    },
  });
  const verdict = deliveries.find(({ body }) => body.type === "outcome.verdict")!.body;
  expect(verdict.data).toMatchObject({
    change: { change_id },
    outcome: { change_id, kpi: "csat", verdict: "regressed" },
  });
});

test("the end of a change's automatic apply is notified with the reason until it is delivered", async () => {
  const fail: Responder = (response) => void response.writeHead(503).end();
  const { url, deliveries, arrived } = await receiver(ok, fail, fail);
  const svc = await openOperations({ intent: { policy: { apply_when: ["manual", "scheduled"] } } });
  const notifier = await startNotifying(svc, url);
  const { clock } = svc.deps;
  const apply_when = new Date(clock.now() + HOUR).toISOString();
  const { change_id } = await svc.propose({ apply_when });
  await arrived(1);
  clock.advance(2 * HOUR);
  await svc.must("approve", change_id);
  // The proposal, three attempts to send the end of the automation, and the decision, which the log has after that end.
  await arrived(5);
  while (notifier.problem() !== null) await new Promise((resolve) => setImmediate(resolve));
  const blocked = deliveries.filter(({ body }) => body.type === "change.apply_blocked");
  expect(blocked).toHaveLength(3);
  expect(new Set(blocked.map(({ headers }) => headers["webhook-id"])).size).toBe(1);
  for (const delivery of blocked) expectSigned(delivery);
  const { text, data } = blocked.at(-1)!.body;
  expect(text).toContain("a consent came after the time at which it was to be applied");
  expect(data).toMatchObject({
    change: { change_id, target: "ui.banner" },
    audit_entry: { event_type: "automation_stopped" },
  });
  expect(types(deliveries).at(-1)).toBe("change.decided");
});

test.each<[string, Responder, Partial<SendTimes>]>([
  ["answers 500", (response) => void response.writeHead(500).end("no"), {}],
  ["redirects elsewhere", (response) => void response.writeHead(307, { location: "/elsewhere" }).end(), {}],
  ["drops the connection", (_response, request) => void request.socket.destroy(), {}],
  ["never answers", () => {}, { timeout: 50 }],
])("a receiver that %s gets the same notification with the same id until it accepts", async (_, responder, times) => {
  const { url, deliveries, arrived } = await receiver(responder, responder, responder);
  const svc = await openOperations();
  const notifier = await startNotifying(svc, url, times);
  await svc.propose();
  await arrived(3);
  expect(notifier.problem()).toMatch(/^the receiver /);
  while (notifier.problem() !== null) await new Promise((resolve) => setImmediate(resolve));
  const tries = deliveries.length;
  expect(tries).toBeGreaterThanOrEqual(4);
  expect(new Set(deliveries.map(({ body }) => body.id)).size).toBe(1);
  await svc.propose({ target: "ui.colour" });
  await arrived(tries + 1);
  expect(deliveries[tries]!.body.id).not.toBe(deliveries[0]!.body.id);
  for (const delivery of deliveries) expectSigned(delivery);
});

test("a request to a silent receiver times out, even if garbage is collected meanwhile", async () => {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  const { url, arrived } = await receiver(() => {});
  const svc = await openOperations();
  await startNotifying(svc, url, { timeout: 200 });
  await svc.propose();
  await arrived(1);
  let isRepeated = false;
  const second = arrived(2).then(() => (isRepeated = true));
  while (!isRepeated) {
    collect();
    await new Promise((resolve) => setImmediate(resolve));
  }
  await second;
});

test("a notification links to the change in the console, where its address is known", async () => {
  const { url, deliveries, arrived } = await receiver();
  const svc = await openOperations({ publicUrl: "https://gov.acme.example/console" });
  await startNotifying(svc, url);
  const { change_id } = await svc.propose();
  await arrived(1);
  expect(deliveries[0]!.body.url).toBe(`https://gov.acme.example/console/#/changes/${change_id}`);
});

test("requests do not wait for a receiver that does not respond", async () => {
  const { url, deliveries, arrived } = await receiver(() => {});
  const svc = await openOperations();
  await startNotifying(svc, url);
  await svc.propose();
  await arrived(1);
  for (let count = 0; count < 20; count++) expect((await svc.bring("applied")).startsWith("chg_")).toBe(true);
  expect(deliveries).toHaveLength(1);
});

test("after a restart no notification is lost, and delivered ones are not sent again", async () => {
  const hang: Responder = () => {};
  const { url, deliveries, arrived } = await receiver(ok, hang);
  const svc = await openOperations();
  const first = await startNotifying(svc, url);
  const delivered = await svc.propose();
  const unanswered = await svc.propose({ target: "ui.colour" });
  await arrived(2);
  await first.stop();
  const missed = await svc.propose({ target: "ui.font" });
  await startNotifying(svc, url);
  await arrived(4);
  const changeIds = deliveries.map(({ body }) => body.data.change.change_id);
  expect(changeIds).toEqual([delivered.change_id, unanswered.change_id, unanswered.change_id, missed.change_id]);
  expect(deliveries[1]!.body.id).toBe(deliveries[2]!.body.id);
});

test("of several pending notifications at a restart, delivered ones are not sent again", async () => {
  const { url, deliveries, arrived } = await receiver(ok, () => {});
  const svc = await openOperations();
  await (await startNotifying(svc, url)).stop();
  const changes = [await svc.propose(), await svc.propose({ target: "ui.colour" })];
  const second = await startNotifying(svc, url);
  await arrived(2);
  await second.stop();
  await startNotifying(svc, url);
  await arrived(3);
  const [first, next] = changes.map(({ change_id }) => change_id);
  expect(deliveries.map(({ body }) => body.data.change.change_id)).toEqual([first, next, next]);
});

test("events before the first start are not notified", async () => {
  const { url, deliveries, arrived } = await receiver();
  const svc = await openOperations();
  await svc.bring("applied");
  await startNotifying(svc, url);
  const { change_id } = await svc.propose({ target: "ui.colour" });
  await arrived(1);
  expect(deliveries[0]!.body.data.change.change_id).toBe(change_id);
});

test("a store that cannot be read delays the next notification, and loses none", async () => {
  const { url, deliveries, arrived } = await receiver();
  const base = memoryStore();
  let broken = false;
  const { opened: failed, open: reportFailure } = makeBarrier();
  const unlessBroken = <T>(read: () => Promise<T>): Promise<T> => {
    if (!broken) return read();
    reportFailure();
    return Promise.reject(new Error("disk gone"));
  };
  const store: Store = {
    ...base,
    get: (collection, id) => unlessBroken(() => base.get(collection, id)),
    list: (collection, options) => unlessBroken(() => base.list(collection, options)),
  };
  const svc = await openOperations({ store });
  await startNotifying(svc, url);
  await svc.propose();
  await arrived(1);
  broken = true;
  svc.deps.commits!.notify();
  await failed;
  broken = false;
  await svc.propose({ target: "ui.colour" });
  await arrived(2);
  expect(types(deliveries)).toEqual(["change.waiting_for_consent", "change.waiting_for_consent"]);
});

test("the wait between retries, without a shortening by jitter, doubles up to its limit", async () => {
  const failureTimes: number[] = [];
  const { url, arrived } = await receiver(
    ...Array.from({ length: 6 }, (): Responder => (response) => void response.writeHead(500).end()),
  );
  const svc = await openOperations();
  const notifier = startNotifier(svc.deps, {
    url,
    secret: SECRET,
    times: { ...TIMES, firstRetry: 1, longestRetry: 8 },
    // Called once after each failure; 1 does not shorten the pause.
    random: () => {
      failureTimes.push(performance.now());
      return 1;
    },
  });
  onTestFinished(() => notifier.stop());
  while (!(await svc.deps.store.get("meta", "notify"))) await new Promise((resolve) => setImmediate(resolve));
  await svc.propose();
  await arrived(7);
  expect(failureTimes).toHaveLength(6);
  // 1, 2, 4, 8, 8 ms at least between one failure and the next.
  for (const [index, wait] of [1, 2, 4, 8, 8].entries())
    expect(failureTimes[index + 1]! - failureTimes[index]!).toBeGreaterThanOrEqual(wait - 1);
});

const answerWith =
  (status: number, text = "", headers = {}): Responder =>
  (response) =>
    void response.writeHead(status, headers).end(text);

test.each<[title: string, retryAfter: string, waitMs: number]>([
  // The clock shows 03:04:05.678.
  ["with a date", "Fri, 02 Jan 2026 03:04:06 GMT", 322],
  ["with a number of seconds, up to the longest pause", "86400", 400],
])("a receiver that sends Retry-After %s gets no request until then", async (_, retryAfter, waitMs) => {
  const { url, deliveries, arrived } = await receiver(answerWith(429, "", { "retry-after": retryAfter }));
  const svc = await openOperations();
  const notifier = await startNotifying(svc, url, { longestPause: 400 }, { format: "slack" });
  await svc.propose();
  await arrived(1);
  const answeredAt = performance.now();
  while (notifier.problem() === null) await new Promise((resolve) => setImmediate(resolve));
  expect(notifier.problem()).toBe("the receiver answered 429: it asks for a pause");
  await arrived(2);
  expect(performance.now() - answeredAt).toBeGreaterThanOrEqual(waitMs - 10);
  expect(deliveries[1]!.text).toBe(deliveries[0]!.text);
});

test.each<[NotifyFormat, number, string, string]>([
  [
    "slack",
    404,
    "no_service",
    "the receiver answered 404 no_service: its webhook was removed or disabled; make a new one in Slack and give its address as --notify-url",
  ],
  [
    "slack",
    410,
    "channel_is_archived",
    "the receiver answered 410 channel_is_archived: the channel of the webhook is archived; open it again, or make a webhook for another one",
  ],
  [
    "teams",
    404,
    '{"error":"hooks.example/secret"}',
    "the receiver answered 404: there is nothing at this address any more; give the right one as --notify-url",
  ],
  [
    "teams",
    400,
    "",
    "the receiver answered 400: it does not read this as a message; does --notify-format fit the address?",
  ],
  [
    "teams",
    200,
    "Webhook message delivery failed with error: Microsoft Teams endpoint returned HTTP error 429 with ContextId a=b,c=hidden",
    "the receiver answered 200, and Teams says that the delivery failed with HTTP error 429",
  ],
  ["json", 401, "", "the receiver answered 401: it does not let this service in; its secret must be SVC_NOTIFY_SECRET"],
  ["json", 418, "hooks.example/secret", "the receiver answered 418"],
])("%s: the meaning of %i %s is explained without the address", async (format, status, text, problem) => {
  const lines: unknown[] = [];
  const record = (message: string, fields?: object) => void lines.push({ message, ...fields });
  const log = { info: record, warn: record, error: record };
  const svc = await openOperations({ log });
  const { url, arrived } = await receiver(...Array.from({ length: 3 }, () => answerWith(status, text)));
  const notifier = await startNotifying(svc, `${url}/T0/B0/hidden`, {}, { format });
  await svc.propose();
  await arrived(2);
  expect(notifier.problem()).toBe(problem);
  await arrived(4);
  while (notifier.problem() !== null) await new Promise((resolve) => setImmediate(resolve));
  const reported = lines.filter((line) => JSON.stringify(line).includes("notification"));
  expect(reported).toEqual([
    { message: "a notification did not get through; it is tried again", id: expect.any(String), failure: problem },
    { message: "notifications get through again", id: expect.any(String) },
  ]);
  expect(JSON.stringify(lines)).not.toMatch(/hidden|secret"|127\.0\.0\.1/);
});

test.each<NotifyFormat>(["slack", "teams"])(
  "notifications to %s have no signature, since the address is the secret",
  async (format) => {
    const { url, deliveries, arrived } = await receiver();
    const svc = await openOperations({ publicUrl: "https://gov.acme.example" });
    await startNotifying(svc, url, {}, { format });
    const { change_id } = await svc.propose({ proposer: "pat" });
    await arrived(1);
    expect(Object.keys(deliveries[0]!.headers).filter((name) => name.startsWith("webhook"))).toEqual([]);
    expect(deliveries[0]!.text).toContain("pat proposes “Show the banner” (ui.banner for tenant t1)");
    expect(deliveries[0]!.text).toContain(`https://gov.acme.example/#/changes/${change_id}`);
  },
);

test("undelivered notifications show in the capability map", async () => {
  let problem: string | null = null;
  const svc = await openOperations({ notifier: { problem: () => problem } });
  const readCapability = async () =>
    (await svc.get("/api/capabilities")).body.capabilities.find(({ id }: { id: string }) => id === "notifications");
  expect(await readCapability()).toMatchObject({ status: "available", reason: null });
  problem = "the receiver answered 500";
  expect(await readCapability()).toMatchObject({ status: "failing", reason: "the receiver answered 500" });
});

test("while the store rejects writes nothing is sent twice, and one line is logged", async () => {
  const lines: string[] = [];
  const log = { info: () => {}, warn: (message: string) => void lines.push(message), error: () => {} };
  const base = memoryStore();
  let broken = false;
  let failures = 0;
  const { opened: failedOften, open: reportFailedOften } = makeBarrier();
  const store: Store = {
    ...base,
    transact: (decide) => {
      if (!broken) return base.transact(decide);
      if (++failures === 5) reportFailedOften();
      return Promise.reject(new Error("disk full"));
    },
  };
  const { url, arrived, deliveries } = await receiver((response) => {
    broken = true;
    ok(response, response.req);
  });
  const svc = await openOperations({ store, log });
  const notifier = await startNotifying(svc, url, { poll: 1 });
  await svc.propose();
  await failedOften;
  expect(types(deliveries)).toEqual(["change.waiting_for_consent"]);
  expect(notifier.problem()).toBe("the store cannot be used");
  expect(lines).toEqual(["notifications wait for the store"]);
  broken = false;
  await svc.propose({ target: "ui.other" });
  await arrived(2);
  expect(deliveries[1]!.body.data.change.target).toBe("ui.other");
  while (notifier.problem() !== null) await new Promise((resolve) => setImmediate(resolve));
});

describe("on a host that runs only during requests, the notifier", () => {
  const proposeAndApprove = async ({ propose, act }: OperationsService) => act("approve", (await propose()).change_id);
  const openNotifier = async ({ deps }: OperationsService, url: string) => {
    const notifier = createPromptedNotifier(deps, { url, secret: SECRET });
    await notifier.send(); // The first call begins with the events from now on.
    return notifier;
  };

  test("sends due notifications on request, in order and once, however often it is called", async () => {
    const { url, deliveries } = await receiver();
    const svc = await openOperations();
    await svc.propose();
    const notifier = await openNotifier(svc, url);
    expect(deliveries).toEqual([]);
    await proposeAndApprove(svc);
    await Promise.all([notifier.send(), notifier.send(), notifier.send()]);
    expect(types(deliveries)).toEqual(["change.waiting_for_consent", "change.decided"]);
    deliveries.forEach(expectSigned);
    await notifier.send();
    expect(deliveries).toHaveLength(2);
  });

  test("tries once at each call, and continues where it stopped, also as another instance", async () => {
    const failing: Responder = (response) => void response.writeHead(500).end();
    const { url, deliveries } = await receiver(failing, failing);
    const svc = await openOperations();
    const notifier = await openNotifier(svc, url);
    await proposeAndApprove(svc);
    await notifier.send();
    expect(deliveries).toHaveLength(1);
    expect(notifier.problem()).toBe("the receiver answered 500");
    await notifier.send();
    expect(deliveries).toHaveLength(2);
    const restarted = createPromptedNotifier(svc.deps, { url, secret: SECRET });
    await restarted.send();
    expect(types(deliveries.slice(1))).toEqual([
      "change.waiting_for_consent",
      "change.waiting_for_consent",
      "change.decided",
    ]);
    expect(new Set(deliveries.map(({ body }) => body.id)).size).toBe(2);
    expect(restarted.problem()).toBeNull();
  });

  test("sends nothing for the time that the receiver requests", async () => {
    const { url, deliveries } = await receiver(
      (response) => void response.writeHead(429, { "retry-after": "120" }).end(),
    );
    const svc = await openOperations();
    const notifier = await openNotifier(svc, url);
    await svc.propose();
    await notifier.send();
    await notifier.send();
    expect(deliveries).toHaveLength(1);
    svc.passHours(1);
    await notifier.send();
    expect(deliveries).toHaveLength(2);
    expect(notifier.problem()).toBeNull();
  });

  test("never fails its caller: an unusable store is reported as a problem until it works again", async () => {
    const { url, deliveries } = await receiver();
    const svc = await openOperations();
    const notifier = await openNotifier(svc, url);
    await svc.propose();
    const { get } = svc.deps.store;
    svc.deps.store.get = () => Promise.reject(new Error("gone"));
    await notifier.send();
    expect(notifier.problem()).toBe("the store cannot be used");
    svc.deps.store.get = get;
    await notifier.send();
    expect(types(deliveries)).toEqual(["change.waiting_for_consent"]);
    expect(notifier.problem()).toBeNull();
  });
});
