/** A plan in a file: YAML, of which JSON is a part. */
import { readFile } from "node:fs/promises";
import { NotDone } from "./exit.ts";

/**
 * Reads the fields of a proposal from a file; a list is what the plan sets. Errors: `NotDone` where the file cannot be read, is no
 * YAML, or has a number that JSON would round.
 */
export async function readPlanFile(path: string): Promise<Record<string, unknown>> {
  const text = await readFile(path, "utf8").catch((error: Error) => {
    throw new NotDone(`${path} cannot be read: ${error.message}`);
  });
  const { parseDocument } = await import("yaml");
  const document = parseDocument(text, { intAsBigInt: true });
  const [fault] = document.errors;
  if (fault) throw new NotDone(`${path} is no YAML: ${fault.message}`);
  const content = withNumbers(path, document.toJS());
  if (Array.isArray(content)) return { sets: content };
  if (typeof content === "object" && content !== null) return content as Record<string, unknown>;
  throw new NotDone(`${path} holds no proposal: write its fields, or the list of what it sets`);
}

/** Returns parsed YAML with numbers as JSON has them. */
function withNumbers(path: string, value: unknown): unknown {
  if (typeof value === "bigint" || typeof value === "number") {
    const number = Number(value);
    const isExact = typeof value === "bigint" ? BigInt(number) === value : Number.isFinite(number);
    if (!isExact)
      throw new NotDone(`${path} has the number ${value}, which cannot be stored exactly: put it in quotes`);
    return number;
  }
  if (Array.isArray(value)) return value.map((one) => withNumbers(path, one));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, withNumbers(path, one)]));
}
