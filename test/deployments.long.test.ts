/** The deployment files, checked with the tools that deploy them, where they are installed. */
import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
// @ts-expect-error a build script without types
import * as building from "../esbuild.config.mjs";
import { temporaryFolder } from "./e2e/server.ts";
import { wrangler } from "./support/wrangler.ts";

const ROOT = join(import.meta.dirname, "..");

const template = readFileSync(join(ROOT, "template.yaml"), "utf8");

/** Returns the findings of CloudFormation's linter, or undefined if that Python program is not installed. */
function lint(templates: Readonly<Record<string, string>>): string | undefined {
  const cwd = temporaryFolder();
  for (const [name, text] of Object.entries(templates)) writeFileSync(join(cwd, name), text);
  const options = ["--non-zero-exit-code", "informational", ...Object.keys(templates)];
  const { error, status, stdout, stderr } = spawnSync("cfn-lint", options, { cwd, encoding: "utf8" });
  // Status 127: a shim found that the program is not installed.
  if (!error && status !== 127) return status === 0 ? "" : stdout + stderr;
  const reason = error?.message ?? stderr.trim();
  process.stderr.write(
    `template.yaml is not linted: cfn-lint is missing (${reason}); install it with pip install cfn-lint\n`,
  );
  return undefined;
}

test("cfn-lint accepts template.yaml with and without the authorizer of docs/lambda.md", (context) => {
  const [, example] = /```yaml authorizer\nApi:\n {2}Properties:\n([^`]+)```/.exec(
    readFileSync(join(ROOT, "docs/lambda.md"), "utf8"),
  )!;
  const api = "  Api:\n    Type: AWS::Serverless::HttpApi\n    Properties:\n";
  expect(template).toContain(api);
  const authorized = template.replace(api, api + example!.replace(/^/gm, "  ").trimEnd() + "\n");
  const findings = lint({ "template.yaml": template, "authorized.yaml": authorized });
  context.skip(findings === undefined, "cfn-lint is missing");
  expect(findings).toBe("");
});

/** Builds the files of a Worker as `npm run build` does, next to its configuration. */
async function buildWorkerFolder(): Promise<string> {
  const { buildConsole, buildWorker } = building as Record<string, (path: string) => Promise<unknown>>;
  const folder = temporaryFolder();
  mkdirSync(join(folder, "docs"));
  cpSync(join(ROOT, "docs/wrangler.jsonc"), join(folder, "docs/wrangler.jsonc"));
  await buildConsole!(join(folder, "dist/local/ui"));
  await buildWorker!(join(folder, "dist/edge/worker.js"));
  return folder;
}

test("wrangler accepts docs/wrangler.jsonc in a dry run", async (context) => {
  const script = await wrangler().catch((error: Error) => error);
  if (script instanceof Error) {
    process.stderr.write(`the Worker's deployment is not tested: wrangler cannot be installed: ${script.message}\n`);
    return context.skip("wrangler cannot be installed");
  }
  const folder = await buildWorkerFolder();
  const env = { PATH: process.env["PATH"], HOME: folder, CI: "1", WRANGLER_SEND_METRICS: "false" };
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [script, "deploy", "--dry-run", "-c", "docs/wrangler.jsonc"],
    { cwd: folder, env, encoding: "utf8" },
  );
  expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
  expect(stdout).toMatch(/Read \d{2} files from the assets directory/);
  for (const binding of ["env.COUNTERSIGN (Countersign)", "env.ASSETS", "env.SVC_PRODUCT_INTENT_JSON"])
    expect(stdout).toContain(binding);
  expect(stdout).toContain("--dry-run: exiting now.");
});
