/**
 * Merges the chunks that the first page loads into one file, and names every chunk by the build: browsers store such files for a
 * year without asking again, so a new build needs new names.
 */
import { createHash } from "node:crypto";
import { basename } from "node:path";
import * as esbuild from "esbuild";

/** Static imports of a file or a chunk, as esbuild writes them. */
const STATIC = /(?:\bfrom|\bimport)\s*"\.\/(?:chunks\/)?([\w.-]+\.js)"/g;
/** Lists of exported names. */
const NAMES = /\bexport\s*\{([^}]*)\};?/g;

/** Takes and returns files as `{ path, text }`: the entry `app.js` becomes part of the core, and the page names the stored files. */
export async function mergeCore(files) {
  const isChunk = ({ path }) => path.includes("/chunks/");
  const app = files.find(({ path }) => basename(path) === "app.js");
  const chunks = new Map([...files.filter(isChunk), app].map((file) => [basename(file.path), file]));
  const core = [...listStaticImports(app, chunks), "app.js"];
  const build = createHash("sha256").update(JSON.stringify(files.map(({ text }) => text))).digest("hex").slice(0, 16); // prettier-ignore
  const coreName = `core-${build}.js`;
  const styleName = `style-${build}.css`;
  const others = files.filter(({ path }) => !core.includes(basename(path)));
  /** Adds the build to the hash in a chunk's name. */
  const rename = (chunk) => chunk.replace(/-[A-Z0-9]{8}\.js$/, (hash) => `${hash.slice(0, -3)}-${build}.js`);
  const lazy = [...chunks.keys()].filter((chunk) => !core.includes(chunk));
  const rewrite = (code) => renameAll(importCore(code, core, coreName), lazy, rename);
  const folder = files.find(isChunk).path.replace(/[^/]+$/, "");
  // The entry imports chunks from their parent folder; the core is in their own.
  const text = (await bundle(core, chunks)).replaceAll('"./chunks/', '"./');
  return [
    { path: folder + coreName, text: rewrite(text) },
    ...others.map((file) => {
      const { path, text: code } = file;
      const own = basename(path);
      if (own === "index.html") return { path, text: nameStored(code, coreName, styleName) };
      if (own === "style.css") return { path: folder + styleName, text: code };
      return isChunk(file) ? { path: folder + rename(own), text: rewrite(code) } : file;
    }),
  ];
}

/** Names the stored files in the page. */
const nameStored = (page, script, style) =>
  page.replace('"app.js"', `"chunks/${script}"`).replace('"style.css"', `"chunks/${style}"`);

/** Lists the chunks that a file imports statically, directly or through others. */
function listStaticImports(from, chunks) {
  const imported = new Set();
  const visit = ({ text }) => {
    for (const [, name] of text.matchAll(STATIC)) {
      if (imported.has(name) || !chunks.has(name)) continue;
      imported.add(name);
      visit(chunks.get(name));
    }
  };
  visit(from);
  return [...imported];
}

/** Returns the prefix of a chunk's exports in the core. */
const makePrefix = (core, chunk) => `c${core.indexOf(chunk)}_`;

/** Bundles chunks into one module with the exports of each under its own prefix. */
async function bundle(core, chunks) {
  const exported = (chunk) =>
    [...chunks.get(chunk).text.matchAll(NAMES)].flatMap(
      ([, list]) =>
      list.split(",").map((one) => one.trim().split(/\s+as\s+/).at(-1)), // prettier-ignore
    );
  const reexport = (chunk) => {
    const names = exported(chunk).map((one) => `${one} as ${makePrefix(core, chunk)}${one}`);
    return names.length === 0 ? `import "./${chunk}";` : `export { ${names.join(", ")} } from "./${chunk}";`;
  };
  const contents = core.map(reexport).join("\n");
  const { outputFiles } = await esbuild.build({
    stdin: { contents, resolveDir: "/" },
    bundle: true,
    format: "esm",
    minify: true,
    write: false,
    plugins: [
      {
        name: "chunks in memory",
        setup({ onResolve, onLoad }) {
          onResolve({ filter: /./ }, ({ path, kind }) =>
            kind === "dynamic-import" ? { path, external: true } : { path: basename(path), namespace: "chunk" },
          );
          onLoad({ filter: /./, namespace: "chunk" }, ({ path }) => ({
            contents: chunks.get(path).text,
            loader: "js",
          }));
        },
      },
    ],
  });
  return outputFiles[0].text;
}

/** Rewrites imports from merged chunks to imports from the core. */
const importCore = (code, core, coreName) =>
  core.reduce(
    (text, chunk) =>
      text.replace(
        new RegExp(`import(?:\\s*\\{([^}]*)\\}\\s*from)?\\s*"(\\./(?:chunks/)?)${chunk.replaceAll(".", "\\.")}"`, "g"),
        (_, names, folder) =>
          names === undefined
            ? `import"${folder}${coreName}"`
            : `import{${names.split(",").map((one) => formatImport(one.trim(), makePrefix(core, chunk))).join(",")}}from"${folder}${coreName}"`, // prettier-ignore
      ),
    code,
  );

/** Formats one imported name by the name that the export has in the core. */
const formatImport = (one, prefix) => (/\sas\s/.test(one) ? prefix + one : `${prefix}${one} as ${one}`);

const renameAll = (code, names, rename) => names.reduce((text, chunk) => text.replaceAll(chunk, rename(chunk)), code);
