/**
 * Tables of the manual equal those that are generated from their references in test/docs/reference. Where a reference lists parts
 * of the code, such as rooms or settings, it lists all of them.
 */
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ROOMS } from "../support/rooms.ts";
import { checkPage, renderFields, renderTable, replaceTables } from "./generated_tables.ts";
import { ROOT } from "./markdown.ts";
import { LAMBDA_SETTINGS, OTHER_HOST_VARIABLES, WORKER_SETTINGS } from "./reference/host_settings.ts";
import { BOUND_REFERENCE } from "./reference/mandate_bounds.ts";
import { ROOM_PURPOSES } from "./reference/rooms.ts";
import { SCENARIO_FIELDS } from "./reference/scenario_fields.ts";
import { ACT_MEMBERS, STATEMENT_MEMBERS } from "./reference/statement_members.ts";
import { RECORD_PARTS } from "./reference/telemetry_fields.ts";
import { TRUST_CORE } from "./reference/trust_core.ts";

test("the tables of members of statements are generated from the reference", () =>
  checkPage("docs/consent.md", (text) =>
    replaceTables(
      text,
      renderFields(STATEMENT_MEMBERS, ["Member", "Content"]),
      renderFields(ACT_MEMBERS, ["Decision", "Members"]),
    ),
  ));

test("the table of bounds of a mandate is generated from the reference", () =>
  checkPage("docs/mandates.md", (text) => replaceTables(text, renderFields(BOUND_REFERENCE, ["Bound", "Meaning"]))));

test("the table of fields of a scenario is generated from the reference", () =>
  checkPage("docs/intent.md", (text) => {
    const rows = Object.entries(SCENARIO_FIELDS).map(([name, cells]) => [`\`${name}\``, ...cells]);
    return replaceTables(text, renderTable(["Field", "Value", "Meaning"], ["---", "---", "---"], ...rows));
  }));

test("the table of parts of a log record lists each attribute of the export", async () => {
  const code = readFileSync(join(ROOT, "lib/operations/audit_export/records.ts"), "utf8");
  const attributes = [...code.matchAll(/^ +"([a-z.]+)":/gm)].map(([, name]) => name!);
  expect(attributes.length).toBeGreaterThan(5);
  expect(attributes.filter((name) => !(name in RECORD_PARTS))).toEqual([]);
  await checkPage("docs/telemetry.md", (text) =>
    replaceTables(text, renderFields(RECORD_PARTS, ["Part of a record", "Value"])),
  );
});

test("the table of rooms lists each room of lib in the order of imports", async () => {
  expect(Object.keys(ROOM_PURPOSES)).toEqual(ROOMS);
  await checkPage("docs/architecture.md", (text) =>
    replaceTables(text, renderFields(ROOM_PURPOSES, ["Room", "Purpose"])),
  );
});

test("the table of the trust core links to each of its files", () =>
  checkPage("docs/trust_core.md", (text) => {
    const rows = Object.entries(TRUST_CORE).map(([path, content]) => {
      const address = path.startsWith("lib/") ? `../${path}` : "https://www.npmjs.com/package/canonicalize";
      return [`[\`${path}\`](${address})`, content];
    });
    return replaceTables(text, renderTable(["File", "Content"], ["---", "---"], ...rows));
  }));

test("the tables of hosts list each setting that their code reads, with named exceptions", async () => {
  const code = readdirSync(join(ROOT, "lib/hosts"), { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(".ts"))
    .map((path) => readFileSync(join(ROOT, "lib/hosts", path), "utf8"));
  const variables = new Set(code.flatMap((text) => text.match(/SVC_[A-Z_]+/g) ?? []));
  const listed = new Set([LAMBDA_SETTINGS, WORKER_SETTINGS].flatMap((settings) => Object.keys(settings)));
  expect([...variables].filter((name) => !listed.has(name)).toSorted()).toEqual(OTHER_HOST_VARIABLES.toSorted());
  await checkPage("docs/lambda.md", (text) =>
    replaceTables(text, renderFields(LAMBDA_SETTINGS, ["Variable", "Meaning"])),
  );
  await checkPage("docs/workers.md", (text) => replaceTables(text, renderFields(WORKER_SETTINGS, ["Name", "Meaning"])));
});
