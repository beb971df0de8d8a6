/** The dashboard, the alert rules and the operator's manual agree with the metrics of the service. */
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { expect, test } from "vitest";
import { app } from "../../handlers/index.ts";
import { processMetrics } from "../../local/metrics.ts";
import { memoryStore } from "../../lib/store/memory.ts";
import { openOperations } from "../lib/operations/operations_service.ts";

const docsUrl = (name: string): URL => new URL(`../../docs/${name}`, import.meta.url);
const DASHBOARDS = ["grafana_dashboard.json", "../examples/telemetry/audit_dashboard.json"];
interface Panel {
  id: number;
  gridPos: { x: number; y: number; w: number; h: number };
  datasource?: { type: string };
  targets?: { expr: string }[];
}
const readPanels = (name: string): Panel[] => JSON.parse(readFileSync(docsUrl(name), "utf8")).panels;
const alerts = readFileSync(docsUrl("alerts.yml"), "utf8");

/** A store that reports faults and free space, as a store on disk does. */
const store = {
  ...memoryStore(),
  faults: () => ({ writes: null, damaged: [], lost: null, compaction: null, free_bytes: 5e9 }),
};

/** Returns the names of all metrics of the service, including the parts of histograms. */
async function listMetricNames(): Promise<Set<string>> {
  const metrics = processMetrics("1");
  const service = await openOperations({
    metrics,
    store,
    notifier: { problem: () => null },
    intent: { kpis: { csat: { baseline: 4, target: 5 } } },
  });
  await service.post("kpi", { csat: 4.2 });
  await service.bring("applied");
  await service.propose();
  await service.cycle();
  await app({ ...service.deps, measure: metrics.measured })(new Request("http://127.0.0.1/livez"));
  const { text } = await service.get("/api/metrics");
  return new Set(text.split("\n").flatMap((line) => /^(\w+)[{ ]/.exec(line)?.[1] ?? []));
}

const findMetricNames = (expression: string): string[] =>
  expression.match(/\b(?:countersign|nodejs|process)_\w+/g) ?? [];

test("every metric of the dashboards exists", async () => {
  const panels = DASHBOARDS.flatMap(readPanels).filter(({ datasource }) => datasource?.type === "prometheus");
  const names = panels.flatMap(({ targets = [] }) => targets.flatMap(({ expr }) => findMetricNames(expr)));
  expect(names.length).toBeGreaterThan(20);
  const known = await listMetricNames();
  expect(names.filter((name) => !known.has(name))).toEqual([]);
});

test("every metric of the alert rules exists", async () => {
  const names = [...alerts.matchAll(/expr: (.+)/g)].flatMap(([, expression]) => findMetricNames(expression!));
  expect(names.length).toBeGreaterThan(10);
  const known = await listMetricNames();
  expect(names.filter((name) => !known.has(name))).toEqual([]);
});

test("every alert rule has a test", () => {
  const tests = readFileSync(docsUrl("alerts_test.yml"), "utf8");
  for (const [, name] of alerts.matchAll(/- alert: (\w+)/g)) expect(tests).toContain(`alertname: ${name}\n`);
});

test("every alert rule says what to do", () => {
  const rules = [...alerts.matchAll(/- alert: \w+[^]*?(?=\n\n|$)/g)].map(([rule]) => rule);
  expect(rules.length).toBeGreaterThan(10);
  expect(rules.filter((rule) => !/^ {10}action: \S.{40,}$/m.test(rule))).toEqual([]);
});

test.each(DASHBOARDS)("panels of %s have unique ids and do not overlap", (name) => {
  const panels = readPanels(name);
  const ids = panels.map(({ id }) => id);
  expect(new Set(ids).size).toBe(ids.length);
  const taken = new Set<string>();
  for (const { gridPos } of panels)
    for (let x = gridPos.x; x < gridPos.x + gridPos.w; x++)
      for (let y = gridPos.y; y < gridPos.y + gridPos.h; y++) {
        expect(taken.has(`${x},${y}`)).toBe(false);
        taken.add(`${x},${y}`);
      }
});

const hasPromtool = spawnSync("promtool", ["--version"]).status === 0;
if (!hasPromtool) process.stderr.write("promtool is not on PATH: the alert rules are not run\n");

test.skipIf(!hasPromtool)("the alert rules pass their tests", () => {
  const run = spawnSync("promtool", ["test", "rules", fileURLToPath(docsUrl("alerts_test.yml"))], { encoding: "utf8" });
  expect(run.stdout + run.stderr).toMatch(/SUCCESS\s*$/);
  expect(run.status).toBe(0);
});
