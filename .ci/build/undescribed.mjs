/**
 * Removes from bundles the code for the document of the API, which few of them build: the descriptions of fields, and zod's
 * conversion of schemas to JSON Schema, which is a sixth of zod.
 */
import { readFile } from "node:fs/promises";

const TEXT = String.raw`(?:"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')`;
/** A list of texts, numbers and nested lists. */
const LIST = String.raw`\[(?:${TEXT}|\[(?:${TEXT}|[^\]"'])*\]|[^\]["'])*\]`;
const DESCRIBED = new RegExp(
  String.raw`\.describe\(\s*${TEXT},?\s*\)|\.meta\(\{\s*description:\s*${TEXT},\s*examples:\s*${LIST},?\s*\}\)`,
  "g",
);

/** Returns a module's text without `.describe("…")` and `.meta({ description: "…", examples: […] })`. */
const removeDescriptions = (text) => text.replaceAll(DESCRIBED, "");

const TO_JSON_SCHEMA = /[\\/]zod[\\/]v4[\\/]core[\\/](?:to-json-schema|json-schema-processors)\.js$/;

/** Returns a module that exports the same names as undefined. */
const emptyModule = (text) =>
  [...text.matchAll(/^export (?:const|function) (\w+)/gm)]
    .map(([, name]) => `export const ${name} = undefined;`)
    .join("\n");

/** The plugin that loads modules without this code. */
export const UNDESCRIBED = {
  name: "undescribed",
  setup({ onLoad }) {
    onLoad({ filter: /[\\/](?:handlers|lib)[\\/].*\.ts$/ }, async ({ path }) => ({
      contents: removeDescriptions(await readFile(path, "utf8")),
      loader: "ts",
    }));
    onLoad({ filter: TO_JSON_SCHEMA }, async ({ path }) => ({ contents: emptyModule(await readFile(path, "utf8")) }));
  },
};
