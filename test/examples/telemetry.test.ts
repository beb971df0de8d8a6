/** The example of a collector and Grafana: a stub receives the export of the service, and the files are consistent. */
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
const readText = (name: string): string => readFileSync(join(EXAMPLE, name), "utf8");
// oxlint-disable-next-line no-explicit-any -- whatever the file holds
const readYaml = (name: string): any => parse(readText(name), { strict: true });

const collector = readYaml("collector.yaml");
const compose = readYaml("compose.yaml");
const README_URL = /--audit-otlp (http\S+)/.exec(readText("README.md"))![1]!;

type Value = { stringValue: string } | { intValue: string };
interface LogRecord {
  attributes: { key: string; value: Value }[];
  [member: string]: unknown;
}

/** Starts an OTLP/HTTP receiver on its own port, at the path of the protocol. */
async function startReceiver() {
  const accepted: { headers: IncomingHttpHeaders; body: string }[] = [];
  const server = createServer(async (request, response) => {
    const body = Buffer.concat(await request.toArray()).toString();
    const isLogs = request.method === "POST" && request.url === "/v1/logs";
    if (isLogs) accepted.push({ headers: request.headers, body });
    response.writeHead(isLogs ? 200 : 404, { "content-type": "application/json" }).end(isLogs ? "{}" : "");
  });
  await once(server.listen(0, "127.0.0.1"), "listening");
  onTestFinished(() => void server.close());
  return { accepted, url: `http://127.0.0.1:${(server.address() as AddressInfo).port}` };
}

/** Returns the names of a record in Loki: attributes with underscores, and the fields that Loki adds. */
const lokiNames = ({ attributes }: LogRecord): string[] => [
  ...attributes.map(({ key }) => key.replaceAll(".", "_")),
  ...["severity_number", "trace_id", "span_id"],
];

test("the collector's pipeline is complete, and its addresses match the other files", () => {
  const { receivers, exporters, service: running, ...rest } = collector;
  expect(rest).toEqual({});
  expect(running.pipelines).toEqual({ logs: { receivers: Object.keys(receivers), exporters: Object.keys(exporters) } });
  expect(README_URL).toBe(`http://${receivers.otlp.protocols.http.endpoint}`);
  const loki = readYaml("loki.yaml").server;
  const lokiUrl = `http://${loki.http_listen_address}:${loki.http_listen_port}`;
  expect(exporters["otlphttp/loki"].endpoint).toBe(`${lokiUrl}/otlp`);
  const { datasources } = readYaml("grafana/datasources.yaml");
  const prometheus = compose.services.prometheus.command.join(" ").match(/--web.listen-address=(\S+)/)![1];
  expect(datasources.map(({ url }: { url: string }) => url)).toEqual([lokiUrl, `http://${prometheus}`]);
  const mounted = Object.values<{ volumes: string[] }>(compose.services).flatMap(({ volumes }) =>
    volumes.flatMap((volume) => volume.match(/^(\..+?):/)?.[1] ?? []),
  );
  expect(mounted).not.toEqual([]);
  for (const path of mounted) expect(readText(path), path).not.toBe("");
});

test("the receiver accepts each entry, with all names that the dashboard uses", async () => {
  const receiver = await startReceiver();
  const api = await service();
  const { change_id } = (await api.post("propose", PROPOSAL)).body;
  await api.act("approve", change_id, {});
  await api.act("apply", change_id, {});
  const { port } = new URL(receiver.url);
  const url = logsAddress(README_URL.replace(/\d+$/, port));
  await createPromptedAuditExport(api.deps, { url }).send();
  expect(receiver.accepted.map(({ headers }) => headers["content-type"])).toEqual(["application/json"]);
  const [{ resource, scopeLogs }] = JSON.parse(receiver.accepted[0]!.body).resourceLogs;
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
  const { panels } = JSON.parse(readText("audit_dashboard.json"));
  const queries = panels.flatMap((panel: { datasource: { type: string }; targets: { expr: string }[] }) =>
    panel.datasource.type === "loki" ? panel.targets.map(({ expr }) => expr) : [],
  );
  expect(queries.length).toBeGreaterThan(2);
  const names = new Set([...labels, ...records.flatMap(lokiNames)]);
  // Names with an underscore before an operator or a closing parenthesis: the other words are functions and texts.
  const queriedNames = queries.flatMap((query: string) =>
    [...query.matchAll(/\b([a-z]+(?:_[a-z]+)+)\b(?=\s*(?:=~|[=>)]))/g)].map(([, name]) => name!),
  );
  expect(queriedNames.length).toBeGreaterThan(4);
  expect(queriedNames.filter((name: string) => !names.has(name))).toEqual([]);
});
