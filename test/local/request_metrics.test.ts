/** Tests the counts and the histogram of durations that each response adds to. */
import { Registry } from "prom-client";
import { expect, test } from "vitest";
import { registerRequestMetrics } from "../../local/request_metrics.ts";

test("a response is counted once by its status, and in each bucket from its duration up", async () => {
  const registry = new Registry();
  const observe = registerRequestMetrics(registry)("/a");
  observe("GET", 200, 0.001);
  // Reading the metrics in between must not count a response twice.
  await registry.metrics();
  observe("GET", 404, 0.0011);
  observe("GET", 200, 11);
  observe("POST", 200, 0.02);
  const lines = (await registry.metrics()).split("\n");
  const labels = 'method="GET",route="/a"';
  const name = "countersign_http_request_duration_seconds";
  const valuesOf = (start: string) =>
    lines.filter((line) => line.startsWith(start)).map((line) => line.split(" ").at(-1));
  // Two responses of status 200, one of 404.
  expect(valuesOf(`countersign_http_requests_total{${labels}`)).toEqual(["2", "1"]);
  const buckets = lines.filter((line) => line.startsWith(`${name}_bucket`) && line.includes(labels));
  // The bounds begin with 1 ms and 2.5 ms and end with 10 s; each bucket includes those before it.
  expect(buckets.map((line) => line.split(" ").at(-1)).join()).toBe("1,2,2,2,2,2,2,2,2,2,2,2,3");
  expect(buckets.at(-1)).toContain('le="+Inf"');
  expect(valuesOf(`${name}_sum{${labels}`)).toEqual([String(0.001 + 0.0011 + 11)]);
  expect(valuesOf(`${name}_count{${labels}`)).toEqual(["3"]);
});
