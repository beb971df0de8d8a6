/** Counts requests and their durations: prom-client takes longer over labels than a short request may take. */
import { Counter, type Metric, type Registry } from "prom-client";

const NAME = "countersign_http_request_duration_seconds";

/** In seconds: a durable write takes a few milliseconds, an adapter up to ten seconds. */
export const BUCKETS = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10];

/** Answers to one method of a route. */
interface Figures {
  labels: { method: string; route: string };
  /** By status; those since the last scrape. */
  fresh: Map<number, number>;
  /** Durations up to each bound that exceed the one before; the last: those above all. */
  counts: number[];
  sum: number;
}

/** Counts an answer of a route, which took so many seconds. */
export type ObserveRequest = (method: string, status: number, seconds: number) => void;

/** Registers the metrics of requests; returns what makes the observer of a route, one for all that name it. */
export function requestMetrics(registry: Registry): (route: string) => ObserveRequest {
  const all: Figures[] = [];
  const requests = new Counter({
    name: "countersign_http_requests_total",
    help: "Requests answered.",
    labelNames: ["method", "route", "status"] as const,
    registers: [registry],
    collect() {
      for (const { labels, fresh } of all) {
        for (const [status, count] of fresh) requests.inc({ ...labels, status: String(status) }, count);
        fresh.clear();
      }
    },
  });
  const durations = {
    name: NAME,
    help: "Time until the answer was ready; of a stream, until it began.",
    type: "histogram",
    get: async () => ({ ...durations, values: all.flatMap(samplesOf) }),
  };
  registry.registerMetric(durations as unknown as Metric);
  const observers = new Map<string, ObserveRequest>();
  return (route) => {
    const known = observers.get(route);
    if (known) return known;
    const byMethod = new Map<string, Figures>();
    const observe: ObserveRequest = (method, status, seconds) => {
      let figures = byMethod.get(method);
      if (!figures) {
        figures = {
          labels: { method, route },
          fresh: new Map(),
          counts: new Array(BUCKETS.length + 1).fill(0),
          sum: 0,
        };
        byMethod.set(method, figures);
        all.push(figures);
      }
      figures.fresh.set(status, (figures.fresh.get(status) ?? 0) + 1);
      figures.sum += seconds;
      let bucket = 0;
      while (bucket < BUCKETS.length && seconds > BUCKETS[bucket]!) bucket++;
      figures.counts[bucket]!++;
    };
    observers.set(route, observe);
    return observe;
  };
}

/** Returns the samples of a histogram, whose buckets are cumulative. */
function samplesOf({ labels, counts, sum }: Figures): object[] {
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
