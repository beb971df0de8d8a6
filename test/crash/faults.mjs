/**
 * node test/crash/faults.mjs [--short]: one system call of the running program fails, or kills it (strace), and the disk
 * fills up (tmpfs); then the program is started again and held against every receipt. Exit code 1: a fault of the program.
 * Where strace or mount may not be used, that part is skipped with the reason.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { mkdir, mkdtemp } from "node:fs/promises";
import { readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { newLedger } from "./ledger.mjs";
import { ask, spawnService } from "./service.mjs";

const root = join(import.meta.dirname, "../..");
const program = join(root, "dist/local/ui_server.js");
const intent = join(root, "local/example/product_intent.json");
const short = process.argv.includes("--short");
const say = (line) => process.stdout.write(`${line}\n`);

const JOURNAL = "data/state.json.journal.jsonl";
const SNAPSHOT = "data/state.json";
const CONFIG = "data/product_config.json";
const FOLDER = "data";

/** System call, its file (null: any), what is done to it, and at which of its calls. Calls of a folder are those on itself. */
const FAULTS = [
  ["pwrite64", JOURNAL, ["EIO", "ENOSPC", "KILL"], [1, 2, 3, 4, 7, 11]],
  ["fdatasync", JOURNAL, ["EIO", "ENOSPC", "KILL"], [1, 2, 3, 4, 7, 11]],
  ["openat", SNAPSHOT, ["EIO", "EMFILE", "KILL"], [1]],
  ["close", `${SNAPSHOT}.tmp`, ["EIO", "KILL"], [1]],
  ["rename", null, ["EIO", "ENOSPC", "KILL"], [1, 2, 3, 4, 5]],
  ["fsync", FOLDER, ["EIO", "KILL"], [1, 2, 3, 4, 5]],
  ["openat", CONFIG, ["EIO", "EACCES", "KILL"], [1, 2, 3, 4]],
];

/** What a session does to its changes, in order; the number says to which. */
const STEPS = [
  "propose 1",
  "approve 1",
  "apply 1",
  "kpi",
  "propose 2",
  "approve 2",
  "apply 2",
  "rollback 2",
  "propose 3",
];

/** Runs the steps until the process is gone, keeping receipts; gives how many writes were refused. */
async function work(service, ledger, { adapterMayFail }) {
  const ids = {};
  const count = { refused: 0, failed: 0, gone: false };
  for (const [place, step] of STEPS.entries()) {
    const [name, number] = step.split(" ");
    if (number && name !== "propose" && ids[number] === undefined) continue;
    const fields = {
      propose: { tenant_id: "t1", kind: "workflow", target: `crm.step${number}`, summary: "A step", value: "true" },
      approve: { change_id: ids[number], approver: "ana" },
      kpi: { nrr_quarterly: "1.04" },
    }[name] ?? { change_id: ids[number] };
    ledger.asked[name] = (ledger.asked[name] ?? 0) + 1;
    const answer = await ask(service.url, `/api/product/${name}`, { fields, key: `k${place}` }).catch(() => undefined);
    if (!answer) return { ...count, gone: true };
    const { status, body } = answer;
    if (status < 300 && count.refused > 0) ledger.fault("answer", `${step} was acknowledged after a write had failed`);
    if (status < 300) {
      ids[number] ??= body.change_id;
      ledger.receive(body);
    } else if (body.code === "store_unavailable") {
      count.refused++;
      const read = await ask(service.url, "/api/product/audit?limit=1000").catch(() => undefined);
      if (read?.status !== 200)
        ledger.fault("answer", `reads are answered ${read?.status} while nothing can be written`);
    } else if (status === 502 && adapterMayFail) count.failed++;
    else if (body.code !== "illegal_transition") ledger.fault("answer", `${step} was answered ${status} ${body.error}`);
  }
  return count;
}

/**
 * The program is started again, unhindered, and must be as it was acknowledged, and go on. Until the steps are taken again,
 * the product's file may show what an adapter did that failed.
 */
async function compare(folder, ledger, { adapterFailed = false } = {}) {
  const service = spawnService(program, intent, folder);
  try {
    await service.listening;
    const config = join(folder, CONFIG);
    await ledger.check(service.url, adapterFailed ? null : config, { all: true, chain: true });
    const { refused, gone } = await work(service, ledger, {});
    if (refused > 0 || gone) ledger.fault("answer", "after the restart it does not take writes");
    await ledger.check(service.url, config, { all: true, chain: true });
  } catch (error) {
    ledger.fault("start", error.message);
  } finally {
    await service.kill();
  }
}

async function newFolder(home) {
  const folder = await mkdtemp(join(home, "life-"));
  await mkdir(join(folder, FOLDER));
  return folder;
}

/** One fault in one life of the program. */
async function inject(home, [call, file, fault, when]) {
  const folder = await newFolder(home);
  const ledger = newLedger();
  const done = fault === "KILL" ? "signal=SIGKILL" : `error=${fault}`;
  // Calls are counted by thread, so there is one for the file system. The log names each call that was met.
  const log = join(folder, "strace.log");
  const paths = file === null ? [] : ["-P", file, "-P", join(folder, file)];
  const traced = ["-f", "-qq", "-e", "signal=none", "-o", log, ...paths];
  const under = ["strace", ...traced, "-e", `trace=${call}`, "-e", `inject=${call}:${done}:when=${when}`];
  const service = spawnService(program, intent, folder, { under, env: { UV_THREADPOOL_SIZE: "1" } });
  let met = "";
  let adapterFailed = false;
  try {
    await service.listening;
    const { refused, failed, gone } = await work(service, ledger, { adapterMayFail: true });
    adapterFailed = failed > 0;
    const told = [refused && `${refused} writes refused`, failed && `${failed} failed`, gone && "killed"];
    met = told.filter(Boolean).join(", ");
    if (gone && fault !== "KILL") ledger.fault("answer", "it ended by itself");
  } catch (error) {
    met = "no start";
    if (fault !== "KILL" && !error.message.includes("ui_server:")) ledger.fault("start", error.message);
  }
  await service.kill();
  const injected =
    fault === "KILL" ? met.endsWith("killed") || met === "no start" : readFileSync(log, "utf8").includes("(INJECTED)");
  await compare(folder, ledger, { adapterFailed });
  return { ledger, met: injected ? met || "went on" : "no such call" };
}

/** The disk is full: what was acknowledged stays, reads go on, and with room the next start takes writes. */
async function fillDisk(home) {
  const folder = await newFolder(home);
  const ledger = newLedger();
  const disk = join(folder, FOLDER);
  const mount = (size, ...options) =>
    spawnSync("mount", ["-t", "tmpfs", "-o", [`size=${size}`, ...options].join(), "none", disk]);
  if (mount("192k").status !== 0) return say("a full disk: skipped, this user may not mount a tmpfs");
  const service = spawnService(program, intent, folder);
  try {
    await service.listening;
    let answer;
    for (let n = 0; n < 1000 && answer?.status !== 503; n++) {
      const fields = { tenant_id: "t9", kind: "workflow", target: `crm.fill${n}`, summary: "Fill", value: "true" };
      ledger.asked.propose = n + 1;
      answer = await ask(service.url, "/api/product/propose", { fields, key: `fill${n}` });
      if (answer.status < 300) ledger.receive(answer.body);
    }
    if (answer.body.code !== "store_unavailable") ledger.fault("answer", `a full disk was answered ${answer.status}`);
    const { refused } = await work(service, ledger, { adapterMayFail: true });
    if (refused === 0) ledger.fault("answer", "writes were taken although the disk is full");
    await service.kill();
    mount("64m", "remount");
    const kept = ledger.acknowledged;
    await compare(folder, ledger);
    say(`a full disk: ${kept} acknowledged, then ${refused} writes refused: ${verdict(ledger)}`);
  } finally {
    await service.kill();
    spawnSync("umount", [disk]);
  }
  return ledger;
}

const verdict = ({ faults }) =>
  faults.length === 0 ? "all there" : faults.map(({ kind, text }) => `${kind}: ${text}`).join("; ");

function straceMissing() {
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

let bad = 0;
const all = FAULTS.flatMap(([call, file, faults, whens]) =>
  faults.flatMap((fault) => whens.map((when) => [call, file, fault, when])),
);
const missing = straceMissing();
if (missing) say(`failing system calls: skipped, ${missing}`);
else
  for (const [index, fault] of all.entries()) {
    if (short && index % 5 !== 0) continue;
    const { ledger, met } = await inject(home, fault);
    const [call, file, what, when] = fault;
    say(`${call} of ${file ?? "any file"}, ${what} at call ${when}: ${met}: ${verdict(ledger)}`);
    if (ledger.faults.length > 0) bad++;
  }
const full = await fillDisk(home);
if (full?.faults.length > 0) bad++;
process.exitCode = bad > 0 ? 1 : 0;
