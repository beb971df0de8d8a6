/**
 * Takes out of what is bundled what is for the document of the API, which few bundles make: the descriptions of fields, and
 * zod's way from a schema to JSON Schema, a sixth of zod, which every schema refers to.
 */
import { readFile } from "node:fs/promises";

const TEXT = String.raw`(?:"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*')`;
/** A list of texts, numbers and lists of such. */
const LIST = String.raw`\[(?:${TEXT}|\[(?:${TEXT}|[^\]"'])*\]|[^\]["'])*\]`;
const DESCRIBED = new RegExp(
  String.raw`\.describe\(\s*${TEXT},?\s*\)|\.meta\(\{\s*description:\s*${TEXT},\s*examples:\s*${LIST},?\s*\}\)`,
  "g",
);

/** A module's text without `.describe("…")` and `.meta({ description: "…", examples: […] })`. */
const undescribed = (text) => text.replaceAll(DESCRIBED, "");

const TO_JSON_SCHEMA = /[\\/]zod[\\/]v4[\\/]core[\\/](?:to-json-schema|json-schema-processors)\.js$/;

/** A module that exports the same names with nothing behind them. */
const emptied = (text) =>
  [...text.matchAll(/^export (?:const|function) (\w+)/gm)]
    .map(([, name]) => `export const ${name} = undefined;`)
    .join("\n");

/** Loads modules without them. */
export const UNDESCRIBED = {
  name: "undescribed",
  setup({ onLoad }) {
    onLoad({ filter: /[\\/](?:handlers|lib)[\\/].*\.ts$/ }, async ({ path }) => ({
      contents: undescribed(await readFile(path, "utf8")),
      loader: "ts",
    }));
    onLoad({ filter: TO_JSON_SCHEMA }, async ({ path }) => ({ contents: emptied(await readFile(path, "utf8")) }));
  },
};
