/** The log for spreadsheets: RFC 4180 in UTF-8 with a byte order mark, and nothing in it that one would take for a formula. */
import type { Store } from "../store/store.ts";
import { type AuditEntry, entrySchema } from "./entry.ts";
import { logRows } from "./rows.ts";

const columns = () => Object.keys(entrySchema().shape) as (keyof AuditEntry)[];

/** The whole chain in order, a heading and one entry a line. */
export async function* writeCsv(store: Pick<Store, "texts">): AsyncGenerator<string, undefined> {
  const names = columns();
  // Without it some spreadsheets take UTF-8 for the machine's own code page.
  yield `\ufeff${line(names)}`;
  for await (const rows of logRows(store))
    yield rows.map(({ text }) => lineOf(JSON.parse(text) as AuditEntry, names)).join("");
  return undefined;
}

const lineOf = (entry: AuditEntry, names: readonly (keyof AuditEntry)[]): string =>
  line(names.map((column) => entry[column]));

const line = (fields: readonly (string | number)[]): string => `${fields.map(fieldOf).join(",")}\r\n`;

/** Begins a formula in a spreadsheet; the wide forms do where the keyboard has them. */
const FORMULA = String.raw`[=+\-@\uff0b\uff0d\uff1d\uff20]`;
/** A formula at the beginning, or where a spreadsheet begins another cell because its separator is none of RFC 4180's. */
const CELLS = new RegExp(`(^|[;\\t\\r\\n][ "']*)(?=${FORMULA})|^(?=[\\t\\r\\n])`, "g");

/** Writes a field; what a spreadsheet would run stands behind an apostrophe, as OWASP recommends. */
function fieldOf(value: string | number): string {
  const plain = typeof value === "string" ? value.replace(CELLS, "$1'") : String(value);
  return /[",;\t\r\n]/.test(plain) ? `"${plain.replaceAll('"', '""')}"` : plain;
}
