/** Runs test files of a copied tree in a vitest process of its own, so that no run sees what another left behind. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";

/** For each test file. */
const LIMIT_MS = 180_000;

/**
 * Runs the files; `only` is a pattern over the names of tests. Gives what came of it: `passed`; `failed`, with the names of
 * the tests that did; `hung`, it had not ended in three minutes a file; `unclear`, vitest failed and no test did, with the
 * reason it gave.
 */
export async function runTests({ folder, temporary }, { tests, only, bail }) {
  const report = join(folder, "report.json");
  rmSync(report, { force: true });
  const args = [
    ...["run", "--config=test/vitest.config.ts", "--cache=false", `--bail=${bail}`, "--no-file-parallelism"],
    // Keyed by content: what is not faulty need not be compiled again.
    ...["--experimental.fsModuleCache", `--experimental.fsModuleCachePath=${join(folder, "cache")}`],
    ...["--reporter=json", `--outputFile=${report}`],
    ...(only === undefined ? [] : [`--testNamePattern=${only}`]),
    ...tests,
  ];
  const started = performance.now();
  const options = { cwd: folder, env: { ...process.env, TMPDIR: temporary } };
  const { hung, output } = await vitest(args, options, LIMIT_MS * tests.length);
  const seconds = (performance.now() - started) / 1000;
  return { ...(hung ? { outcome: "hung" } : read(report, tests, output)), seconds };
}

async function vitest(args, options, limit) {
  const program = join(options.cwd, "node_modules/vitest/vitest.mjs");
  const stdio = ["ignore", "pipe", "pipe"];
  const child = spawn(process.execPath, [program, ...args], { ...options, detached: true, stdio });
  // A fault may leave behind what its tests started; all of it is in the child's process group.
  const killAll = () => {
    try {
      process.kill(-child.pid, "SIGKILL");
    } catch {
      // Nobody is left.
    }
  };
  // Before the folders are removed that it writes to.
  process.prependOnceListener("exit", killAll);
  let output = "";
  for (const stream of [child.stdout, child.stderr]) stream.on("data", (text) => (output += text));
  const closed = once(child, "close");
  let hung = false;
  const timer = setTimeout(() => {
    hung = true;
    killAll();
  }, limit);
  await once(child, "exit");
  clearTimeout(timer);
  killAll();
  await closed;
  process.off("exit", killAll);
  return { hung, output };
}

function read(report, tests, output) {
  // A vitest that fell over has written none.
  if (!existsSync(report)) return { outcome: "unclear", reason: output };
  const { testResults, success } = JSON.parse(readFileSync(report, "utf8"));
  const ran = testResults
    .flatMap(({ assertionResults }) => assertionResults)
    .filter(({ status }) => status === "passed" || status === "failed");
  const failed = ran.filter(({ status }) => status === "failed").map(({ fullName }) => fullName.trim());
  if (failed.length > 0) return { outcome: "failed", failed };
  if (success && ran.length >= tests.length) return { outcome: "passed" };
  const messages = testResults.flatMap(({ message }) => message || []).join("\n");
  return { outcome: "unclear", reason: messages || `of ${tests.join(", ")} ${ran.length} tests ran` };
}
