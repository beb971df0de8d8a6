/** Bundles for hosts that load one file: each by itself, with every package it needs inside. */
import * as esbuild from "esbuild";
import { root } from "./root.mjs";

/** Bundles those of `entries`, texts by their name, that are wanted. Resolves with esbuild's metafile. */
export async function bundles(entries, wanted, { plugins = [], ...options }) {
  const names = Object.keys(entries).filter(wanted);
  const { metafile } = await esbuild.build({
    absWorkingDir: root,
    entryPoints: names.map((name) => ({ in: `entry:${name}`, out: name })),
    bundle: true,
    minify: true,
    metafile: true,
    format: "esm",
    mainFields: ["module", "main"],
    legalComments: "none",
    logLevel: "warning",
    plugins: [...plugins, textsAsFiles(entries)],
    ...options,
  });
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
