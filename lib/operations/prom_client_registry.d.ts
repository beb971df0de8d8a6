/** Declares the file of prom-client that `lib` imports: the package has types for its main module only. */
declare module "prom-client/lib/registry.js" {
  /** prom-client's registry: collects the samples of each metric and formats them as text. */
  export default class Registry {
    static readonly PROMETHEUS_CONTENT_TYPE: string;
    registerMetric(metric: { name: string; get(): object }): void;
    metrics(): Promise<string>;
  }
}
