/** Figures of this process and its HTTP server, for Prometheus. They begin at zero with every start. */
import { performance } from "node:perf_hooks";
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from "prom-client";
import type { HttpDeps } from "../lib/http/deps.ts";
import type { OperationsDeps } from "../lib/operations/deps.ts";
import type { TargetObserver } from "../lib/targets/observed.ts";
import { BUCKETS, type ObserveRequest, requestMetrics } from "./request_metrics.ts";

/** Gauges of prom-client whose names end as a counter's must. */
const MISNAMED = ["nodejs_active_handles_total", "nodejs_active_requests_total", "nodejs_active_resources_total"];

/** Gauges of prom-client made from a timer that would wake an idle process a hundred times a second. */
const SAMPLED = ["min", "max", "mean", "stddev", "p50", "p90", "p99"].map(
  (name) => `nodejs_eventloop_lag_${name}_seconds`,
);
/** The interval of that timer, which cannot be switched off. */
const UNSAMPLED_MS = 24 * 3600 * 1000;

/** The `metrics` of a Node process, and what measures its requests. */
export interface ProcessMetrics extends NonNullable<OperationsDeps["metrics"]> {
  measured: NonNullable<HttpDeps["measured"]>;
  /** Makes what counts the answers of a route. */
  observe: (route: string) => ObserveRequest;
  wrongToken: NonNullable<HttpDeps["wrongToken"]>;
  /** Counts the calls of target systems, labelled by the names of the configuration. */
  targets: TargetObserver;
}

/** Metrics of this process; requests are labelled by the declared path of their endpoint. */
export function processMetrics(version: string): ProcessMetrics {
  const registry = new Registry();
  const registers = [registry];
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: UNSAMPLED_MS });
  for (const name of [...MISNAMED, ...SAMPLED]) registry.removeSingleMetric(name);
  let used = performance.eventLoopUtilization();
  const utilization = new Gauge({
    name: "nodejs_eventloop_utilization_ratio",
    help: "Share of the time since the last scrape in which the event loop was busy.",
    registers,
    collect() {
      const now = performance.eventLoopUtilization();
      utilization.set(performance.eventLoopUtilization(now, used).utilization);
      used = now;
    },
  });
  new Gauge({ name: "countersign_build_info", help: "1, labelled by version.", labelNames: ["version"], registers })
    .labels(version)
    .set(1);
  const observerOf = requestMetrics(registry);
  const wrongTokens = new Counter({
    name: "countersign_http_wrong_tokens_total",
    help: "Requests with a token or secret that is nobody's.",
    registers,
  });
  return {
    text: () => registry.metrics(),
    observe: observerOf,
    wrongToken: () => wrongTokens.inc(),
    targets: targetMetrics(registers),
    measured(handler, route) {
      const observe = observerOf(route);
      return async (request) => {
        const began = performance.now();
        const response = await handler(request);
        observe(methodOf(request), response.status, (performance.now() - began) / 1000);
        return response;
      };
    },
  };
}

/** Counts calls of target systems. */
function targetMetrics(registers: Registry[]): TargetObserver {
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
/** A label must not be made of what a client writes. */
const methodOf = ({ method }: Request): string => (METHODS.includes(method) ? method : "other");
