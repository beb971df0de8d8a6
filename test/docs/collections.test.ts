/** docs/collections.md is generated from the schema; UPDATE_GOLDEN=1 updates it. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { format } from "prettier";
import { expect, test } from "vitest";
import { EDIT_EFFECTS, META_EDIT_EFFECTS } from "./reference/edit_effects.ts";
import { type CollectionSchema, COLLECTIONS, META_RECORDS, type RecordSchema } from "../../lib/store/schema.ts";

const ROOT = join(import.meta.dirname, "../..");
const REFERENCE = join(ROOT, "docs/collections.md");

const ERASURE = {
  entry: "with the entry",
  projection: "by its projection",
  sweep: "by the sweep",
  files: "with the files",
  adapter: "by the adapter",
} as const;

const code = (text: string): string => `\`${text.replaceAll("|", "\\|")}\``;
const writers = ({ writer, also = [] }: Pick<RecordSchema, "writer" | "also">): string => [writer, ...also].join(", ");
const table = (head: readonly string[], rows: readonly (readonly string[])[]): string =>
  [head, head.map(() => "---"), ...rows].map((cells) => `| ${cells.join(" | ")} |`).join("\n");

const renderPage = (): Promise<string> =>
  format(
    `# Collections

For people who read or back up a store: what it contains. A test makes this page from \`lib/store/schema.ts\`. A backup, an export and a move contain every collection. Do not edit a store: the last column says what an edit does.

- **Record** is the TypeScript type of a value, declared by the part that writes it.
- **Until** says when a record is removed. If it is empty, records stay as long as the log.
- **Erasure** says how the content of an erased change leaves the collection: in the transaction of the erasure (_with the entry_), when a projection reads the entry (_by its projection_), by a search for copies within a day (_by the sweep_), when files are written again (_with the files_), or _by the adapter_. If it is empty, the collection never has such content.
- **An edit** says what happens if somebody with write access to the store edits a record while the service runs. An empty cell means no effect on decisions. \`rebuild\` and \`verify_audit\` are actions of \`POST /api/action/run-now\`.

${table(
  ["Collection", "Id", "Record", "Written by", "Purpose", "Until", "Erasure", "An edit"],
  Object.entries<CollectionSchema>(COLLECTIONS).map(([name, one]) => [
    code(name),
    code(one.key),
    code(one.record),
    writers(one),
    one.purpose,
    one.retention ?? "",
    one.erasure ? ERASURE[one.erasure] : "",
    (EDIT_EFFECTS as Record<string, string>)[name] ?? "",
  ]),
)}

## Records of \`meta\`

${table(
  ["Id", "Record", "Written by", "Purpose", "An edit"],
  Object.entries<RecordSchema>(META_RECORDS).map(([name, one]) => [
    code(name),
    code(one.record),
    writers(one),
    one.purpose,
    (META_EDIT_EFFECTS as Record<string, string>)[name] ?? "",
  ]),
)}
`,
    { parser: "markdown", printWidth: 120 },
  );

test("the reference of collections is generated from the schema", async () => {
  const page = await renderPage();
  if (process.env["UPDATE_GOLDEN"] === "1") writeFileSync(REFERENCE, page);
  expect(readFileSync(REFERENCE, "utf8").split("\n")).toEqual(page.split("\n"));
});
