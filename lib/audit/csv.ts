/** The log for spreadsheets: RFC 4180, with nothing in it that one would take for a formula. */
import type { Store } from "../store/store.ts";
import { type AuditEntry, entrySchema } from "./entry.ts";
import { logRows } from "./rows.ts";

const columns = () => Object.keys(entrySchema().shape) as (keyof AuditEntry)[];

/** The whole chain in order, a heading and one entry a line. */
export async function* csvOf(store: Pick<Store, "texts">): AsyncGenerator<string, undefined> {
  const names = columns();
  yield line(names);
  for await (const rows of logRows(store))
    yield rows.map(({ text }) => lineOf(JSON.parse(text) as AuditEntry, names)).join("");
  return undefined;
}

const lineOf = (entry: AuditEntry, names: readonly (keyof AuditEntry)[]): string =>
  line(names.map((column) => entry[column]));

const line = (fields: readonly (string | number)[]): string => `${fields.map(fieldOf).join(",")}\r\n`;

/** What a spreadsheet would run stands behind an apostrophe, as OWASP has it. */
function fieldOf(value: string | number): string {
  const text = String(value);
  const plain = typeof value === "string" && /^[=+\-@\t\r\n]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(plain) ? `"${plain.replaceAll('"', '""')}"` : plain;
}
