/** Counts requests and their durations, since the labels of prom-client would take longer than a short request. */
import { Counter, type Metric, type Registry } from "prom-client";

const NAME = "countersign_http_request_duration_seconds";

/** Bounds in seconds: a durable write takes a few milliseconds, an adapter up to ten seconds. */
export const BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10];

/** Counts of the answers to one method of a route. */
interface MethodMetrics {
  labels: { method: string; route: string };
  /** Answers since the last scrape, by status. */
  newStatuses: Map<number, number>;
  /** Durations by bucket: up to each bound and above the one before; the last bucket is above all bounds. */
  counts: number[];
  sum: number;
}

/** Counts an answer of a route, and its duration in seconds. */
export type ObserveRequest = (method: string, status: number, seconds: number) => void;

/** Registers the metrics of requests; returns a function that creates the observer of a route, or returns the existing one. */
export function registerRequestMetrics(registry: Registry): (route: string) => ObserveRequest {
  const allMetrics: MethodMetrics[] = [];
  const requests = new Counter({
    name: "countersign_http_requests_total",
    help: "Requests answered.",
    labelNames: ["method", "route", "status"] as const,
    registers: [registry],
    collect() {
      for (const { labels, newStatuses } of allMetrics) {
        for (const [status, count] of newStatuses) requests.inc({ ...labels, status: String(status) }, count);
        newStatuses.clear();
      }
    },
  });
  const durations = {
    name: NAME,
    help: "Time until the answer was ready; of a stream, until it began.",
    type: "histogram",
    get: async () => ({ ...durations, values: allMetrics.flatMap(listSamples) }),
  };
  // A registry prints a metric by these members alone.
  registry.registerMetric(durations as unknown as Metric);
  const observers = new Map<string, ObserveRequest>();
  return (route) => {
    const existing = observers.get(route);
    if (existing) return existing;
    const byMethod = new Map<string, MethodMetrics>();
    const observe: ObserveRequest = (method, status, seconds) => {
      let metrics = byMethod.get(method);
      if (!metrics) {
        metrics = {
          labels: { method, route },
          newStatuses: new Map(),
          counts: new Array(BUCKETS.length + 1).fill(0),
          sum: 0,
        };
        byMethod.set(method, metrics);
        allMetrics.push(metrics);
      }
      metrics.newStatuses.set(status, (metrics.newStatuses.get(status) ?? 0) + 1);
      metrics.sum += seconds;
      let bucket = 0;
      while (bucket < BUCKETS.length && seconds > BUCKETS[bucket]!) bucket++;
      metrics.counts[bucket]!++;
    };
    observers.set(route, observe);
    return observe;
  };
}

/** Lists the samples of a histogram, with cumulative buckets. */
function listSamples({ labels, counts, sum }: MethodMetrics): object[] {
  let total = 0;
  const buckets = counts.map((count, index) => {
    total += count;
    return { metricName: `${NAME}_bucket`, labels: { le: BUCKETS[index] ?? "+Inf", ...labels }, value: total };
  });
  return [
    ...buckets,
    { metricName: `${NAME}_sum`, labels, value: sum },
    { metricName: `${NAME}_count`, labels, value: total },
  ];
}
