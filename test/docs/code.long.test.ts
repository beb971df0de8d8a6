/** The TypeScript in the documents compiles with the sources; test/package.long.test.ts compiles it with the package. */
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import packageJson from "../../package.json" with { type: "json" };
import tsconfig from "../../tsconfig.json" with { type: "json" };
import { writeCode } from "./code.ts";
import { ROOT } from "./markdown.ts";

/** Returns the compiler's `paths` from the package's exports to their sources. */
function exportPaths(): Record<string, string[]> {
  const typed = Object.entries(packageJson.exports).flatMap(([name, target]) =>
    typeof target === "object" ? [[name, target.types] as const] : [],
  );
  return Object.fromEntries(
    typed.map(([name, types]) => [
      name.replace(/^\./, packageJson.name),
      [types.replace(/^\.\/dist/, ROOT).replace(/\.d\.ts$/, ".ts")],
    ]),
  );
}

/** All code is compiled together; line numbers in the errors are those of the documents. */
test("the code in the documents compiles", async () => {
  const folder = mkdtempSync(join(tmpdir(), "countersign-code-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"));
  const compilerOptions = {
    ...tsconfig.compilerOptions,
    rootDir: "/",
    noUnusedLocals: false,
    resolveJsonModule: true,
    paths: exportPaths(),
  };
  // Declarations that no document imports: types of Workers, of an untyped package and of built files, and the collections of
  // some rooms.
  const ambient = [
    "lib/link/peer_records.ts",
    "lib/targets/effects.ts",
    "local/targets/file.ts",
    "lib/hosts/edge/cloudflare_workers.d.mts",
    "lib/operations/prom_client_registry.d.ts",
    "local/console_files.d.mts",
  ].map((path) => join(ROOT, path));
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, include: ["**/*.ts", ...ambient] }));
  const written = writeCode(folder);
  expect(written.length).toBeGreaterThan(10);
  const errors = await new Promise<string>((resolve) => {
    const compiler = join(ROOT, "node_modules/typescript/bin/tsc");
    execFile(process.execPath, [compiler, "-p", folder, "--singleThreaded"], (_, stdout) => resolve(stdout));
  });
  expect(errors).toBe("");
}, 120_000);
