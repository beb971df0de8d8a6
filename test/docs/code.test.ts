/** The TypeScript of the documents is right by the types that the package publishes. */
import { execFile } from "node:child_process";
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import packageJson from "../../package.json" with { type: "json" };
import tsconfig from "../../tsconfig.json" with { type: "json" };
import { documents, ROOT } from "./markdown.ts";

/** Where the sources of what the package exports are. */
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
  // What a Worker's own types would declare, and what a package does not.
  const ambient = ["hosts/edge/cloudflare_workers.d.mts", "pulse/prom_client_registry.d.ts"].map((path) =>
    join(ROOT, "lib", path),
  );
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify({ compilerOptions, include: ["**/*.ts", ...ambient] }));
  let written = 0;
  for (const { path, blocks } of documents()) {
    const at = join(folder, path);
    mkdirSync(at, { recursive: true });
    copyFileSync(join(ROOT, "local/example/product_intent.json"), join(at, "product_intent.json"));
    for (const { language, line, text } of blocks) {
      if (language !== "ts") continue;
      // Its lines stand where they stand in the document, which makes it a module of that name.
      writeFileSync(join(at, `${basename(path)}_${line}.ts`), `${"\n".repeat(line - 1)}${text}\nexport {};\n`);
      written++;
    }
  }
  expect(written).toBeGreaterThan(3);
  const errors = await new Promise<string>((resolve) => {
    const compiler = join(ROOT, "node_modules/typescript/bin/tsc");
    execFile(process.execPath, [compiler, "-p", folder, "--singleThreaded"], (_, stdout) => resolve(stdout));
  });
  expect(errors).toBe("");
}, 120_000);
