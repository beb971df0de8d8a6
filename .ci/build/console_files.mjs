/** Provides the built console as the module `countersign:console-files`, for hosts without a folder. */
import { createHash } from "node:crypto";
import { relative, resolve } from "node:path";
import { gzipSync } from "node:zlib";
import { buildConsoleOutput } from "./console.mjs";
import { root } from "./root.mjs";

/** Returns the text and ETag of each file by its name; without `splitting` all code is in one file. */
export async function buildConsoleFiles({ splitting = true } = {}) {
  const outdir = "console";
  const files = await buildConsoleOutput({ outdir, splitting });
  return Object.fromEntries(
    files.map(({ path, text }) => [
      relative(resolve(root, outdir), path).replaceAll("\\", "/"),
      { text, etag: `"${createHash("sha256").update(text).digest("hex").slice(0, 32)}"` },
    ]),
  );
}

/** Creates the plugin that resolves `countersign:console-files`. */
export const createConsoleFilesPlugin = (options) => ({
  name: "console files",
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^countersign:console-files$/ }, ({ path }) => ({ path, namespace: "console-files" }));
    onLoad({ filter: /.*/, namespace: "console-files" }, async () => ({
      contents: gzipSync(JSON.stringify(await buildConsoleFiles(options)), { level: 9 }).toString("base64"),
      loader: "text",
    }));
  },
});
