/** The tables of the reference pages list every code, field and event of the code; UPDATE_GOLDEN=1 updates them. */
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { entrySchema, EVENT_TYPES } from "../../lib/audit/entry.ts";
import { EVENT_REFERENCE, MEMBER_REFERENCE } from "./reference/events.ts";
import { SERVICE_ACTIONS } from "../../lib/changes/rules/service_action.ts";
import { intentJsonSchema } from "../support/intent_json_schema.ts";
import { loadIntent } from "../../lib/changes/rules/intent.ts";
import { MANDATE_DECISIONS } from "../../lib/changes/rules/mandate.ts";
import { DECISIONS } from "../../lib/changes/rules/statement.ts";
import { DURATIONS, type Field, FIELDS, GROUPS, SORTS } from "../../lib/find/fields.ts";
import { ERROR_REFERENCE } from "./reference/errors.ts";
import { type ErrorCode, STATUS_BY_CODE } from "../../lib/kit/errors.ts";
import { ISSUER_FIELDS, IDENTITY_FIELDS } from "./reference/token_fields.ts";
import { gateIssuersSchema } from "../../lib/identity/gate_issuers.ts";
import { identityFileSchema } from "../../lib/identity/identity_file.ts";
import { portableSha256 } from "../../lib/kit/platform.ts";
import { NOTIFICATION_REFERENCE } from "./reference/notifications.ts";
import { NOTIFICATION_TYPES } from "../../lib/operations/notify/notification.ts";
import { EXITS } from "../../local/command_line/exit.ts";
import { FIELD_REFERENCE, GITHUB_FIELDS } from "./reference/target_fields.ts";
import { githubFields } from "../../local/targets/github.ts";
import { TYPES } from "../../local/targets/types.ts";
import { REJECTIONS } from "../../local/http_rejection.ts";
import { checkPage, GENERATED, renderFields, renderTable } from "./generated_tables.ts";
import { documents, ROOT } from "./markdown.ts";
import { withoutBackticks, listRows } from "./tables.ts";

const findPage = (path: string) => documents().find((document) => document.path === path)!;

test("the tables of errors are generated from the reference", () =>
  checkPage("docs/errors.md", (text) => {
    const [intro, ...sections] = text.split(/^(?=## )/m);
    const pageSections = sections.map((section) => {
      const codes = Object.entries(ERROR_REFERENCE).find(([heading]) => section.startsWith(`## ${heading}\n`))?.[1];
      expect(GENERATED.test(section), section.slice(0, 40)).toBe(codes !== undefined);
      const rows = Object.entries(codes ?? {}).map(([code, columns]) => [
        `\`${code}\``,
        String(STATUS_BY_CODE[code as ErrorCode]),
        ...columns,
      ]);
      const table = renderTable(["Code", "Status", "Cause", "What to do"], ["---", "---", "---", "---"], ...rows);
      return section.replace(GENERATED, () => table);
    });
    return [intro, ...pageSections].join("");
  }));

test("the tables of entries and events are generated from the reference", () =>
  checkPage("docs/audit_log.md", (text) => {
    const events = Object.entries(EVENT_REFERENCE).map(([event, columns]) => [`\`${event}\``, ...columns]);
    const fields = Object.entries(entrySchema().shape).map(([name, { description = "" }]) => [
      `\`${name}\``,
      description,
    ]);
    const members = Object.entries(MEMBER_REFERENCE).map(([member, meaning]) => [`\`${member}\``, meaning]);
    const details = Object.values(EVENT_REFERENCE).map(([, detail]) => detail);
    const isUsed = ([member = ""]: string[]) => details.some((detail) => detail.includes(member));
    expect(members.filter((member) => !isUsed(member))).toEqual([]);
    const tables = [
      renderTable(["Field", "What it is"], ["---", "---"], ...fields),
      renderTable(["`event_type`", "When", "`detail`"], ["---", "---", "---"], ...events),
      renderTable(["Member", "Meaning"], ["---", "---"], ...members),
    ];
    expect(text.split(GENERATED)).toHaveLength(tables.length + 1);
    return text.replaceAll(new RegExp(GENERATED, "g"), () => tables.shift()!);
  }));

test("the table of notifications is generated from the reference", () =>
  checkPage("docs/notifications.md", (text) => {
    const rows = NOTIFICATION_TYPES.map((type) => [`\`${type}\``, NOTIFICATION_REFERENCE[type]]);
    return text.replace(GENERATED, () => renderTable(["`type`", "When"], ["---", "---"], ...rows));
  }));

test("the table of exit codes is generated from the command line", () =>
  checkPage("docs/cli.md", (text) => {
    const rows = Object.values(EXITS).map(([code, meaning]) => [String(code), meaning]);
    return text.replace(GENERATED, () => renderTable(["Exit code", "Meaning"], ["---", "---"], ...rows));
  }));

const listInBackticks = (words: readonly string[]): string => words.map((word) => `\`${word}\``).join(", ");

/** Descriptions of the values of a query field, by type. */
const VALUE_DESCRIPTIONS = {
  names: "a name on record or in the intent, without case; `ana` also finds `ana@acme.example`",
  text: "a name on record",
  pattern: "a name on record; `*` stands for any characters",
  number: "a number, `>10`, `<10`, `10..20`",
  date: "`2026-10-26`, `2026-10`, `2026-W44`, `today`, `last-week`, `next-month`, `last-7-days`, a moment, `>`, `<`, `..`",
} as const;
const describeFieldValues = (field: Field): string =>
  "values" in field ? listInBackticks(field.values) : VALUE_DESCRIPTIONS[field.type];

test("the table of the query language is generated from its fields", () =>
  checkPage("docs/find.md", (text) => {
    const fieldsWithValues = [
      ...Object.entries<Field>(FIELDS).map(([name, field]) => [name, describeFieldValues(field)] as const),
      ["sort", `${listInBackticks(SORTS)}; \`-asc\` reverses it`] as const,
      ["group", listInBackticks(GROUPS)] as const,
      ["time", listInBackticks(DURATIONS)] as const,
    ];
    // Fields with the same values share a row.
    const rows = [...new Set(fieldsWithValues.map(([, values]) => values))].map((value) => [
      fieldsWithValues.flatMap(([name, other]) => (other === value ? [`\`${name}:\``] : [])).join(" "),
      value,
    ]);
    return text.replace(GENERATED, () => renderTable(["Field", "Takes"], ["---", "---"], ...rows));
  }));

test("the page about signed consent lists each decision that is signed", () => {
  const spans = new Set(findPage("docs/consent.md").spans.map(({ text }) => text));
  const decisions = [...DECISIONS, ...SERVICE_ACTIONS, ...MANDATE_DECISIONS];
  expect(decisions.filter((decision) => !spans.has(decision))).toEqual([]);
});

test("the pages about tokens and gates list each field of their files", async () => {
  const issuer = gateIssuersSchema().shape.issuers.element.shape;
  for (const [fields, schema] of [
    [IDENTITY_FIELDS, identityFileSchema().shape],
    [ISSUER_FIELDS, issuer],
    [GITHUB_FIELDS, githubFields().shape],
  ] as const)
    expect(Object.keys(fields).toSorted()).toEqual(Object.keys(schema).toSorted());
  await checkPage("docs/identity.md", (text) => text.replace(GENERATED, () => renderFields(IDENTITY_FIELDS)));
  const tables = [renderFields(ISSUER_FIELDS), renderFields(GITHUB_FIELDS)];
  await checkPage("docs/gates.md", (text) => text.replaceAll(new RegExp(GENERATED, "g"), () => tables.shift()!));
});

// The type `gate` has one field, an object, which docs/gates.md describes.
test.each(Object.entries(TYPES).filter(([type]) => type !== "gate"))(
  "the table of the target system type %s lists each field",
  async (type, { fields }) => {
    expect(Object.keys(FIELD_REFERENCE[type]!)).toEqual(Object.keys(fields));
    await checkPage(`docs/targets/${type}.md`, (text) => {
      expect(text).toMatch(GENERATED);
      return text.replace(GENERATED, () => renderFields(FIELD_REFERENCE[type]!));
    });
  },
);

test("every error code has a row with its status, a cause and a remedy", () => {
  const rows = listRows(findPage("docs/errors.md"), "Code", "Status", "Cause", "What to do");
  const statuses = rows.map(([code, status]) => `${status} ${withoutBackticks(code!)}`);
  const serverRejections = Object.values(REJECTIONS).map(([status, code]) => `${status} ${code}`);
  const declared = new Set([
    ...Object.entries(STATUS_BY_CODE).map(([code, status]) => `${status} ${code}`),
    ...serverRejections,
  ]);
  expect(statuses.toSorted()).toEqual([...declared].toSorted());
  expect(rows.filter(([, , ...texts]) => !texts.every((cell) => cell.endsWith(".")))).toEqual([]);
});

test("every type of target system has a row and a page", () => {
  const rows = listRows(findPage("docs/targets.md"), "Type", "A target is").map(([type]) => type);
  expect(rows.toSorted()).toEqual(
    Object.keys(TYPES)
      .map((type) => `[\`${type}\`](targets/${type}.md)`)
      .toSorted(),
  );
});

test("every member of the port to a target system has a doc comment", () => {
  const port = readFileSync(join(ROOT, "lib/targets/port.ts"), "utf8");
  const [, body = ""] = /^export interface TargetSystem \{\n([^]*?)^\}/m.exec(port) ?? [];
  const lines = body.split("\n");
  const members = lines.flatMap((line, at) => (/^ {2}(?:readonly )?\w+\??[(:]/.test(line) ? [at] : []));
  expect(members.length).toBeGreaterThan(15);
  expect(members.filter((at) => !lines[at - 1]?.endsWith("*/")).map((at) => lines[at])).toEqual([]);
});

test("every event of the log has a row", () => {
  const events = listRows(findPage("docs/audit_log.md"), "`event_type`", "When").map(([event]) =>
    withoutBackticks(event!),
  );
  expect(events.toSorted()).toEqual([...EVENT_TYPES].toSorted());
});

interface Schema {
  type?: string;
  description?: string;
  default?: unknown;
  const?: string;
  enum?: string[];
  format?: string;
  minimum?: number;
  exclusiveMinimum?: number;
  properties?: Record<string, Schema>;
  required?: string[];
  additionalProperties?: boolean | Schema;
  items?: Schema;
  anyOf?: Schema[];
  oneOf?: Schema[];
}

/** Describes the possible values of a field. */
function describeValue(schema: Schema): string {
  const { type, items, format, minimum, exclusiveMinimum } = schema;
  if (schema.const) return `\`${schema.const}\``;
  if (schema.enum) return listInBackticks(schema.enum);
  // Only the `deadline` of a KPI has alternatives among the listed fields.
  if (schema.anyOf) return "a date or a time";
  if (type === "array") {
    if (items!.enum) return `a list of ${describeValue(items!)}`;
    return items!.type === "string" ? "a list of text" : "a list of objects";
  }
  if (type === "boolean") return "`true` or `false`";
  const number = type === "integer" ? "a whole number" : "a number";
  if (type === "integer" || type === "number") {
    if (exclusiveMinimum !== undefined) return `${number} above ${exclusiveMinimum}`;
    return minimum === undefined ? number : `${number} of ${minimum} or more`;
  }
  if (type === "string") return format === "date-time" ? "a time" : "text";
  return "an object";
}

/** Returns a row for each field: its path, its possible values, its default and its description. */
function listFieldRows(schema: Schema, path = ""): string[][] {
  const inner = schema.type === "array" ? schema.items! : schema;
  const here = schema.type === "array" ? `${path}[]` : path;
  return (inner.oneOf ?? [inner]).flatMap(({ properties = {}, required = [], additionalProperties }) => {
    const variant = properties["type"]?.const;
    const prefix = variant ? `${path}[${variant}].` : here && `${here}.`;
    const rows = Object.entries(properties).flatMap(([name, field]) => {
      const defaultValue = "default" in field ? `\`${JSON.stringify(field.default)}\`` : "";
      const withoutField = required.includes(name) ? "required" : defaultValue;
      return [
        [`\`${prefix}${name}\``, describeValue(field), withoutField, field.description ?? ""],
        ...listFieldRows(field, `${prefix}${name}`),
      ];
    });
    const hasNamedFields = typeof additionalProperties === "object";
    return [...rows, ...(hasNamedFields ? listFieldRows(additionalProperties, `${here}.<name>`) : [])];
  });
}

/** Patterns of field paths, by section of the page. */
const SECTIONS = {
  "The intent itself": /^`(?!kpis\.|policy\.|principals\.)/,
  "`kpis`": /^`kpis\./,
  "`policy`": /^`policy\.\w+`$/,
  "Small changes and quorums": /^`policy\.(?:minor|required_approvers)\./,
  Permissions: /^`policy\.permissions\./,
  "Rules for values": /^`policy\.targets\[/,
  "Owners, windows, emergencies and guardrails":
    /^`policy\.(?:owners|windows|break_glass|guardrails|stages|mandates|promotion)\b[[.]/,
  "`principals`": /^`principals\./,
};

const escapeCell = (cell: string): string => (cell.startsWith("`") ? cell : cell.replaceAll(/[|*<>]/g, "\\$&"));

function renderReference(): string {
  const fieldRows = listFieldRows(intentJsonSchema());
  const sections = Object.entries(SECTIONS).map(([heading, pattern]) => {
    const rows = [
      ["Field", "Value", "Without it", "What it says"],
      ["---", "---", "---", "---"],
      ...fieldRows.filter(([path]) => pattern.test(path!)),
    ];
    return `## ${heading}\n\n${rows.map((cells) => `| ${cells.map(escapeCell).join(" | ")} |`).join("\n")}\n`;
  });
  const unlisted = fieldRows.filter(([path]) => !Object.values(SECTIONS).some((pattern) => pattern.test(path!)));
  expect(unlisted).toEqual([]);
  return `# Fields of the intent\n\nEvery field, made from the schema by a test. [The product intent](intent.md) explains how the rules work together.\n\n${sections.join("\n")}`;
}

test("the reference of the intent is generated from its schema", () =>
  checkPage("docs/intent_fields.md", renderReference));

test("the example intents are valid and use every field", () => {
  const texts = ["product_intent", "mandates_intent"].map((name) =>
    readFileSync(join(ROOT, `examples/rules/${name}.json`), "utf8"),
  );
  for (const text of texts) loadIntent(text, portableSha256);
  const intents = texts.map((text) => JSON.parse(text) as unknown);
  const hasField = (value: unknown, path: string[]): boolean => {
    if (path.length === 0) return true;
    const [name, ...rest] = path;
    if (typeof value !== "object" || value === null) return false;
    if (name === "<name>" || name === "[]") return Object.values(value).some((member) => hasField(member, rest));
    return Object.hasOwn(value, name!) && hasField((value as Record<string, unknown>)[name!], rest);
  };
  const paths = listFieldRows(intentJsonSchema()).map(([path]) => withoutBackticks(path!));
  const splitPath = (path: string) => path.replaceAll(/\[[a-z]*\]/g, ".[]").split(".");
  expect(paths.filter((path) => !intents.some((intent) => hasField(intent, splitPath(path))))).toEqual([]);
});
