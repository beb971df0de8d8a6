/** Clients that stock generators write from the document, as the compiler sees them. */
import { execFile } from "node:child_process";
import { mkdtempSync, readdirSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { intentOf } from "../../support/intents.ts";
import { servedUnder } from "./document_under.ts";

const run = promisify(execFile);
const MODULES = join(import.meta.dirname, "../../../node_modules");
const COMPILER = join(import.meta.dirname, "javascript_compiler.mjs");
const STRICT = "--noEmit --strict --skipLibCheck --target es2022 --module esnext --moduleResolution bundler".split(" ");

/** The arguments of `node` that write a client of `document` into `folder`. */
const GENERATORS: Record<string, (document: string, folder: string) => string[]> = {
  "@hey-api/openapi-ts": (document, folder) => [
    "--import",
    COMPILER,
    join(MODULES, "@hey-api/openapi-ts/dist/run.mjs"),
    ...["--input", document, "--output", folder, "--no-log-file"],
  ],
  "openapi-typescript-codegen": (document, folder) => [
    join(MODULES, "openapi-typescript-codegen/bin/index.js"),
    ...["--input", document, "--output", folder, "--client", "fetch"],
  ],
};

/** Generates a client, and returns what the compiler says about it. */
async function compileClient(generator: string, document: unknown): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), "generated-client-"));
  const [input, output] = [join(folder, "openapi.json"), join(folder, "client")];
  writeFileSync(input, JSON.stringify(document));
  await run(process.execPath, GENERATORS[generator]!(input, output), { cwd: folder });
  expect(readdirSync(output)).toContain("index.ts");
  const tsc = ["--ignoreConfig", ...STRICT, "--lib", "es2023,dom,dom.iterable", join(output, "index.ts")];
  return run(process.execPath, [join(MODULES, "typescript/bin/tsc"), ...tsc], { cwd: folder }).then(
    ({ stdout }) => stdout,
    (error: { stdout: string }) => error.stdout,
  );
}

const DOCUMENT = servedUnder({ product: { ...intentOf(), identity: {} as never } });

test.each(Object.keys(GENERATORS))("the client that %s writes compiles", async (generator) => {
  expect(await compileClient(generator, DOCUMENT)).toBe("");
});

test("JSON is the first media type of a body, which generators of clients send", () => {
  const bodies = Object.values(DOCUMENT.paths)
    .flatMap((methods) => Object.values(methods))
    .flatMap(({ requestBody }) => (requestBody ? [Object.keys(requestBody.content)] : []))
    .filter((types) => types.includes("application/json"));
  expect(bodies.length).toBeGreaterThan(10);
  expect(bodies.filter(([first]) => first !== "application/json")).toEqual([]);
});
