/** The export of audit entries to a collector that works, is down, is slow, or rejects them. */
import { expect, onTestFinished, test } from "vitest";
import { createChain, entryKey, nextEntry } from "../../../lib/audit/chain.ts";
import { readExportHeaders, logsAddress } from "../../../lib/operations/audit_export/options.ts";
import { logRecord } from "../../../lib/operations/audit_export/records.ts";
import { createPromptedAuditExport, startAuditExport } from "../../../lib/operations/audit_export/sender.ts";
import type { SendTimes } from "../../../lib/operations/send_loop.ts";
import { memoryStore } from "../../../lib/store/memory.ts";
import { version } from "../../../lib/kit/version.ts";
import { PROPOSAL } from "../../support/client.ts";
import { HOUR, MINUTE, SECOND, START } from "../../support/clock.ts";
import { failingStore } from "../../support/failing_store.ts";
import { service } from "../../support/service.ts";

const ENTRY = {
  origin: "acme-crm/audit/1",
  id: 1,
  timestamp: "2026-11-20T09:30:00.000Z",
  change_id: "chg_1",
  tenant: "t-100",
  detail: "{}",
  previous_hash: "",
  current_hash: "",
};
const COLLECTOR_URL = "https://otel.example/v1/logs";
/** Short timeouts and pauses of the real clock. */
const TIMES: SendTimes = { timeout: 20, firstRetry: 1, longestRetry: 4, longestPause: 1e9, poll: 1e9 };
/** Long timeouts and pauses, of the clock of the test. */
const LONG_TIMES: SendTimes = {
  ...TIMES,
  timeout: 10_000,
  firstRetry: SECOND,
  longestRetry: 5 * MINUTE,
  longestPause: HOUR,
};

interface LogRecord {
  timeUnixNano: string;
  severityNumber: number;
  eventName: string;
  body: { stringValue: string };
  attributes: { key: string; value: { stringValue?: string; intValue?: string } }[];
}

type Responder = (signal: AbortSignal) => Response | Promise<Response>;

interface Collector {
  responder: Responder;
  accepted: LogRecord[];
  requests: { url: string; headers: Headers; body: string }[];
  ids(): number[];
  /** Resolves when `count` records were accepted. */
  has(count: number): Promise<void>;
  fetch: typeof fetch;
}

/** Makes a collector that stores the records of each request that it accepts completely. */
function collector(responder: Responder = () => Response.json({})): Collector {
  const accepted: LogRecord[] = [];
  const requests: { url: string; headers: Headers; body: string }[] = [];
  const watchers = new Set<() => void>();
  const self: Collector = {
    responder,
    accepted,
    requests,
    ids: () => accepted.map((record) => Number(attribute(record, "countersign.entry.id"))),
    has: (count: number) =>
      new Promise<void>((resolve) => {
        const checkCount = () => {
          if (accepted.length < count) return;
          watchers.delete(checkCount);
          resolve();
        };
        watchers.add(checkCount);
        checkCount();
      }),
    fetch: (async (url: string, init: RequestInit) => {
      const body = String(init.body);
      requests.push({ url, headers: new Headers(init.headers), body });
      const response = await self.responder(init.signal!);
      const isAccepted = response.ok && !(await response.clone().text()).includes("rejectedLogRecords");
      if (isAccepted) accepted.push(...JSON.parse(body).resourceLogs[0].scopeLogs[0].logRecords);
      for (const checkCount of watchers) checkCount();
      return response;
    }) as typeof fetch,
  };
  return self;
}

const attribute = ({ attributes }: LogRecord, name: string): string | undefined => {
  const { value } = attributes.find(({ key }) => key === name) ?? {};
  return value?.stringValue ?? value?.intValue;
};

const idsUpTo = (length: number): number[] => Array.from({ length }, (_, index) => index + 1);
const neverRespond: Responder = (signal) =>
  new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason as Error)));
const capability = async (api: Awaited<ReturnType<typeof service>>) =>
  (await api.get("/api/capabilities")).body.capabilities.find(({ id }: { id: string }) => id === "audit_otlp");

test("an entry is exported as a log record with its time, its sentence and its hash", async () => {
  const api = await service();
  const { change_id } = (await api.post("propose", { ...PROPOSAL, proposer: "pat" })).body;
  await api.act("approve", change_id, {});
  await api.act("apply", change_id, {});
  await api.act("rollback", change_id, {});
  const { entries } = (await api.get("audit")).body;
  const otel = collector();
  const headers = readExportHeaders("authorization=Basic%20YTpi,x-scope-orgid=acme");
  const exporting = createPromptedAuditExport(api.deps, { url: COLLECTOR_URL, headers, fetch: otel.fetch });
  await exporting.send();
  const [{ url, headers: sent, body }] = otel.requests as [(typeof otel.requests)[0]];
  expect([url, sent.get("content-type")]).toEqual([COLLECTOR_URL, "application/json"]);
  expect([sent.get("authorization"), sent.get("x-scope-orgid")]).toEqual(["Basic YTpi", "acme"]);
  expect(JSON.parse(body).resourceLogs[0].resource.attributes).toEqual([
    { key: "service.name", value: { stringValue: "countersign" } },
    { key: "service.version", value: { stringValue: version } },
    { key: "service.instance.id", value: { stringValue: "acme-crm@local" } },
    { key: "countersign.product.id", value: { stringValue: "acme-crm" } },
  ]);
  expect(otel.ids()).toEqual(entries.map(({ id }: { id: number }) => id));
  const proposed = otel.accepted.find(({ eventName }) => eventName === "countersign.change_proposed")!;
  const entry = entries.find(({ event_type }: { event_type: string }) => event_type === "change_proposed");
  expect(proposed).toMatchObject({
    timeUnixNano: `${Date.parse(entry.timestamp)}000000`,
    observedTimeUnixNano: `${api.deps.clock.now()}000000`,
    severityNumber: 9,
    body: { stringValue: expect.stringContaining("roposed") },
  });
  expect(attribute(proposed, "countersign.change.id")).toBe(change_id);
  expect(attribute(proposed, "countersign.entry.hash")).toBe(entry.current_hash);
  expect(attribute(proposed, "countersign.entry.detail")).toBe(entry.detail);
  expect(otel.accepted.find(({ eventName }) => eventName.endsWith("rolled_back"))!.severityNumber).toBe(13);
});

test.each([
  ["change_apply_failed", 17],
  ["service_frozen", 13],
  ["mandate_suspended", 13],
  ["stage_stopped", 13],
  ["mandate_resumed", 9],
  ["change_applied", 9],
] as const)("entries of type %s have severity %i: 9 info, 13 warning, 17 error", (event_type, severityNumber) => {
  const entry = { ...ENTRY, event_type };
  expect(JSON.parse(logRecord(entry, 0))).toMatchObject({ severityNumber });
});

test("a collector's Retry-After postpones the next request", async () => {
  const api = await service();
  const otel = collector(() => new Response("", { status: 503, headers: { "retry-after": "30" } }));
  const exporting = createPromptedAuditExport(api.deps, { url: COLLECTOR_URL, times: LONG_TIMES, fetch: otel.fetch });
  await api.post("propose", PROPOSAL);
  for (const [seconds, requests] of [
    [0, 1],
    [29, 1],
    [1, 2],
  ] as const) {
    api.deps.clock.advance(seconds * SECOND);
    await exporting.send();
    expect(otel.requests).toHaveLength(requests);
  }
});

test("while a collector is down for an hour, writes are not delayed and no entry is lost", async () => {
  const api = await service();
  const down: Responder[] = [
    () => Promise.reject(new TypeError("fetch failed")),
    () => new Response("", { status: 503, headers: { "retry-after": "30" } }),
    () => new Response("", { status: 401 }),
    () => Response.json({ partialSuccess: { rejectedLogRecords: "1", errorMessage: "too old" } }),
  ];
  const otel = collector();
  const exporting = createPromptedAuditExport(api.deps, { url: COLLECTOR_URL, times: LONG_TIMES, fetch: otel.fetch });
  api.deps.auditExport = exporting;
  let isCollectorUp = true;
  const healthy = otel.responder;
  let tries = 0;
  otel.responder = (signal) => (isCollectorUp ? healthy(signal) : down[tries++ % down.length]!(signal));
  await api.post("propose", PROPOSAL);
  await exporting.send();
  expect(await capability(api)).toMatchObject({ status: "available", reason: null });
  isCollectorUp = false;
  let slowestMs = 0;
  for (let minute = 0; minute < 60; minute++) {
    for (let count = 0; count < 2; count++) {
      const started = performance.now();
      expect((await api.post("propose", PROPOSAL)).status).toBe(201);
      slowestMs = Math.max(slowestMs, performance.now() - started);
      void exporting.send();
    }
    await exporting.send();
    api.deps.clock.advance(MINUTE);
  }
  expect(await capability(api)).toMatchObject({ status: "failing", reason: expect.stringMatching(/^the receiver /) });
  // Each minute brings three calls; the pause after a failure grows to five minutes.
  expect(tries).toBeGreaterThan(10);
  expect(tries).toBeLessThan(25);
  isCollectorUp = true;
  api.deps.clock.advance(5 * MINUTE);
  await exporting.send();
  const { length } = (await api.get("audit/checkpoint")).body;
  expect(length).toBeGreaterThan(120);
  expect(otel.ids()).toEqual(idsUpTo(length));
  expect(await capability(api)).toMatchObject({ status: "available", reason: null });
  expect(slowestMs).toBeLessThan(1_000);
});

test("writes do not wait for a silent collector, which receives all entries later", async () => {
  const api = await service();
  const otel = collector(neverRespond);
  const exporting = startAuditExport(api.deps, {
    url: COLLECTOR_URL,
    times: { ...TIMES, timeout: 1e9 },
    fetch: otel.fetch,
  });
  onTestFinished(() => exporting.stop());
  for (let count = 0; count < 150; count++) expect((await api.post("propose", PROPOSAL)).status).toBe(201);
  expect(otel.requests).toHaveLength(1);
  await exporting.stop();
  // After a restart, the collector accepts everything but half of its responses are lost.
  let answers = 0;
  otel.responder = () => {
    if (++answers % 2 === 1) throw new TypeError("terminated");
    return Response.json({});
  };
  const restarted = startAuditExport(api.deps, { url: COLLECTOR_URL, times: TIMES, fetch: otel.fetch });
  onTestFinished(() => restarted.stop());
  const { length } = (await api.get("audit/checkpoint")).body;
  await otel.has(length);
  expect(otel.ids()).toEqual(idsUpTo(length));
});

test("a rejected record is sent again until it is accepted; no entry is skipped", async () => {
  const api = await service();
  await api.post("propose", PROPOSAL);
  const otel = collector(() => Response.json({ partialSuccess: { rejectedLogRecords: 2 } }));
  const exporting = startAuditExport(api.deps, { url: COLLECTOR_URL, times: TIMES, fetch: otel.fetch });
  onTestFinished(() => exporting.stop());
  await expect.poll(() => otel.requests.length).toBeGreaterThan(3);
  expect(exporting.problem()).toBe("the receiver rejected 2 records");
  expect(new Set(otel.requests.map(({ body }) => body)).size).toBe(1);
  otel.responder = () => Response.json({});
  await otel.has(1);
  expect(otel.ids()[0]).toBe(1);
});

test.each([
  ["Chinese", "\u4e2d".repeat(20_000)],
  ["quotes", '"'.repeat(30_000)],
])("a request has at most 1 MB, for which 2 MB are read, with entries full of %s", async (_, text) => {
  const { deps } = await service();
  const store = memoryStore();
  let head = await store.transact((tx) => createChain(tx, "p", deps, 0));
  for (let count = 0; count < 110; count++) {
    const event = { event_type: "change_proposed" as const, tenant: "t1", detail: JSON.stringify({ text }) };
    const next = nextEntry(head, event, START, deps.sha256);
    ({ head } = next);
    await store.transact(async (tx) => tx.put("audit", entryKey(next.entry.id), next.entry));
  }
  await store.transact(async (tx) => tx.put("meta", "chain", head));
  const maxBytes = { sent: 0, read: 0 };
  let read = 0;
  const counting = {
    ...store,
    list: (async (collection, options) => {
      const rows = await store.list(collection, options);
      read += Buffer.byteLength(JSON.stringify(rows));
      return rows;
    }) as typeof store.list,
  };
  const otel = collector(() => {
    maxBytes.sent = Math.max(maxBytes.sent, Buffer.byteLength(otel.requests.at(-1)!.body));
    maxBytes.read = Math.max(maxBytes.read, read);
    read = 0;
    return Response.json({});
  });
  await createPromptedAuditExport({ ...deps, store: counting }, { url: COLLECTOR_URL, fetch: otel.fetch }).send();
  expect(otel.ids()).toEqual(idsUpTo(110));
  expect(maxBytes.sent).toBeGreaterThan(900_000);
  expect(maxBytes.sent).toBeLessThanOrEqual(1_001_000);
  expect(maxBytes.read).toBeLessThanOrEqual(2_000_000);
});

const OTHER = "the receiver answered something other than OTLP: check the address of --audit-otlp";
test.each<[string, string, string | null]>([
  ["an empty response", "", null],
  ["an empty object", "{}", null],
  ["a partial success of null", '{"partialSuccess":null}', null],
  ["a warning", '{"partialSuccess":{"rejectedLogRecords":"0","errorMessage":"slow down"}}', null],
  ["a log-in page", "<html>log in</html>", OTHER],
  ["an error", '{"error":"not found"}', OTHER],
  ["an error after a success", '{"partialSuccess":{},"code":5}', OTHER],
  ["a list", "[]", OTHER],
  ["null", "null", OTHER],
  ["an incomplete response", '{"partialSuccess":{', OTHER],
  ["a success that is a list", '{"partialSuccess":[]}', OTHER],
  ["a count that is not a number", '{"partialSuccess":{"rejectedLogRecords":"some"}}', OTHER],
  [
    "a rejection too long to read",
    JSON.stringify({ partialSuccess: { rejectedLogRecords: "3", errorMessage: "x".repeat(64 * 1024) } }),
    "the receiver answered more than 65536 bytes",
  ],
])("entries count as delivered only if the response confirms it: %s", async (_, answer, problem) => {
  const api = await service();
  await api.post("propose", PROPOSAL);
  const exporting = createPromptedAuditExport(api.deps, {
    url: COLLECTOR_URL,
    fetch: collector(() => new Response(answer)).fetch,
  });
  await exporting.send();
  const { length } = (await api.get("audit/checkpoint")).body;
  const cursor = (await api.deps.store.get("meta", "audit_export"))?.value.after;
  expect([exporting.problem(), cursor]).toEqual([problem, problem === null ? length : undefined]);
});

test("a delivery that could not be recorded is not sent again by the same process", async () => {
  const store = failingStore(memoryStore());
  const api = await service({ store });
  await api.post("propose", PROPOSAL);
  const otel = collector();
  const exporting = createPromptedAuditExport(api.deps, { url: COLLECTOR_URL, fetch: otel.fetch });
  store.fail();
  await exporting.send();
  await exporting.send();
  expect(exporting.problem()).toBe("the store cannot be used");
  expect(otel.requests).toHaveLength(1);
  store.recover();
  await exporting.send();
  expect(otel.requests).toHaveLength(1);
  expect(exporting.problem()).toBeNull();
});

test.each<[string, string | RegExp]>([
  ["a=b,c=d%2Ce", '{"a":"b","c":"d,e"}'],
  ["Authorization = Bearer x==", '{"authorization":"Bearer x=="}'],
  ["", "{}"],
  ["secret-without-name", /^must be name=value/],
  ["a=b\u0001", /^must have values of visible ASCII/],
  ["a b=c", /^must be name=value/],
])("the headers %j are %s", (text, expected) => {
  const read = () => JSON.stringify(readExportHeaders(text));
  if (typeof expected === "string") expect(read()).toBe(expected);
  else expect(read).toThrow(expected);
});

test("/v1/logs is added to an address that does not end with it", () => {
  expect(logsAddress("https://otel.example:4318")).toBe("https://otel.example:4318/v1/logs");
  expect(logsAddress("https://otlp.example/otlp/")).toBe("https://otlp.example/otlp/v1/logs");
  expect(logsAddress("https://otel.example/v1/logs")).toBe("https://otel.example/v1/logs");
});
