/** The TypeScript of the documents is right by the sources; test/package.long.test.ts holds it to what is published. */
import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import packageJson from "../../package.json" with { type: "json" };
import tsconfig from "../../tsconfig.json" with { type: "json" };
import { writeCode } from "./code.ts";
import { ROOT } from "./markdown.ts";

/** Sources of the package's exports. */
function paths(): Record<string, string[]> {
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

/** One compilation of all of it: the figures of its errors are the documents' own lines. */
test("the code of the documents is well typed", async () => {
  const folder = mkdtempSync(join(tmpdir(), "countersign-code-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  symlinkSync(join(ROOT, "node_modules"), join(folder, "node_modules"));
  const compilerOptions = {
    ...tsconfig.compilerOptions,
    ...{ rootDir: "/", noUnusedLocals: false, resolveJsonModule: true, paths: paths() },
  };
  // Declarations of a Worker's own types, of a package that has none, of what the build puts in place, and of the collections
  // of rooms that no document imports.
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
