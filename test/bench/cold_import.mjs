/**
 * node test/bench/cold_import.mjs [handler]: how long a fresh process takes to import one handler's Lambda bundle
 * (default product/approve), beside a module with nothing in it in the same run. Prints medians in milliseconds:
 * elapsed, and the processor's time, which other work on the machine disturbs less.
 */
import { spawnSync } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buildLambda } from "../../esbuild.config.mjs";
import { median } from "./load.mjs";

const RUNS = 21;
const name = process.argv.find((argument, index) => index > 1 && !argument.startsWith("-")) ?? "product/approve";

const program = `
const [, file] = process.argv, cpu = process.cpuUsage(), began = performance.now();
await import(file);
const { user, system } = process.cpuUsage(cpu);
console.log(JSON.stringify({ elapsed: performance.now() - began, processor: (user + system) / 1000 }));
process.exit();`;

function once(file) {
  const { stdout, stderr, status } = spawnSync(process.execPath, ["--input-type=module", "-e", program, file]);
  if (status !== 0) throw new Error(String(stderr));
  return JSON.parse(String(stdout));
}

const folder = mkdtempSync(join(tmpdir(), "countersign-cold-"));
try {
  await buildLambda(folder, (one) => one === name);
  const bundle = join(folder, name, "index.mjs");
  const empty = join(folder, "empty.mjs");
  writeFileSync(empty, "export const handler = () => {};\n");
  const rounds = Array.from({ length: RUNS }, () => ({ empty: once(empty), bundle: once(bundle) }));
  const of = (which, what) => median(rounds.map((round) => round[which][what])).toFixed(1);
  const more = (what) => median(rounds.map((round) => round.bundle[what] - round.empty[what])).toFixed(1);
  const line = (what) =>
    `${what}: ${of("bundle", what)} ms, empty module ${of("empty", what)} ms, difference ${more(what)} ms`;
  console.log(`cold import of ${name} on Lambda, median of ${RUNS} processes each; Node ${process.version}`);
  console.log(line("elapsed"));
  console.log(line("processor"));
} finally {
  rmSync(folder, { recursive: true, force: true });
}
