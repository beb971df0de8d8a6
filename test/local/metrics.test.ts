/** Tests the metrics of the service and of its process in the format of Prometheus. */
import { spawnSync } from "node:child_process";
import perfHooks from "node:perf_hooks";
import { expect, onTestFinished, test, vi } from "vitest";
import { app } from "../../handlers/index.ts";
import { processMetrics } from "../../local/metrics.ts";
import { fails } from "../support/scripted_adapter.ts";
import { makeFetch, openOperations, type OperationsService } from "../lib/operations/operations_service.ts";

/** Creates a service in which every metric has a value, and returns its metrics. */
async function openUsedService() {
  const metrics = processMetrics("1.2.3");
  const service = await openOperations({
    metrics,
    notifier: { problem: () => null },
    intent: { kpis: { csat: { baseline: 4, target: 5 } } },
  });
  await service.post("kpi", { csat: 4.2 });
  await service.bring("rolled_back", { kpi: "csat" });
  await service.bring("denied");
  const id = await service.bring("approved", { tenant_id: "tenant-of-somebody", proposer: "pat-the-proposer" });
  service.host.on("apply", fails("no"), 1);
  await service.act("apply", id);
  await service.post("/api/tasks", { title: "a title" });
  await service.cycle();
  const [task] = (await service.get("/api/tasks")).body.tasks;
  await service.post("/api/task/feedback", { task_id: task.task_id, rating: 4 });
  return { service, metrics, id };
}

const readMetrics = async (service: OperationsService): Promise<string> => (await service.get("/api/metrics")).text;

const hasPromtool = spawnSync("promtool", ["--version"]).status === 0;
if (!hasPromtool) process.stderr.write("promtool is not on PATH: `promtool check metrics` is skipped\n");

test.skipIf(!hasPromtool)("promtool check metrics reports no problem", async () => {
  const { service, metrics } = await openUsedService();
  await app({ ...service.deps, measure: metrics.measured })(new Request("http://127.0.0.1/api/state"));
  const input = await readMetrics(service);
  const check = spawnSync("promtool", ["check", "metrics"], { input, encoding: "utf8" });
  expect(check.stderr + check.stdout).toBe("");
  expect(check.status).toBe(0);
});

test("the metrics have HELP and TYPE once for each family, and no sample twice", async () => {
  const { service } = await openUsedService();
  const response = await service.get("/api/metrics");
  expect(response.headers.get("content-type")).toBe("text/plain; version=0.0.4; charset=utf-8");
  const lines = response.text.split("\n").filter((line) => line !== "");
  const listFamilies = (keyword: string) =>
    lines.flatMap((line) => (line.startsWith(`# ${keyword} `) ? [line.split(" ")[2]!] : []));
  expect(new Set(listFamilies("TYPE")).size).toBe(listFamilies("TYPE").length);
  expect(listFamilies("HELP")).toEqual(listFamilies("TYPE"));
  const samples = lines.filter((line) => !line.startsWith("#")).map((line) => line.slice(0, line.lastIndexOf(" ")));
  expect(new Set(samples).size).toBe(samples.length);
});

test("no id, tenant, name or title is a label", async () => {
  const { service, id } = await openUsedService();
  const metricsText = await readMetrics(service);
  for (const secret of [id, "tenant-of-somebody", "pat-the-proposer", "a title", "ana", "acme-crm"])
    expect(metricsText).not.toContain(secret);
});

test("metrics of the product are the same after a restart and on other instances", async () => {
  const { service } = await openUsedService();
  const listProductMetrics = (metricsText: string) =>
    metricsText
      .split("\n")
      .filter((line) => line.startsWith("countersign_") && !/_http_|_build_|_notifications_/.test(line));
  const otherDeps = { ...service.deps, metrics: undefined, notifier: undefined };
  const second = await (await makeFetch(otherDeps)(new Request("http://127.0.0.1/api/metrics"))).text();
  expect(listProductMetrics(second)).toEqual(listProductMetrics(await readMetrics(service)));
  expect(listProductMetrics(second)).toContain('countersign_applies_total{result="failed"} 1');
  expect(listProductMetrics(second)).toContain('countersign_decisions_total{decision="approved"} 2');
  // The intent, the KPI, four entries of the first change, two of the second, and three of the third.
  expect(listProductMetrics(second)).toContain("countersign_audit_entries_total 11");
});

test("a metric without data has no sample, instead of a 0", async () => {
  const service = await openOperations();
  const metricsText = await readMetrics(service);
  expect(metricsText).not.toMatch(/dimension="[EMR]"|reliability_|kpi_value|mean_rating|notifications|last_cycle/);
  expect(metricsText).toContain('countersign_dimension_ratio{dimension="N"} 0');
  const disabled = await readMetrics(await openOperations({ intent: null }));
  expect(disabled).not.toMatch(/audit_chain_valid|audit_entries/);
});

test("requests are counted by the declared path of their endpoint", async () => {
  const { service, metrics, id } = await openUsedService();
  const fetch = app({ ...service.deps, measure: metrics.measured });
  for (const path of [
    `/api/product/changes/${id}`,
    "/api/product/changes/none",
    "/api/state",
    "/api/state?x=1",
    "/nowhere",
    "/constructor",
  ])
    await fetch(new Request(`http://127.0.0.1:8420${path}`));
  await fetch(new Request("http://127.0.0.1:8420", { method: "PURGE" }));
  await fetch(new Request("http://127.0.0.1:8420/api/state", { method: "POST" }));
  const requestCounts = (await metrics.text())
    .split("\n")
    .filter((line) => line.startsWith("countersign_http_requests_total{"));
  expect(requestCounts.sort()).toEqual([
    'countersign_http_requests_total{method="GET",route="/api/product/changes/:change_id",status="200"} 1',
    'countersign_http_requests_total{method="GET",route="/api/product/changes/:change_id",status="404"} 1',
    'countersign_http_requests_total{method="GET",route="/api/state",status="200"} 1',
    'countersign_http_requests_total{method="GET",route="/api/state",status="400"} 1',
    'countersign_http_requests_total{method="GET",route="other",status="404"} 2',
    'countersign_http_requests_total{method="POST",route="/api/state",status="405"} 1',
    'countersign_http_requests_total{method="other",route="other",status="404"} 1',
  ]);
  expect(await metrics.text()).toContain(
    'countersign_http_request_duration_seconds_count{method="GET",route="/api/state"} 2',
  );
});

test("two services in one process do not share metrics", async () => {
  const first = processMetrics("1");
  const second = processMetrics("2");
  const { deps } = await openOperations();
  await app({ ...deps, measure: first.measured })(new Request("http://127.0.0.1/livez"));
  expect(await first.text()).toContain('route="/livez"');
  expect(await second.text()).not.toContain('route="/livez"');
});

test("metrics of an idle process do work at most once a minute", async () => {
  const monitor = vi.spyOn(perfHooks, "monitorEventLoopDelay");
  onTestFinished(() => monitor.mockRestore());
  const metricsText = await processMetrics("1.2.3").text();
  expect(monitor.mock.calls.length).toBeGreaterThan(0);
  for (const [options] of monitor.mock.calls) expect(options!.resolution).toBeGreaterThanOrEqual(60_000);
  const utilization = /^nodejs_eventloop_utilization_ratio (.*)$/m.exec(metricsText)![1];
  expect(Number(utilization)).toBeGreaterThan(0);
  expect(Number(utilization)).toBeLessThanOrEqual(1);
  expect(metricsText).not.toContain("nodejs_eventloop_lag_p99_seconds");
});
