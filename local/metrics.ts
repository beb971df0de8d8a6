/** Collects metrics of this process and its HTTP server for Prometheus; all begin at zero with every start. */
import { performance } from "node:perf_hooks";
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from "prom-client";
import type { HttpDeps } from "../lib/http/deps.ts";
import type { OperationsDeps } from "../lib/operations/deps.ts";
import type { TargetObserver } from "../lib/targets/observe_system.ts";
import { BUCKETS, type ObserveRequest, registerRequestMetrics } from "./request_metrics.ts";

/** Gauges of prom-client that are not exposed: their names end like those of counters. */
const MISNAMED_METRICS = [
  "nodejs_active_handles_total",
  "nodejs_active_requests_total",
  "nodejs_active_resources_total",
];

/** Gauges of prom-client that are not exposed: their timer would wake an idle process a hundred times a second. */
const LAG_METRICS = ["min", "max", "mean", "stddev", "p50", "p90", "p99"].map(
  (name) => `nodejs_eventloop_lag_${name}_seconds`,
);
/** Interval of that timer, which cannot be switched off. */
const SAMPLING_INTERVAL_MS = 24 * 3600 * 1000;

/** The `metrics` of a Node process, and functions that measure its requests. */
export interface ProcessMetrics extends NonNullable<OperationsDeps["metrics"]> {
  measured: NonNullable<HttpDeps["measure"]>;
  /** Creates the function that counts the answers of a route. */
  observe: (route: string) => ObserveRequest;
  wrongToken: NonNullable<HttpDeps["onWrongToken"]>;
  /** Counts the calls of target systems, labelled by the names of the configuration. */
  targets: TargetObserver;
}

/** Creates the metrics of this process; requests are labelled by the declared path of their endpoint. */
export function processMetrics(version: string): ProcessMetrics {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: SAMPLING_INTERVAL_MS });
  for (const name of [...MISNAMED_METRICS, ...LAG_METRICS]) registry.removeSingleMetric(name);
  let lastUtilization = performance.eventLoopUtilization();
  const utilization = new Gauge({
    name: "nodejs_eventloop_utilization_ratio",
    help: "Share of the time since the last scrape in which the event loop was busy.",
    registers,
    collect() {
      const now = performance.eventLoopUtilization();
      utilization.set(performance.eventLoopUtilization(now, lastUtilization).utilization);
      lastUtilization = now;
    },
  });
  new Gauge({ name: "countersign_build_info", help: "1, labelled by version.", labelNames: ["version"], registers })
    .labels(version)
    .set(1);
  const createObserver = registerRequestMetrics(registry);
  const wrongTokens = new Counter({
    name: "countersign_http_wrong_tokens_total",
    help: "Requests with a token or secret that is nobody's.",
    registers,
  });
  return {
    text: () => registry.metrics(),
    observe: createObserver,
    wrongToken: () => wrongTokens.inc(),
    targets: registerTargetMetrics(registers),
    measured(handler, route) {
      const observe = createObserver(route);
      return async (request) => {
        const began = performance.now();
        const response = await handler(request);
        observe(toMethodLabel(request), response.status, (performance.now() - began) / 1000);
        return response;
      };
    },
  };
}

/** Registers metrics of the calls of target systems. */
function registerTargetMetrics(registers: Registry[]): TargetObserver {
  const calls = new Counter({
    name: "countersign_target_calls_total",
    help: "Calls of a target system by their outcome.",
    labelNames: ["system", "operation", "outcome"] as const,
    registers,
  });
  const retries = new Counter({
    name: "countersign_target_retries_total",
    help: "Calls of a target system made again after a failure.",
    labelNames: ["system"] as const,
    registers,
  });
  const durations = new Histogram({
    name: "countersign_target_call_duration_seconds",
    help: "Duration of a call of a target system.",
    labelNames: ["system", "operation"] as const,
    buckets: BUCKETS,
    registers,
  });
  return {
    called({ system, operation, outcome, seconds }) {
      calls.inc({ system, operation, outcome });
      durations.observe({ system, operation }, seconds);
    },
    retried: (system) => retries.inc({ system }),
  };
}

const METHODS: readonly string[] = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"];
/** Maps other methods to `other`, so that clients cannot create labels. */
const toMethodLabel = ({ method }: Request): string => (METHODS.includes(method) ? method : "other");
