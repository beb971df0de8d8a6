/**
 * node test/crash/kill.mjs [--kills N] [--short] [--minutes M] [--seed S] [--slow MS] [--prove]: kills the built program
 * with SIGKILL under eight writing clients, starts it again, and compares it with every receipt. A start longer than `--slow` is a
 * fault. `--short`: 25 kills instead of 1,000. `--prove`: programs with one protection removed, whose faults must be found. Exit
 * code 1: a fault, or with `--prove` a result that was not expected.
 */
import { cp, mkdtemp, open, readFile, symlink } from "node:fs/promises";
import { rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { newClient } from "./client.mjs";
import { newLedger } from "./ledger.mjs";
import { seededRandom } from "./random.mjs";
import { spawnService } from "./service.mjs";
import { buildVariant, VARIANTS } from "./variants.mjs";

const root = join(import.meta.dirname, "../..");
const intent = join(root, "local/example/product_intent.json");
const CLIENTS = 8;

const text = { type: "string" };
const { values: options } = parseArgs({
  options: {
    kills: text,
    minutes: text,
    seed: text,
    slow: text,
    short: { type: "boolean" },
    prove: { type: "boolean" },
  },
});
const seed = Number(options.seed ?? Date.now() % 1_000_000);
const slow = Number(options.slow ?? (options.prove ? 3000 : 2000));
const minutes = Number(options.minutes ?? 60);
const kills = Number(options.kills ?? (options.short || options.prove ? 25 : 1000));
const say = (line) => process.stdout.write(`${line}\n`);

/** Returns the processor time of a process in milliseconds, or 0 without /proc. It distinguishes a slow start from a busy machine. */
async function readCpuTime(pid) {
  const stat = await readFile(`/proc/${pid}/stat`, "latin1").catch(() => "");
  // Fields 14 and 15 are the time in the program and in the system, in ticks of 10 ms.
  const [user = 0, system = 0] = stat.split(" ").slice(13, 15);
  return (Number(user) + Number(system)) * 10;
}

/** Appends half a line to the journal, as an interrupted write leaves it; kills rarely interrupt a write. */
async function appendTornLine(journal) {
  const file = await open(journal, "r+");
  try {
    // After the last line the file has zeros, which the next line would overwrite.
    const content = await file.readFile();
    const size = content.findLastIndex((byte) => byte !== 0) + 1;
    const line = content.subarray(content.lastIndexOf(10, size - 2) + 1, size);
    if (line.at(-1) === 10) await file.write(line, 0, Math.ceil(line.length / 2), size);
  } finally {
    await file.close();
  }
}

/** Returns true if a fault ends the run. A slow start, which the machine may cause, ends only a run with `--prove`. */
const endsRun = ({ kind }) => kind !== "slow" || options.prove;

/** Kills and restarts a program in its own folder until enough kills, the end of the time, or a fault. */
async function runKills(program, folder, random) {
  const ledger = newLedger();
  const clients = Array.from({ length: CLIENTS }, (_, index) => newClient(`t${index}`, ledger, random));
  const config = join(folder, "data/product_config.json");
  const starts = [];
  const cpu = [];
  const counts = { kills: 0, inRecovery: 0, torn: 0 };
  const deadline = performance.now() + minutes * 60_000;
  let service;
  let killsAtLastCheck = 0;
  const kill = async () => {
    counts.kills++;
    if (service.url === undefined) counts.inRecovery++;
    if (service.child.exitCode !== null) ledger.fault("answer", "the service ended by itself");
    await service.kill();
  };
  try {
    for (;;) {
      service = spawnService(program, intent, folder);
      const isLast = counts.kills >= kills || performance.now() >= deadline;
      if (!isLast && starts.length > 0 && random() < 0.3) {
        // Kills the program during its start, but not in the first part, which only loads the program.
        await sleep((0.4 + 0.6 * random()) * starts.at(-1));
        await kill();
        continue;
      }
      await service.listening;
      starts.push(service.took);
      cpu.push(await readCpuTime(service.child.pid));
      if (service.took > slow) ledger.fault("slow", `a start took ${Math.round(service.took)} ms`);
      const checksAll = isLast || counts.kills - killsAtLastCheck >= 100;
      if (checksAll) killsAtLastCheck = counts.kills;
      await ledger.check(service.url, config, { all: checksAll, chain: checksAll || starts.length % 5 === 0 });
      if (isLast || ledger.faults.some(endsRun)) break;
      const clientRuns = clients.map((client) => client(service));
      // Mostly short, for many kills; sometimes long enough for a cycle and a snapshot to be running.
      await sleep(random() < 0.15 ? 780 + random() * 500 : random() * 300);
      await kill();
      await Promise.all(clientRuns);
      if (ledger.faults.some(endsRun)) break;
      if (random() < 0.2) {
        await appendTornLine(join(folder, "data/state.json.journal.jsonl"));
        counts.torn++;
      }
      if (checksAll) say(`  ${counts.kills} kills, ${ledger.acknowledged} acknowledged`);
    }
  } catch (error) {
    ledger.fault(service.url === undefined ? "start" : "answer", error.message);
  } finally {
    await service.kill();
  }
  return { ledger, starts, cpu, counts };
}

function maxAndMedian(numbers) {
  const sorted = numbers.map(Math.round).sort((a, b) => a - b);
  return `${sorted.at(-1)} max, ${sorted[sorted.length >> 1]} median`;
}

const countFaults = ({ faults }, ...kinds) => faults.filter(({ kind }) => kinds.includes(kind)).length;

/** Runs the built program and prints the counts; returns true without a fault. */
async function killProgram(folder) {
  // A copy, because another build may empty dist meanwhile.
  await cp(join(root, "dist"), join(folder, "dist"), { recursive: true });
  const { ledger, starts, cpu, counts } = await runKills(
    join(folder, "dist/local/ui_server.js"),
    folder,
    seededRandom(seed),
  );
  const rows = {
    kills: counts.kills,
    "of them during recovery": counts.inRecovery,
    "torn ends added": counts.torn,
    "acknowledged writes": ledger.acknowledged,
    "receipts compared": ledger.compared,
    "restarts, ms": maxAndMedian(starts),
    "of it processor, ms": maxAndMedian(cpu),
    lost: countFaults(ledger, "lost"),
    duplicated: countFaults(ledger, "duplicated"),
    mismatches: countFaults(ledger, "mismatch"),
    "slow restarts": countFaults(ledger, "slow"),
    "other faults": countFaults(ledger, "start", "answer"),
  };
  for (const [name, value] of Object.entries(rows)) say(`${name.padEnd(24)} ${value}`);
  for (const { kind, text } of ledger.faults.slice(0, 10)) say(`${kind}: ${text}`);
  return ledger.faults.length === 0;
}

/** Runs each variant; returns true if each has a fault of its kinds, or none where none is expected. */
async function proveVariants(folder) {
  let expectedResults = 0;
  for (const variant of VARIANTS) {
    // The kinds of faults that the variant may cause, in one text; empty for the unchanged program, which must have none.
    const [name, kinds] = variant;
    const home = await mkdtemp(join(folder, "variant-"));
    const { ledger, counts } = await runKills(await buildVariant(variant, home), home, seededRandom(seed));
    const [first] = ledger.faults;
    const isExpectedFault = first !== undefined && kinds.includes(first.kind);
    if (kinds === "" ? !first : isExpectedFault) expectedResults++;
    const firstFault = first && `${first.kind}: ${first.text.replaceAll(`${home}/`, "").slice(0, 160)}`;
    const withFault = isExpectedFault ? "caught" : "WRONG FAULT";
    const withoutFault = kinds === "" ? "passes" : "NOT CAUGHT";
    const verdict = first ? withFault : withoutFault;
    say(`${name.padEnd(44)} ${verdict} after ${counts.kills} kills${firstFault ? `: ${firstFault}` : ""}`);
  }
  return expectedResults === VARIANTS.length;
}

const folder = await mkdtemp(join(tmpdir(), "countersign-crash-"));
let keepsFolder = false;
process.on("exit", () =>
  keepsFolder ? say(`kept for a look: ${folder}`) : rmSync(folder, { recursive: true, force: true }),
);
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => process.exit(1));
await symlink(join(root, "node_modules"), join(folder, "node_modules"));
say(`seed ${seed}`);
const isFine = await (options.prove ? proveVariants(folder) : killProgram(folder));
keepsFolder = !isFine && !options.prove;
process.exitCode = isFine ? 0 : 1;
