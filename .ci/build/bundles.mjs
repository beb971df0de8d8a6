/** Bundles for hosts that load one file: each by itself, with every package it needs inside. */
import { mkdir, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import * as esbuild from "esbuild";
import { ALL_ENDPOINTS } from "./handler_files.mjs";
import { root } from "./root.mjs";
import { UNDESCRIBED } from "./undescribed.mjs";

/**
 * Bundles those of `entries`, texts by their name, that are wanted; `finish` makes of a bundle's text what is written. Resolves
 * with esbuild's metafile.
 */
export async function bundles(entries, wanted, { plugins = [], ...options }) {
  const names = Object.keys(entries).filter(wanted);
  // MCP tells agents what its tools take and answer.
  const describes = (name) => entries[name].includes(ALL_ENDPOINTS) || entries[name].includes('"./handlers/mcp.ts"');
  const built = await Promise.all([
    bundled(entries, names.filter(describes), { plugins, ...options }),
    bundled(
      entries,
      names.filter((name) => !describes(name)),
      { plugins: [...plugins, UNDESCRIBED], ...options },
    ),
  ]);
  return {
    inputs: Object.assign({}, ...built.map(({ inputs }) => inputs)),
    outputs: Object.assign({}, ...built.map(({ outputs }) => outputs)),
  };
}

async function bundled(entries, names, { plugins, finish = (text) => text, ...options }) {
  const { metafile, outputFiles } = await esbuild.build({
    absWorkingDir: root,
    entryPoints: names.map((name) => ({ in: `entry:${name}`, out: name })),
    bundle: true,
    minify: true,
    // One character of another script makes the engine hold, and parse, the whole file at two bytes a character.
    charset: "ascii",
    metafile: true,
    write: false,
    format: "esm",
    mainFields: ["module", "main"],
    legalComments: "none",
    logLevel: "warning",
    plugins: [...plugins, textsAsFiles(entries)],
    ...options,
  });
  for (const { path, text } of outputFiles) {
    await mkdir(dirname(path), { recursive: true });
    await writeFile(path, finish(text));
  }
  return metafile;
}

/** Lets `entry:<name>` stand for a file in the root that has this text. */
function textsAsFiles(texts) {
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
