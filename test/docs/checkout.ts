/** Fills a folder like a checkout after `npm ci` and a build, and another with the programs that npm puts on the path. */
import { readdirSync, readFileSync, symlinkSync, writeFileSync, copyFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { program, quickProgram } from "../e2e/server.ts";
import { ROOT } from "./markdown.ts";

/** Entries of the checkout that are not linked. */
const NOT_LINKED = ["dist", "data", ".git"];
const PUBLISHED_SERVER = "dist/local/ui_server.js";

/** Fills `folder` as the checkout and `bin` as the folder of programs. */
export async function fillCheckout(folder: string, bin: string): Promise<void> {
  for (const name of readdirSync(ROOT))
    if (!NOT_LINKED.includes(name)) symlinkSync(join(ROOT, name), join(folder, name));
  symlinkSync(dirname(dirname(await program())), join(folder, "dist"));
  // Another build of the server starts faster; test/package.long.test.ts tests the published build.
  const server = join("dist/local", basename(await quickProgram()));
  copyFileSync(join(ROOT, "local/example/product_intent.json"), join(folder, "product_intent.json"));
  const { bin: programs, scripts } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
  for (const [name, file] of Object.entries(programs as Record<string, string>))
    if (file !== PUBLISHED_SERVER) symlinkSync(join(folder, file), join(bin, name));
  writeFileSync(join(bin, "ui_server"), `#!/usr/bin/env bash\nexec node ${join(folder, server)} "$@"\n`, {
    mode: 0o755,
  });
  writeFileSync(join(bin, "npm"), renderNpmScript(scripts.start.replace(PUBLISHED_SERVER, server)), { mode: 0o755 });
}

/**
 * Renders a script in place of npm, for a checkout that is installed and built. `start` is the shell command of `npm start`.
 * `npm install --prefix FOLDER` links the packages in the folder of the variable INSTALLED.
 */
const renderNpmScript = (start: string): string => `#!/usr/bin/env bash
all="$*"
command=$1
shift
[ "$1" = -- ] && shift
case $command in
  ci) ;;
  install) ln -s "$INSTALLED" "$2/node_modules" ;;
  start) ${start} "$@" ;;
  *) echo "npm $all is not run in the documents' tests: mark the block as not run" >&2; exit 1 ;;
esac
`;
