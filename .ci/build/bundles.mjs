/** Builds bundles for hosts that load one file, each with every package that it needs. */
import { mkdir, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import * as esbuild from "esbuild";
import { ALL_ENDPOINTS } from "./handler_files.mjs";
import { root } from "./root.mjs";
import { UNDESCRIBED } from "./undescribed.mjs";

/**
 * Bundles the `entries` (source texts by name) for which `isWanted` is true. `finish` converts the text of a bundle before it is
 * written. Returns the merged metafile of esbuild.
 */
export async function buildBundles(entries, isWanted, { plugins = [], ...options }) {
  const names = Object.keys(entries).filter(isWanted);
  // Only the document of the API and MCP need the descriptions of fields; all other bundles are built without them.
  const hasDescriptions = (name) =>
    entries[name].includes(ALL_ENDPOINTS) || entries[name].includes('"./handlers/mcp.ts"');
  const built = await Promise.all([
    bundleEntries(entries, names.filter(hasDescriptions), { plugins, ...options }),
    bundleEntries(
      entries,
      names.filter((name) => !hasDescriptions(name)),
      { plugins: [...plugins, UNDESCRIBED], ...options },
    ),
  ]);
  return {
    inputs: Object.assign({}, ...built.map(({ inputs }) => inputs)),
    outputs: Object.assign({}, ...built.map(({ outputs }) => outputs)),
  };
}

async function bundleEntries(entries, names, { plugins, finish = (text) => text, ...options }) {
  const { metafile, outputFiles } = await esbuild.build({
    absWorkingDir: root,
    entryPoints: names.map((name) => ({ in: `entry:${name}`, out: name })),
    bundle: true,
    minify: true,
    // With one character beyond Latin-1 the engine stores and parses the complete file with two bytes for each character.
    charset: "ascii",
    metafile: true,
    write: false,
    format: "esm",
    mainFields: ["module", "main"],
    legalComments: "none",
    logLevel: "warning",
    plugins: [...plugins, createTextPlugin(entries)],
    ...options,
  });
  for (const { path, text } of outputFiles) {
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, finish(text));
  }
  return metafile;
}

/** Creates a plugin that resolves `entry:<name>` to a file in the root with this text. */
function createTextPlugin(texts) {
  return {
    name: "texts as files",
    setup({ onResolve, onLoad }) {
      onResolve({ filter: /^entry:/ }, ({ path }) => ({ path: path.slice("entry:".length), namespace: "entry" }));
      onLoad({ filter: /.*/, namespace: "entry" }, ({ path }) => ({
        contents: texts[path],
        resolveDir: root,
        loader: "ts",
      }));
    },
  };
}
