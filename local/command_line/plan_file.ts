/** Reads plans from files, in YAML or JSON. */
import { readFile } from "node:fs/promises";
import { parseDocument, visit } from "yaml";
import { findInexactNumber } from "../../lib/kit/exact_numbers.ts";
import { NotDone } from "./exit.ts";

/**
 * Reads the fields of a proposal from a file; a file that is a list has the targets of a plan. Errors: `NotDone` if the file
 * cannot be read, is no YAML, or has a number that JSON would round.
 */
export async function readPlanFile(path: string): Promise<Record<string, unknown>> {
  const text = await readFile(path, "utf8").catch((error: Error) => {
    throw new NotDone(`${path} cannot be read: ${error.message}`);
  });
  const document = parseDocument(text, { intAsBigInt: true, resolveKnownTags: false });
  // A tag such as !!set, for a value that JSON does not have, is a warning.
  const [fault] = [...document.errors, ...document.warnings];
  if (fault) throw new NotDone(`${path} is not YAML: ${fault.message}`);
  visit(document, {
    Scalar(_, { value, source = "" }) {
      if (typeof value === "number" && !isExactFloat(value, source)) throw inexactNumberError(path, source);
    },
  });
  const content = convertIntegers(path, document.toJS());
  if (Array.isArray(content)) return { sets: content };
  if (typeof content === "object" && content !== null) return content as Record<string, unknown>;
  throw new NotDone(`${path} has no proposal: write its fields, or the list of its targets`);
}

/** Checks that a float is finite and has no more digits in the file than JSON keeps. YAML also has `.5` and `1.`. */
function isExactFloat(value: number, source: string): boolean {
  const digits = source
    .replaceAll("_", "")
    .replace(/^[+-]?(?=\.)/, "0")
    .replace(/\.(?=e|$)/i, "");
  return Number.isFinite(value) && findInexactNumber(digits) === undefined;
}

const inexactNumberError = (path: string, number: unknown): NotDone =>
  new NotDone(`${path} has the number ${number}, which cannot be stored exactly: put it in quotes`);

/** Converts the integers of parsed YAML to numbers. */
function convertIntegers(path: string, value: unknown): unknown {
  if (typeof value === "bigint") {
    const number = Number(value);
    if (BigInt(number) !== value) throw inexactNumberError(path, value);
    return number;
  }
  if (Array.isArray(value)) return value.map((one) => convertIntegers(path, one));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, one]) => [name, convertIntegers(path, one)]));
}
