/** Clients that common generators write from the document: each must compile. */
import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { promisify } from "node:util";
import { expect, test } from "vitest";
import { clientGenerators } from "../../support/client_generators.ts";
import { makeIntent } from "../../support/intents.ts";
import { FULL } from "../../support/run_length.ts";
import { buildServedDocument } from "./test_documents.ts";

const run = promisify(execFile);
const COMPILER = join(import.meta.dirname, "../../../node_modules/typescript/bin/tsc");
const STRICT = "--noEmit --strict --skipLibCheck --allowImportingTsExtensions --target es2022".split(" ");
const BUNDLER = "--module esnext --moduleResolution bundler --lib es2023,dom,dom.iterable".split(" ");

/** Returns the arguments of `node` for a generator in `home` that writes a client of `document` into `folder`. */
type ArgumentsFor = (document: string, folder: string, home: string) => string[];

const ARGUMENTS: Record<string, ArgumentsFor> = {
  "@hey-api/openapi-ts": (document, folder, home) => [
    join(home, "node_modules", "@hey-api/openapi-ts/dist/run.mjs"),
    ...["--input", document, "--output", folder, "--no-log-file"],
  ],
  "openapi-typescript-codegen": (document, folder, home) => [
    join(home, "node_modules", "openapi-typescript-codegen/bin/index.js"),
    ...["--input", document, "--output", folder, "--client", "fetch"],
  ],
  // Its configuration names the document and the output, relative to the working directory.
  kubb: (_document, _folder, home) => [
    join(home, "node_modules", "@kubb/cli/bin/kubb.cjs"),
    ...["generate", "--config", join(home, "kubb.config.mjs")],
  ],
  orval: (document, folder, home) => [
    join(home, "node_modules", "orval/dist/bin/orval.js"),
    ...["--input", document, "--output", join(folder, "index.ts"), "--client", "fetch"],
  ],
  // It expects the path of the output relative to the working directory.
  "typed-openapi": (document, folder, home) => [
    join(home, "node_modules", "typed-openapi/bin.js"),
    ...[document, "--output", join(basename(folder), "index.ts"), "--runtime", "none"],
  ],
};

/** Generates a client, and returns the output of the compiler. */
async function compileClient(argumentsFor: ArgumentsFor, document: unknown, home: string): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), "generated-client-"));
  const [input, output] = [join(folder, "openapi.json"), join(folder, "client")];
  mkdirSync(output);
  writeFileSync(input, JSON.stringify(document));
  await run(process.execPath, argumentsFor(input, output, home), { cwd: folder });
  expect(readdirSync(output)).toContain("index.ts");
  const tsc = [COMPILER, "--ignoreConfig", ...STRICT, ...BUNDLER, join(output, "index.ts")];
  return run(process.execPath, tsc, { cwd: folder }).then(
    ({ stdout }) => stdout,
    (error: { stdout: string }) => error.stdout,
  );
}

const DOCUMENT = buildServedDocument({ product: { ...makeIntent(), identity: {} as never } });

/** The generators are 280 MB, so only the full run fetches them. */
const home =
  FULL &&
  (await clientGenerators().catch((error: Error) => {
    process.stderr.write(`generated clients are not compiled: ${error.message}\n`);
  }));

test.skipIf(!home).each(Object.entries(ARGUMENTS))("the client that %s writes compiles", async (_, argumentsFor) => {
  expect(await compileClient(argumentsFor, DOCUMENT, home as string)).toBe("");
});

test("JSON is the first media type of a body, which generators of clients send", () => {
  const bodies = Object.values(DOCUMENT.paths)
    .flatMap((methods) => Object.values(methods))
    .flatMap(({ requestBody }) => (requestBody ? [Object.keys(requestBody.content)] : []))
    .filter((types) => types.includes("application/json"));
  expect(bodies.length).toBeGreaterThan(10);
  expect(bodies.filter(([first]) => first !== "application/json")).toEqual([]);
});
