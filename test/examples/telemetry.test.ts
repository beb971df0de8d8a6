/** The example of a collector and Grafana: a stub takes what its collector would take, and the files agree with each other. */
import { readFileSync } from "node:fs";
import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { once } from "node:events";
import { expect, onTestFinished, test } from "vitest";
import { parse } from "yaml";
import { logsAddress } from "../../lib/operations/audit_export/options.ts";
import { createPromptedAuditExport } from "../../lib/operations/audit_export/sender.ts";
import { PROPOSAL } from "../support/client.ts";
import { service } from "../support/service.ts";

const EXAMPLE = join(import.meta.dirname, "../../examples/telemetry");
const textOf = (name: string): string => readFileSync(join(EXAMPLE, name), "utf8");
// oxlint-disable-next-line no-explicit-any -- whatever the file holds
const yamlOf = (name: string): any => parse(textOf(name), { strict: true });

const collector = yamlOf("collector.yaml");
const compose = yamlOf("compose.yaml");
const READY_URL = /--audit-otlp (http\S+)/.exec(textOf("README.md"))![1]!;

type Value = { stringValue: string } | { intValue: string };
interface LogRecord {
  attributes: { key: string; value: Value }[];
  [member: string]: unknown;
}

/** An OTLP/HTTP receiver on a port of its own, at the path that the protocol names. */
async function startReceiver() {
  const taken: { headers: IncomingHttpHeaders; body: string }[] = [];
  const server = createServer(async (request, response) => {
    const body = Buffer.concat(await request.toArray()).toString();
    const isLogs = request.method === "POST" && request.url === "/v1/logs";
    if (isLogs) taken.push({ headers: request.headers, body });
    response.writeHead(isLogs ? 200 : 404, { "content-type": "application/json" }).end(isLogs ? "{}" : "");
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  onTestFinished(() => void server.close());
  return { taken, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

/** Names of an entry as Loki has them: attributes with underscores, and what it makes of the record itself. */
const lokiNames = ({ attributes }: LogRecord): string[] => [
  ...attributes.map(({ key }) => key.replaceAll(".", "_")),
  ...["severity_number", "trace_id", "span_id"],
];

test("the collector's pipeline is whole, and each end is where the other files look for it", () => {
  const { receivers, exporters, service: running, ...rest } = collector;
  expect(rest).toEqual({});
  expect(running.pipelines).toEqual({ logs: { receivers: Object.keys(receivers), exporters: Object.keys(exporters) } });
  expect(READY_URL).toBe(`http://${receivers.otlp.protocols.http.endpoint}`);
  const loki = yamlOf("loki.yaml").server;
  const lokiUrl = `http://${loki.http_listen_address}:${loki.http_listen_port}`;
  expect(exporters["otlphttp/loki"].endpoint).toBe(`${lokiUrl}/otlp`);
  const { datasources } = yamlOf("grafana/datasources.yaml");
  const prometheus = compose.services.prometheus.command.join(" ").match(/--web.listen-address=(\S+)/)![1];
  expect(datasources.map(({ url }: { url: string }) => url)).toEqual([lokiUrl, `http://${prometheus}`]);
  const mounted = Object.values<{ volumes: string[] }>(compose.services).flatMap(({ volumes }) =>
    volumes.flatMap((volume) => volume.match(/^(\..+?):/)?.[1] ?? []),
  );
  expect(mounted.map((path) => textOf(path).length > 0)).toEqual(mounted.map(() => true));
});

test("the receiver takes each entry, with what the dashboard asks for", async () => {
  const receiver = await startReceiver();
  const api = await service();
  const { change_id } = (await api.post("propose", PROPOSAL)).body;
  await api.act("approve", change_id, {});
  await api.act("apply", change_id, {});
  const { port } = new URL(receiver.url);
  const url = logsAddress(READY_URL.replace(/\d+$/, port));
  await createPromptedAuditExport(api.deps, { url }).send();
  expect(receiver.taken.map(({ headers }) => headers["content-type"])).toEqual(["application/json"]);
  const [{ resource, scopeLogs }] = JSON.parse(receiver.taken[0]!.body).resourceLogs;
  const records: LogRecord[] = scopeLogs[0].logRecords;
  const { entries } = (await api.get("audit")).body;
  expect(records).toHaveLength(entries.length);
  for (const record of records) {
    // 64-bit numbers are text, and an attribute has one value of one type.
    expect([record["timeUnixNano"], record["observedTimeUnixNano"]]).toEqual([
      expect.stringMatching(/^\d{19}$/),
      expect.stringMatching(/^\d{19}$/),
    ]);
    for (const { value } of record.attributes) expect(Object.keys(value)).toHaveLength(1);
  }
  const labels = resource.attributes.map(({ key }: { key: string }) => key.replaceAll(".", "_"));
  const { panels } = JSON.parse(textOf("audit_dashboard.json"));
  const queries = panels.flatMap((panel: { datasource: { type: string }; targets: { expr: string }[] }) =>
    panel.datasource.type === "loki" ? panel.targets.map(({ expr }) => expr) : [],
  );
  expect(queries.length).toBeGreaterThan(2);
  const known = new Set([...labels, ...records.flatMap(lokiNames)]);
  const asked = queries.flatMap((query: string) =>
    [...query.matchAll(/\b([a-z]+(?:_[a-z]+)+)\b(?=\s*(?:=~|[=>)]))/g)].map(([, name]) => name!),
  );
  expect(asked.length).toBeGreaterThan(4);
  expect(asked.filter((name: string) => !known.has(name))).toEqual([]);
});
