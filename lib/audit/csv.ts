/** Exports the log as CSV for spreadsheets: RFC 4180 in UTF-8 with a byte order mark. No field is interpreted as a formula. */
import type { Store } from "../store/store.ts";
import { type AuditEntry, entrySchema } from "./entry.ts";
import { readLogRows } from "./rows.ts";

const columnNames = () => Object.keys(entrySchema().shape) as (keyof AuditEntry)[];

/** Yields the log as CSV: a heading, then one line for each entry, in order. */
export async function* writeCsv(store: Pick<Store, "texts">): AsyncGenerator<string, undefined> {
  const names = columnNames();
  // Without the byte order mark some spreadsheets assume the machine's own encoding.
  yield `\ufeff${formatLine(names)}`;
  for await (const rows of readLogRows(store))
    yield rows.map(({ text }) => formatEntry(JSON.parse(text) as AuditEntry, names)).join("");
  return undefined;
}

const formatEntry = (entry: AuditEntry, names: readonly (keyof AuditEntry)[]): string =>
  formatLine(names.map((column) => entry[column]));

const formatLine = (fields: readonly (string | number)[]): string => `${fields.map(formatField).join(",")}\r\n`;

/** Characters that begin a formula in a spreadsheet, full-width forms included. */
const FORMULA_CHARACTER = String.raw`[=+\-@\uff0b\uff0d\uff1d\uff20]`;
/** A formula at the start of a field or after a possible separator, or a field that begins with a tab or line break. */
const FORMULA_START = new RegExp(`(^|[;\\t\\r\\n][ "']*)(?=${FORMULA_CHARACTER})|^(?=[\\t\\r\\n])`, "g");

/** Formats a field; a possible formula gets an apostrophe in front, as OWASP recommends. */
function formatField(value: string | number): string {
  const plain = typeof value === "string" ? value.replace(FORMULA_START, "$1'") : String(value);
  return /[",;\t\r\n]/.test(plain) ? `"${plain.replaceAll('"', '""')}"` : plain;
}
