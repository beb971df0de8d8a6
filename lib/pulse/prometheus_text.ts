/** The Prometheus text format 0.0.4. */

/** One metric with its samples; a sample is a value and its labels. */
export interface Family {
  name: string;
  type: "counter" | "gauge";
  help: string;
  samples: readonly (readonly [value: number, labels?: Readonly<Record<string, string>>])[];
}

/** The content type of the format. */
export const PROMETHEUS_TYPE = "text/plain; version=0.0.4; charset=utf-8";

/** Renders families; one without samples is left out. */
export const prometheusText = (families: readonly Family[]): string =>
  families
    .filter(({ samples }) => samples.length > 0)
    .map(({ name, type, help, samples }) =>
      [
        `# HELP ${name} ${escaped(help)}`,
        `# TYPE ${name} ${type}`,
        ...samples.map(([value, labels]) => `${name}${labelText(labels)} ${value}`),
        "",
      ].join("\n"),
    )
    .join("");

function labelText(labels: Readonly<Record<string, string>> = {}): string {
  const pairs = Object.entries(labels).map(([name, value]) => `${name}="${escaped(value).replaceAll('"', '\\"')}"`);
  return pairs.length === 0 ? "" : `{${pairs.join(",")}}`;
}

const escaped = (text: string): string => text.replaceAll("\\", "\\\\").replaceAll("\n", "\\n");
