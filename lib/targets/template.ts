/** Templates that generate the key of a value in a target system from its tenant and target. */
import { NoTargetSystem } from "../changes/operations/adapter_port.ts";

/** Values of the placeholders `{tenant}` and `{rest}`; `rest` is the part of the target that a wildcard matched. */
export interface TemplateValues {
  tenant: string;
  rest: string;
}

const PLACEHOLDER = /\{(tenant|rest)\}/g;

/** Returns true for a template that generates different keys for each tenant. */
export const hasTenantPlaceholder = (template: string): boolean => template.includes("{tenant}");

/** Explains why a template cannot be used. */
export function findTemplateProblem(template: string): string | undefined {
  const unknown = /\{[^}]*\}?/.exec(template.replaceAll(PLACEHOLDER, ""))?.[0];
  if (unknown !== undefined) return `has ${unknown}; the placeholders are {tenant} and {rest}`;
  if (/\}\{/.test(template)) return "has two placeholders with nothing between them, so that keys are ambiguous";
  return template === "" ? "is empty" : undefined;
}

/** Generates a key. Throws `NoTargetSystem` for a value that would make the key ambiguous, or lead out of its folder. */
export function expandTemplate(template: string, values: TemplateValues): string {
  const parts = template.split(PLACEHOLDER);
  let key = parts[0]!;
  // After the first part, names of placeholders and texts alternate.
  for (let index = 1; index < parts.length; index += 2) {
    const name = parts[index] as keyof TemplateValues;
    const suffix = parts[index + 1]!;
    const value = values[name];
    const problem = findValueProblem(name, value, suffix);
    if (problem !== undefined)
      throw new NoTargetSystem(`the target system makes its keys by ${template}, and ${name} ${problem}`);
    key += value + suffix;
  }
  return key;
}

function findValueProblem(name: keyof TemplateValues, value: string, suffix: string): string | undefined {
  if (name === "tenant" && value.includes("/")) return `${JSON.stringify(value)} contains /`;
  // The suffix must not begin within the value, even partly: acme___ could be acme_ and __, or acme and ___.
  if (suffix !== "" && (value + suffix).indexOf(suffix) !== value.length)
    return `${JSON.stringify(value)} has no clear end before ${JSON.stringify(suffix)}, which follows it in the key`;
  const isDots = value.split("/").some((segment) => segment === "." || segment === "..");
  return isDots ? `${JSON.stringify(value)} has a segment . or ..` : undefined;
}
