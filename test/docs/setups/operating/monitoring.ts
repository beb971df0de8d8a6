/** Runs Prometheus with the configuration of the operator's manual. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect } from "vitest";
import { freePort } from "../../../support/free_port.ts";
import { ROOT } from "../../markdown.ts";
import type { Machine } from "./machine.ts";
import { startProgram } from "./programs.ts";

interface Answer<T> {
  status: string;
  data: T;
}

/** Starts Prometheus with a configuration, checks a scraped metric, the alert rules and the dashboard, and stops it. */
export async function checkScraping(machine: Machine, configuration: string): Promise<void> {
  const file = machine.path("etc/prometheus/prometheus.yml");
  writeFileSync(file, configuration);
  const port = await freePort();
  const args = [
    `--config.file=${file}`,
    `--storage.tsdb.path=${machine.path("run/prometheus")}`,
    `--web.listen-address=127.0.0.1:${port}`,
  ];
  const prometheus = await startProgram("prometheus", args, /Server is ready to receive web requests/);
  const queryApi = async <T>(path: string): Promise<T> => {
    const { status, data } = (await (await fetch(`http://127.0.0.1:${port}/api/v1/${path}`)).json()) as Answer<T>;
    expect([path, status]).toEqual([path, "success"]);
    return data;
  };
  const query = (expression: string) =>
    queryApi<{ result: { value: [number, string] }[] }>(`query?query=${encodeURIComponent(expression)}`);
  try {
    const readChainValid = async () =>
      (await query('countersign_audit_chain_valid{job="countersign"}')).result[0]?.value[1];
    await expect.poll(readChainValid, { timeout: 60_000, interval: 100 }).toBe("1");

    const { groups } = await queryApi<{ groups: { rules: { name: string; health: string }[] }[] }>("rules");
    const names = groups.flatMap(({ rules }) => rules.map(({ name }) => name));
    const alerts = readFileSync(join(ROOT, "docs/alerts.yml"), "utf8");
    expect(names).toEqual([...alerts.matchAll(/- alert: (\w+)/g)].map(([, name]) => name));

    // Prometheus accepts every query of the dashboard, and more than a third of them have results.
    const { panels } = JSON.parse(readFileSync(join(ROOT, "docs/grafana_dashboard.json"), "utf8")) as {
      panels: { targets?: { expr: string }[] }[];
    };
    const expressions = panels.flatMap(({ targets = [] }) => targets.map(({ expr }) => expr));
    const answers = await Promise.all(
      expressions.map((expr) => query(expr.replaceAll("$job", "countersign").replaceAll("$__rate_interval", "1m"))),
    );
    expect(answers.filter(({ result }) => result.length > 0).length).toBeGreaterThan(expressions.length / 3);
  } finally {
    await prometheus.stop();
  }
}
