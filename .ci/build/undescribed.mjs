/** Takes the descriptions of fields out of what is bundled: they are for the document of the API, which few bundles make. */
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

/** Loads modules without them. */
export const UNDESCRIBED = {
  name: "undescribed",
  setup({ onLoad }) {
    onLoad({ filter: /[\\/](?:handlers|lib)[\\/].*\.ts$/ }, async ({ path }) => ({
      contents: undescribed(await readFile(path, "utf8")),
      loader: "ts",
    }));
  },
};
