declare module "prom-client/lib/registry.js" {
  /** prom-client's registry: it asks each metric what it has, and writes it as text. */
  export default class Registry {
    static readonly PROMETHEUS_CONTENT_TYPE: string;
    registerMetric(metric: { name: string; get(): object }): void;
    metrics(): Promise<string>;
  }
}
