/** The log for spreadsheets: RFC 4180 in UTF-8 with a byte order mark, and nothing in it that one would take for a formula. */
import type { Store } from "../store/store.ts";
import { type AuditEntry, entrySchema } from "./entry.ts";
import { readLogRows } from "./rows.ts";

const columnNames = () => Object.keys(entrySchema().shape) as (keyof AuditEntry)[];

/** The whole chain in order, a heading and one entry a line. */
export async function* writeCsv(store: Pick<Store, "texts">): AsyncGenerator<string, undefined> {
  const names = columnNames();
  // Without it some spreadsheets take UTF-8 for the machine's own code page.
  yield `\ufeff${formatLine(names)}`;
  for await (const rows of readLogRows(store))
    yield rows.map(({ text }) => formatEntry(JSON.parse(text) as AuditEntry, names)).join("");
  return undefined;
}

const formatEntry = (entry: AuditEntry, names: readonly (keyof AuditEntry)[]): string =>
  formatLine(names.map((column) => entry[column]));

const formatLine = (fields: readonly (string | number)[]): string => `${fields.map(formatField).join(",")}\r\n`;

/** Begins a formula in a spreadsheet; the wide forms do where the keyboard has them. */
const FORMULA_CHARACTER = String.raw`[=+\-@\uff0b\uff0d\uff1d\uff20]`;
/** A formula at the beginning, or where a spreadsheet begins another cell because its separator is none of RFC 4180's. */
const FORMULA_START = new RegExp(`(^|[;\\t\\r\\n][ "']*)(?=${FORMULA_CHARACTER})|^(?=[\\t\\r\\n])`, "g");

/** Writes a field; what a spreadsheet would run stands behind an apostrophe, as OWASP recommends. */
function formatField(value: string | number): string {
  const plain = typeof value === "string" ? value.replace(FORMULA_START, "$1'") : String(value);
  return /[",;\t\r\n]/.test(plain) ? `"${plain.replaceAll('"', '""')}"` : plain;
}
