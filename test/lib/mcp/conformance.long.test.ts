/**
 * The server passes the conformance scenarios of MCP, for versions that begin with `initialize` (2025) and for the stateless one
 * (2026-07-28). Excepted are the listed checks of diagnostic tools, prompts and resources, which the server does not have.
 */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, openSync, readFileSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import * as esbuild from "esbuild";
import { afterAll, beforeAll, expect, test } from "vitest";
import { killServers, type Server, serve, temporaryFolder } from "../../e2e/server.ts";
import { manifest } from "../../support/intents.ts";
import { withAgents } from "../../support/mcp.ts";

const folder = temporaryFolder();
const conformanceProgram = join(folder, "conformance.cjs");
let server: Server;

beforeAll(async () => {
  // As one CommonJS file the program runs on every version of Node that this package supports.
  const source = createRequire(import.meta.url).resolve("@modelcontextprotocol/conformance/dist/index.js");
  await esbuild.build({
    entryPoints: [source],
    outfile: conformanceProgram,
    bundle: true,
    platform: "node",
    format: "cjs",
    define: { "import.meta.url": JSON.stringify(pathToFileURL(source).href) },
    logLevel: "error",
  });
  writeFileSync(join(folder, "intent.json"), JSON.stringify(manifest(withAgents())));
  server = await serve(folder, ["--product-intent=intent.json"]);
});
afterAll(() => killServers(folder));

const NO_DIAGNOSTIC_TOOLS = [
  "sep-2575-server-rejects-undeclared-capability",
  "sep-2575-missing-capability-http-400",
  "sep-2575-http-server-no-independent-requests-on-stream",
  "sep-2575-server-no-log-without-loglevel",
];
const NO_PROMPTS_OR_RESOURCES = [
  "sep-2549-prompts-list-caching-hints",
  "sep-2549-resources-list-caching-hints",
  "sep-2549-resources-templates-list-caching-hints",
];

interface Check {
  id: string;
  status: "SUCCESS" | "FAILURE" | "WARNING" | "SKIPPED" | "INFO";
  errorMessage?: string;
}

/** Runs a scenario and returns its checks. */
async function runScenario(scenario: string, version: string): Promise<Check[]> {
  const args = ["server", "--url", `${server.url}/mcp`, "--scenario", scenario, "--spec-version", version, "--verbose"];
  // The output goes to a file, since the program exits before all output has passed through a pipe.
  const path = join(folder, `${scenario}_${version}.txt`);
  const output = openSync(path, "w");
  // The program exits with 1 when a check fails, and prints all checks in any case.
  await once(
    spawn(process.execPath, [conformanceProgram, ...args], { cwd: folder, stdio: ["ignore", output, "ignore"] }),
    "exit",
  );
  closeSync(output);
  const stdout = readFileSync(path, "utf8");
  const json = /^\[$[\s\S]*?^\]$/m.exec(stdout)?.[0];
  if (json === undefined) throw new Error(`the scenario printed no checks:\n${stdout}`);
  return JSON.parse(json) as Check[];
}

test.each<[string, string, string[]?]>([
  ["server-initialize", "2025-06-18"],
  ["server-initialize", "2025-11-25"],
  ["server-session-lifecycle", "2025-11-25"],
  ["ping", "2025-11-25"],
  ["tools-list", "2025-06-18"],
  ["tools-list", "2025-11-25"],
  ["dns-rebinding-protection", "2025-11-25"],
  ["server-stateless", "2026-07-28", NO_DIAGNOSTIC_TOOLS],
  ["tools-list", "2026-07-28"],
  ["http-header-validation", "2026-07-28"],
  ["input-required-result-unsupported-methods", "2026-07-28"],
  ["dns-rebinding-protection", "2026-07-28"],
  ["caching", "2026-07-28", NO_PROMPTS_OR_RESOURCES],
])("the scenario %s of version %s passes", async (scenario, version, notApplicable = []) => {
  const checks = await runScenario(scenario, version);
  const failed = checks.filter(({ status }) => status === "FAILURE" || status === "WARNING");
  expect(failed.filter(({ id }) => !notApplicable.includes(id))).toEqual([]);
  // Each check that is listed as not applicable fails, and for that reason.
  expect(failed.map(({ id }) => id).sort()).toEqual([...notApplicable].sort());
  for (const { errorMessage } of failed)
    expect(errorMessage).toMatch(/^Not testable|Method not found: (?:prompts|resources)\//);
  expect(checks.some(({ status }) => status === "SUCCESS" || status === "INFO")).toBe(true);
});
