/**
 * node test/crash/faults.mjs [--short]: makes one system call of the running program fail, or kill the program (strace), and runs
 * the faults of passing_faults.mjs; then starts the program again and compares it with every receipt. Exit code 1: a fault of
 * the program. A part that this machine does not allow (strace, mount) is skipped with the reason.
 */
import { execFileSync } from "node:child_process";
import { mkdtemp } from "node:fs/promises";
import { readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { newLedger } from "./ledger.mjs";
import { runPassingFaults } from "./passing_faults.mjs";
import { spawnService } from "./service.mjs";
import { compare, CONFIG, FOLDER, intent, JOURNAL, newFolder, program, say, verdict, work } from "./session.mjs";

const short = process.argv.includes("--short");
const SNAPSHOT = "data/state.json";

/** System call, its file or folder (null: any), the injected errors, and the numbers of the calls that fail. */
const FAULTS = [
  ["pwrite64", JOURNAL, ["EIO", "ENOSPC", "KILL"], [1, 2, 3, 4, 7, 11]],
  ["fdatasync", JOURNAL, ["EIO", "ENOSPC", "KILL"], [1, 2, 3, 4, 7, 11]],
  ["openat", SNAPSHOT, ["EIO", "EMFILE", "KILL"], [1]],
  ["close", `${SNAPSHOT}.tmp`, ["EIO", "KILL"], [1]],
  ["rename", null, ["EIO", "ENOSPC", "KILL"], [1, 2, 3, 4, 5]],
  ["fsync", FOLDER, ["EIO", "KILL"], [1, 2, 3, 4, 5]],
  ["openat", CONFIG, ["EIO", "EACCES", "KILL"], [1, 2, 3, 4]],
];

/** Runs the program once with one fault. */
async function inject(home, [call, file, fault, when]) {
  const folder = await newFolder(home);
  const ledger = newLedger();
  const injection = fault === "KILL" ? "signal=SIGKILL" : `error=${fault}`;
  // strace counts calls by thread, so the file system gets one thread. The log lists each injected call.
  const log = join(folder, "strace.log");
  // The program may open a file by its relative or by its absolute path.
  const paths = file === null ? [] : ["-P", file, "-P", join(folder, file)];
  const traced = ["-f", "-qq", "-e", "signal=none", "-o", log, ...paths];
  const tracer = ["strace", ...traced, "-e", `trace=${call}`, "-e", `inject=${call}:${injection}:when=${when}`];
  const service = spawnService(program, intent, folder, { tracer, env: { UV_THREADPOOL_SIZE: "1" } });
  let effect = "";
  let adapterFailed = false;
  try {
    await service.listening;
    const { refused, failed, hasEnded } = await work(service, ledger, { adapterMayFail: true });
    adapterFailed = failed > 0;
    const counts = [refused && `${refused} writes refused`, failed && `${failed} failed`, hasEnded && "killed"];
    effect = counts.filter(Boolean).join(", ");
    if (hasEnded && fault !== "KILL") ledger.fault("answer", "it ended by itself");
  } catch (error) {
    effect = "no start";
    // A fault may prevent the start if the program says so itself.
    if (fault !== "KILL" && !error.message.includes("ui_server:")) ledger.fault("start", error.message);
  }
  await service.kill();
  const injected =
    fault === "KILL"
      ? effect.endsWith("killed") || effect === "no start"
      : readFileSync(log, "utf8").includes("(INJECTED)");
  await compare(folder, ledger, { adapterFailed });
  return { ledger, effect: injected ? effect || "went on" : "no such call" };
}

/** Requires that a failed sync ends the program with 1 under `--exit-when-read-only 1`; resolves with the number of faults. */
async function exitAfterSync(home) {
  const folder = await newFolder(home);
  const ledger = newLedger();
  const traced = ["-f", "-qq", "-e", "signal=none", "-o", join(folder, "strace.log"), "-P", join(folder, JOURNAL)];
  const tracer = ["strace", ...traced, "-e", "trace=fdatasync", "-e", "inject=fdatasync:error=EIO:when=5"];
  const args = ["--exit-when-read-only", "1"];
  const service = spawnService(program, intent, folder, { tracer, env: { UV_THREADPOOL_SIZE: "1" }, args });
  await service.listening;
  const { hasEnded } = await work(service, ledger, { adapterMayFail: true });
  const limit = setTimeout(() => void service.kill(), 30_000);
  const [code] = await service.ended;
  clearTimeout(limit);
  if (code !== 1) ledger.fault("answer", `after a failed sync it ended with ${code}`);
  await compare(folder, ledger);
  say(
    `a failed sync under --exit-when-read-only: ${hasEnded ? "ended" : "refused writes"}, exit ${code}: ${verdict(ledger)}`,
  );
  return ledger.faults.length > 0 ? 1 : 0;
}

function findStraceProblem() {
  const trace = ["-qq", "-o", "/dev/null", "-e", "inject=fdatasync:error=EIO", "true"];
  try {
    execFileSync("strace", trace, { stdio: "pipe" });
    return null;
  } catch (error) {
    return error.code === "ENOENT" ? "strace is not installed" : "strace may not trace here";
  }
}

const home = await mkdtemp(join(tmpdir(), "countersign-faults-"));
process.on("exit", () => rmSync(home, { recursive: true, force: true }));
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => process.exit(1));

let faultyRuns = 0;
const all = FAULTS.flatMap(([call, file, faults, whens]) =>
  faults.flatMap((fault) => whens.map((when) => [call, file, fault, when])),
);
const straceProblem = findStraceProblem();
if (straceProblem) say(`failing system calls: skipped, ${straceProblem}`);
else
  for (const [index, fault] of all.entries()) {
    if (short && index % 5 !== 0) continue;
    const { ledger, effect } = await inject(home, fault);
    const [call, file, what, when] = fault;
    say(`${call} of ${file ?? "any file"}, ${what} at call ${when}: ${effect}: ${verdict(ledger)}`);
    if (ledger.faults.length > 0) faultyRuns++;
  }
if (!straceProblem) faultyRuns += await exitAfterSync(home);
faultyRuns += await runPassingFaults(home);
process.exitCode = faultyRuns > 0 ? 1 : 0;
