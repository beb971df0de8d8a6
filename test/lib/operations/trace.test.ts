/** Trace contexts: requests and records that result from a request have its trace. */
import { expect, test } from "vitest";
import { createPromptedAuditExport } from "../../../lib/operations/audit_export/sender.ts";
import { runCycle } from "../../../lib/operations/cycle.ts";
import { createPromptedNotifier } from "../../../lib/operations/prompted_notifier.ts";
import { etcdTarget } from "../../../local/targets/etcd.ts";
import { unleashTarget } from "../../../local/targets/unleash.ts";
import { parseTraceparent, runInTrace } from "../../../lib/kit/trace.ts";
import { webhookAdapter } from "../../../lib/targets/webhook.ts";
import { PROPOSAL } from "../../support/client.ts";
import { testClock } from "../../support/clock.ts";
import { service } from "../../support/service.ts";

const SPAN = "00f067aa0ba902b7";
const traceId = (digit: string): string => digit.repeat(32);
const traceHeader = (digit: string) => ({ traceparent: `00-${traceId(digit)}-${SPAN}-01` });
const readTraceId = (header: string | null | undefined): string | undefined => header?.split("-")[1];

/** Records requests with their trace header, and answers them with `answer`. */
function receiver(answer: (body: Record<string, unknown>) => object) {
  const received: { body: Record<string, unknown>; traceparent: string | null }[] = [];
  const fetch = (async (_: string, init: RequestInit) => {
    const body = JSON.parse(String(init.body ?? "{}")) as Record<string, unknown>;
    received.push({ body, traceparent: new Headers(init.headers).get("traceparent") });
    return Response.json(answer(body));
  }) as typeof globalThis.fetch;
  return { received, fetch };
}

async function tracedService() {
  const applied = new Set<string>();
  const host = receiver(({ operation, change }) => {
    const { change_id } = (change ?? {}) as { change_id: string };
    if (operation === "apply") applied.add(change_id);
    if (operation === "rollback") applied.delete(change_id);
    const state = applied.has(change_id) ? "applied" : "absent";
    return { ok: true, result: operation === "rollback" ? "rolled_back" : "applied", state };
  });
  const clock = testClock();
  const adapter = webhookAdapter({
    url: "https://host.example/hook",
    secret: "a secret of the test",
    product_id: "acme-crm",
    instance_id: "acme-crm@local",
    clock,
    fetch: host.fetch,
  });
  const lines: Record<string, unknown>[] = [];
  const record = (message: string, fields?: object) => void lines.push({ message, ...fields });
  const api = await service({ adapter, clock, log: { info: () => {}, warn: record, error: record } });
  const chat = receiver(() => ({}));
  const notifier = createPromptedNotifier(api.deps, { url: "https://chat.example", fetch: chat.fetch });
  await notifier.begin();
  const otel = receiver(() => ({}));
  const exporting = createPromptedAuditExport(api.deps, { url: "https://otel.example/v1/logs", fetch: otel.fetch });
  return { api, host, chat, notifier, otel, exporting, lines };
}

test("target system, notification and exported entry have the trace of the request", async () => {
  const { api, host, chat, notifier, otel, exporting } = await tracedService();
  const ids: string[] = [];
  // Three concurrent changes, to show that awaits and batched commits do not mix their traces.
  const scenarios = ["a", "b", "c"].map(async (digit) => {
    const fields = { ...PROPOSAL, target: `ui.${digit}`, proposer: "pat" };
    const { change_id } = (await api.post("propose", fields, traceHeader(digit))).body;
    ids.push(change_id);
    await api.act("approve", change_id, {});
    expect((await api.act("apply", change_id, traceHeader(digit))).status).toBe(200);
  });
  await Promise.all(scenarios);
  await notifier.send();
  await exporting.send();
  const ofChange = ({ body }: (typeof host.received)[0]) => (body["change"] as { target: string }).target.at(-1)!;
  const traceOfTargets = new Set(
    host.received.map((request) => `${ofChange(request)} ${readTraceId(request.traceparent)}`),
  );
  expect([...traceOfTargets].sort()).toEqual(["a", "b", "c"].map((digit) => `${digit} ${traceId(digit)}`));
  expect(host.received.every(({ traceparent }) => !traceparent!.includes(SPAN))).toBe(true);

  const traces = new Map<string, Set<string | undefined>>();
  for (const { body, traceparent } of chat.received) {
    const { change } = body["data"] as { change: { target: string } | null };
    const key = `${String(body["type"])} ${change?.target}`;
    traces.set(key, (traces.get(key) ?? new Set()).add(readTraceId(traceparent)));
  }
  expect(traces.get("change.waiting_for_consent ui.a")).toEqual(new Set([traceId("a")]));
  expect(traces.get("change.applied ui.c")).toEqual(new Set([traceId("c")]));
  // The approval was requested without a trace.
  expect(traces.get("change.decided ui.b")).toEqual(new Set([undefined]));

  type Exported = { eventName: string; traceId?: string; spanId?: string; flags?: number };
  const records = otel.received.flatMap(
    ({ body }) => (body as never as Record<"resourceLogs", { scopeLogs: { logRecords: Exported[] }[] }[]>).resourceLogs,
  );
  const exported = records.flatMap(({ scopeLogs }) => scopeLogs.flatMap(({ logRecords }) => logRecords));
  const applies = exported.filter(({ eventName }) => eventName === "countersign.change_applied");
  expect(applies.map((record) => record.traceId).sort()).toEqual(["a", "b", "c"].map(traceId));
  // The span is the one that was sent to the target systems.
  const spans = new Set(host.received.map(({ traceparent }) => traceparent!.split("-")[2]));
  for (const { spanId, flags } of applies) expect([spans.has(spanId), flags]).toEqual([true, 1]);
  const consents = exported.filter(({ eventName }) => eventName === "countersign.consent_decision");
  expect(consents.map((record) => record.traceId)).toEqual([undefined, undefined, undefined]);
  expect(otel.received.map(({ traceparent }) => traceparent)).toEqual(otel.received.map(() => null));
});

test("an invalid header is ignored, and without one no trace is sent", async () => {
  const { api, host } = await tracedService();
  // A trace id of zeros is invalid.
  for (const headers of [{ traceparent: `00-${traceId("0")}-${SPAN}-01` }, {}]) {
    const { change_id } = (await api.post("propose", { ...PROPOSAL, target: "ui.x" }, headers)).body;
    await api.act("approve", change_id, headers);
    expect((await api.act("apply", change_id, headers)).status).toBe(200);
  }
  expect(host.received.length).toBeGreaterThan(3);
  expect(new Set(host.received.map(({ traceparent }) => traceparent))).toEqual(new Set([null]));
});

test("a cycle starts a new trace, whichever request triggers it", async () => {
  const { api, host } = await tracedService();
  // Each complete cycle sends a ping to the target system.
  await runCycle(api.deps);
  expect((await api.post("/api/action/run-now", { action: "cycle" }, traceHeader("a"))).status).toBe(200);
  await runCycle(api.deps);
  const traces = host.received.map(({ traceparent }) => readTraceId(traceparent));
  expect(traces).not.toContain(undefined);
  expect(traces).not.toContain(traceId("a"));
  expect(new Set(traces).size).toBeGreaterThan(1);
});

test("the log line of a failed request has the caller's trace, and no other text of the header", async () => {
  const { api, lines } = await tracedService();
  api.deps.store.get = () => Promise.reject(new Error("broken"));
  const futureVersion = traceHeader("b").traceparent.replace("00-", "01-");
  for (const traceparent of [traceHeader("a").traceparent, `${futureVersion}-${"Carla ".repeat(2_000)}`, "nonsense"])
    await api.get("changes/chg_00000000-0000-7000-8000-000000000000", { traceparent });
  const failed = lines.filter(({ message }) => message === "request failed");
  expect(failed.map(({ traceparent }) => traceparent)).toEqual([
    traceHeader("a").traceparent,
    futureVersion,
    undefined,
  ]);
});

test.each([
  ["etcd", (fetch: typeof globalThis.fetch) => etcdTarget({ name: "e", url: "http://e", key: () => "k", fetch })],
  [
    "unleash",
    (fetch: typeof globalThis.fetch) =>
      unleashTarget({ name: "u", url: "http://u", project: "p", environment: "e", token: "t", fetch }),
  ],
])("a request to %s has the trace too", async (_, open) => {
  const system = receiver(() => ({ header: {} }));
  const entry = { tenant_id: "t1", target: "ui.x", kind: "config" } as const;
  const read = async () =>
    open(system.fetch)
      .read(entry, new AbortController().signal)
      // Only the request counts: the answer is none of Unleash.
      .catch(() => undefined);
  await runInTrace(parseTraceparent(traceHeader("a").traceparent), read);
  expect(system.received.map(({ traceparent }) => readTraceId(traceparent))).toContain(traceId("a"));
});
