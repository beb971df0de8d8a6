/**
 * node test/mutation/run.mjs [--short] [FILE…]: mutation tests of the groups of sources in groups.mjs. Stryker changes one
 * expression at a time and runs the tests that cover it; a mutant that no test detects survives. FILE is a part of a path.
 * `--short` tests the lines that differ from the parent of HEAD, for two minutes, and ignores FILE. Exit code 1: a score is below
 * its minimum.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { parseArgs } from "node:util";
import { Stryker } from "@stryker-mutator/core";
import { GROUPS } from "./groups.mjs";
import { results } from "./reporter.mjs";

const root = join(import.meta.dirname, "../..");
const SHORT_MS = 120_000;
/** Number of mutants below which the score of changed lines is not judged. */
const MIN_SAMPLE = 20;
const MUTANT_TIMEOUT_MS = 60_000;
const say = (line) => process.stdout.write(`${line}\n`);

const { values, positionals } = parseArgs({ options: { short: { type: "boolean" } }, allowPositionals: true });
process.chdir(root);
const folder = mkdtempSync(join(tmpdir(), "mutation-"));
process.once("exit", () => {
  // Processes of Stryker would continue and write into the folder.
  spawnSync("pkill", ["-KILL", "-P", String(process.pid)]);
  rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
});
for (const signal of ["SIGINT", "SIGTERM"])
  process.once(signal, () => {
    report(`stopped by ${signal}`);
    process.exit(1);
  });

for (const [name, { sources }] of Object.entries(GROUPS)) {
  const mutate = values.short ? listChangedLines(sources) : listSourceFiles(sources);
  if (mutate.length > 0) await test(name, mutate);
  else say(`${name}: ${values.short ? "no line was changed" : "no file has this name"}`);
}

function listSourceFiles(sources) {
  const files = readdirSync(sources).map((file) => sources + file);
  return files.filter((file) => positionals.length === 0 || positionals.some((part) => file.includes(part)));
}

/** Lists ranges of lines, as Stryker reads them. */
function listChangedLines(sources) {
  const diff = execFileSync("git", ["diff", "-U0", "HEAD~1", "--", sources], { encoding: "utf8", maxBuffer: 1e9 });
  const ranges = [];
  let file;
  for (const line of diff.split("\n")) {
    if (line.startsWith("+++ ")) file = line.startsWith("+++ b/") ? line.slice("+++ b/".length) : undefined;
    const [, first, count = "1"] = /^@@ \S+ \+(\d+)(?:,(\d+))?/.exec(line) ?? [];
    if (file && first && count !== "0") ranges.push(`${file}:${first}-${Number(first) + Number(count) - 1}`);
  }
  return ranges;
}

async function test(group, mutate) {
  process.env.MUTATION_GROUP = group;
  results.length = 0;
  const run = new Stryker({
    mutate,
    // TypeScript rejects most changed strings, and golden files contain the texts of errors and reports.
    mutator: { excludedMutations: ["StringLiteral"] },
    testRunner: "vitest",
    vitest: { configFile: "test/mutation/vitest.config.ts", related: false },
    plugins: ["@stryker-mutator/vitest-runner", join(import.meta.dirname, "reporter.mjs")],
    reporters: ["collector"],
    coverageAnalysis: "perTest",
    // Mutants of code that runs at import would need all tests, each with all modules loaded again.
    ignoreStatic: true,
    incremental: !values.short,
    incrementalFile: `coverage/mutation/${group}.json`,
    ignorePatterns: ["dist", "data", "coverage"],
    tempDirName: folder,
    tsconfigFile: "none",
    concurrency: Number(process.env.MUTATION_WORKERS ?? 1),
    timeoutMS: MUTANT_TIMEOUT_MS,
    dryRunTimeoutMinutes: 30,
    allowEmpty: true,
    logLevel: "warn",
  }).runMutationTest();
  const timeLimit = values.short && new Promise((resolve) => setTimeout(resolve, SHORT_MS, "time"));
  const isComplete = (await Promise.race([run, ...(timeLimit ? [timeLimit] : [])])) !== "time";
  report(group);
  if (isComplete) return;
  say(`stopped after ${SHORT_MS / 1000} s; npm run mutants tests all`);
  process.exit();
}

/** Prints the score of each file. */
function report(group) {
  const files = [...new Set(results.map(({ fileName }) => fileName))].sort();
  const rows = files.map((file) =>
    row(
      relative(root, file),
      results.filter(({ fileName }) => fileName === file),
    ),
  );
  const all = row(group, results);
  say(["score  killed  survived  uncovered  timeout  file", ...rows.map(({ text }) => text), all.text].join("\n"));
  if (values.short && all.judged < MIN_SAMPLE) return;
  if (all.score < (GROUPS[group]?.minScore ?? 0)) process.exitCode = 1;
}

/** Makes a row of the report. Timeouts are not part of the score, because a slow machine causes some. */
function row(name, mutants) {
  const count = (status) => mutants.filter((mutant) => mutant.status === status).length;
  const [killed, survived, uncovered, timeout] = ["Killed", "Survived", "NoCoverage", "Timeout"].map(count);
  const judged = killed + survived + uncovered;
  const score = judged === 0 ? 100 : (100 * killed) / judged;
  const cells = [`${score.toFixed(1)} %`, killed, survived, uncovered, timeout];
  return {
    score,
    judged,
    text: `${cells.map((cell, column) => String(cell).padStart([5, 8, 10, 11, 9][column])).join("")}  ${name}`,
  };
}
