/** The built console as a module, for hosts without a folder: `countersign:console-files`. */
import { createHash } from "node:crypto";
import { relative, resolve } from "node:path";
import { gzipSync } from "node:zlib";
import { consoleOutput } from "./console.mjs";
import { root } from "./root.mjs";

/** Each file by its name, with its text and its ETag; without `splitting` all of the code is in one. */
export async function consoleFiles({ splitting = true } = {}) {
  const outdir = "console";
  const files = await consoleOutput({ outdir, splitting });
  return Object.fromEntries(
    files.map(({ path, text }) => [
      relative(resolve(root, outdir), path).replaceAll("\\", "/"),
      { text, etag: `"${createHash("sha256").update(text).digest("hex").slice(0, 32)}"` },
    ]),
  );
}

/** Puts it in place of its name. */
export const consoleFilesInPlace = (options) => ({
  name: "console files",
  setup({ onResolve, onLoad }) {
    onResolve({ filter: /^countersign:console-files$/ }, ({ path }) => ({ path, namespace: "console-files" }));
    onLoad({ filter: /.*/, namespace: "console-files" }, async () => ({
      contents: gzipSync(JSON.stringify(await consoleFiles(options)), { level: 9 }).toString("base64"),
      loader: "text",
    }));
  },
});
