/** Figures of this process and its HTTP server, for Prometheus. They begin anew with every start. */
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from "prom-client";
import type { Declaration, Handler } from "../lib/http/endpoint.ts";
import type { PulseDeps } from "../lib/pulse/deps.ts";

/** Gauges of prom-client whose names end as a counter's must. */
const MISNAMED = ["nodejs_active_handles_total", "nodejs_active_requests_total", "nodejs_active_resources_total"];

/** In seconds: a durable write takes a few milliseconds, an adapter up to ten seconds. */
const BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10];

/** The `metrics` of a Node process, and what measures its requests. */
export interface ProcessMetrics extends NonNullable<PulseDeps["metrics"]> {
  /** The same handler, measured. */
  measured(handler: Handler): Handler;
}

/** Metrics of this process; requests are labelled by the declared path of their endpoint, `other` where there is none. */
export function processMetrics(endpoints: readonly Declaration[], version: string): ProcessMetrics {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry });
  for (const name of MISNAMED) registry.removeSingleMetric(name);
  new Gauge({ name: "countersign_build_info", help: "1, labelled by version.", labelNames: ["version"], registers })
    .labels(version)
    .set(1);
  const requests = new Counter({
    name: "countersign_http_requests_total",
    help: "Requests answered.",
    labelNames: ["method", "route", "status"] as const,
    registers,
  });
  const durations = new Histogram({
    name: "countersign_http_request_duration_seconds",
    help: "Time until the answer was ready; of a stream, until it began.",
    labelNames: ["method", "route"] as const,
    buckets: BUCKETS,
    registers,
  });
  const route = routeOf(endpoints);

  return {
    text: () => registry.metrics(),
    measured: (handler) => async (request) => {
      const started = performance.now();
      const response = await handler(request);
      const labels = { method: methodOf(request), route: route(request) };
      requests.inc({ ...labels, status: String(response.status) });
      durations.observe(labels, (performance.now() - started) / 1000);
      return response;
    },
  };
}

const METHODS: readonly string[] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];
const methodOf = ({ method }: Request): string => (METHODS.includes(method) ? method : "other");

/** A label must not be made of what a client writes: only declared paths are told apart. */
function routeOf(endpoints: readonly Declaration[]): (request: Request) => string {
  const paths = [...new Set(endpoints.map(({ path }) => path))];
  const plain = new Set(paths.filter((path) => !path.includes(":")));
  const patterns = paths
    .filter((path) => path.includes(":"))
    .map((path) => ({ path, pattern: new RegExp(`^${path.replaceAll(".", "\\.").replace(/:\w+/g, "[^/]+")}$`) }));
  return ({ url }) => {
    const start = url.indexOf("/", url.indexOf("//") + 2);
    const end = url.indexOf("?", start);
    const path = start === -1 ? "/" : url.slice(start, end === -1 ? undefined : end);
    if (plain.has(path)) return path;
    return patterns.find(({ pattern }) => pattern.test(path))?.path ?? "other";
  };
}
