/**
 * node test/crash/power_cuts.mjs [--cuts N] [--short] [--seed S] [--prove]: records the file operations of the built program under
 * eight writing clients and erasures, creates the files that a disk may have after power cuts at random moments, starts the program
 * on them and compares it with every receipt from before the cut. Exit code 1: something is lost. `--prove`: with syncs that do
 * nothing, which must lose something.
 */
import { mkdir, mkdtemp, readFile, stat, symlink } from "node:fs/promises";
import { rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { parseArgs } from "node:util";
import { newClient } from "./client.mjs";
import { newLedger } from "./ledger.mjs";
import { seededRandom } from "./random.mjs";
import { readRecords, RecordedDisk, writeFiles } from "./recorded_disk.mjs";
import { ask, spawnService } from "./service.mjs";
import { CONFIG, FOLDER, intent, program, say, verdict } from "./session.mjs";

const CLIENTS = 8;
const CUTS_PER_RUN = 50;
/** How long the clients of one run write, and how much longer at most until something is erased. */
const RUN_MS = 4000;
const MAX_EXTRA_RUN_MS = 20_000;
/** Time for the cycles that remove erased contents from the files by a compaction. */
const COMPACTION_MS = 2500;
const recorder = join(import.meta.dirname, "disk_recorder.mjs");

const { values: options } = parseArgs({
  options: {
    cuts: { type: "string" },
    seed: { type: "string" },
    short: { type: "boolean" },
    prove: { type: "boolean" },
  },
});
const seed = Number(options.seed ?? Date.now() % 1_000_000);
const cuts = Number(options.cuts ?? (options.short ? 10 : options.prove ? 20 : 300));
const random = seededRandom(seed);
const home = await mkdtemp(join(tmpdir(), "countersign-cuts-"));
process.on("exit", () => rmSync(home, { recursive: true, force: true }));
for (const signal of ["SIGINT", "SIGTERM"]) process.on(signal, () => process.exit(1));
await symlink(join(program, "../../../node_modules"), join(home, "node_modules"));
say(`seed ${seed}`);

/** Sums of all runs; `seals`: cuts after the first rename of a journal, with which a compaction begins. */
const total = { cuts: 0, acknowledged: 0, lost: 0, seals: 0 };
for (let run = 0; total.cuts < cuts; run++)
  await testRun(join(home, `life-${run}`), Math.min(CUTS_PER_RUN, cuts - total.cuts));
for (const [name, value] of Object.entries({
  "power cuts": total.cuts,
  "of them after a compaction began": total.seals,
  "acknowledged writes compared": total.acknowledged,
  "cuts that lost something": total.lost,
}))
  say(`${name.padEnd(34)} ${value}`);
const hasLoss = total.lost > 0;
process.exitCode = hasLoss === Boolean(options.prove) ? 0 : 1;

/** Records one run of the program and tests `count` power cuts of it, at random offsets in the record. */
async function testRun(folder, count) {
  await mkdir(join(folder, FOLDER), { recursive: true });
  const { receipts, requested, record } = await recordRun(folder);
  const records = readRecords(record);
  const first = receipts[0].mark;
  const offsets = Array.from({ length: count }, () => first + Math.floor(random() * (record.length - first)));
  // In ascending order, so that one simulated disk serves all cuts.
  offsets.sort((a, b) => a - b);
  const disk = new RecordedDisk();
  let nextRecord = 0;
  let isSealed = false;
  for (const [index, offset] of offsets.entries()) {
    for (; nextRecord < records.length && records[nextRecord].at < offset; nextRecord++) {
      isSealed ||= records[nextRecord].op === "rename" && /journal\.\d+\.jsonl$/.test(records[nextRecord].to);
      if (options.prove && records[nextRecord].op === "sync") dropSyncEnd(records, nextRecord);
      else disk.apply(records[nextRecord]);
    }
    const cutFolder = join(home, `cut-${index}`);
    await mkdir(join(cutFolder, FOLDER), { recursive: true });
    await writeFiles(disk.cut(random), folder, cutFolder);
    await compare(
      cutFolder,
      receipts.filter(({ mark }) => mark <= offset),
      requested,
    );
    total.cuts++;
    if (isSealed) total.seals++;
    rmSync(cutFolder, { recursive: true });
  }
  say(`  ${total.cuts} cuts, ${total.acknowledged} acknowledged writes compared`);
}

/** Drops the end of a sync; the caller drops its beginning. */
function dropSyncEnd(records, index) {
  const { id } = records[index];
  const end = records.find((record, position) => position > index && record.op === "done" && record.id === id);
  if (end) end.op = "nothing";
}

/** Runs the program under clients; stores each receipt with its `mark`, the length of the record at that moment. */
async function recordRun(folder) {
  const path = join(folder, "record");
  const env = { DISK_FOLDER: join(folder, FOLDER), DISK_RECORD: path };
  const service = spawnService(program, intent, folder, { node: ["--import", recorder], env });
  const ledger = newLedger();
  const receipts = [];
  const { receive } = ledger;
  const statuses = new Map();
  ledger.receive = async (body) => {
    receive(body);
    if (body.change_id) statuses.set(body.change_id, body.status);
    receipts.push({ body, mark: (await stat(path)).size });
  };
  await service.listening;
  const clientRuns = Array.from({ length: CLIENTS }, (_, index) => newClient(`t${index}`, ledger, random)(service));
  const end = performance.now() + RUN_MS;
  const erased = new Set();
  while (performance.now() < end || (erased.size === 0 && performance.now() < end + MAX_EXTRA_RUN_MS)) {
    await sleep(300);
    // The next cycle removes the erased content by a compaction, with sealed files, a new file, renames and removals.
    const [id] = [...statuses].find(([id, status]) => status === "rolled_back" && !erased.has(id)) ?? [];
    if (id === undefined) continue;
    erased.add(id);
    const fields = { change_id: id, actor: "ana", note: "a request" };
    const { status, body } = await ask(service.url, "/api/product/erase", { fields, key: `erase-${id}` });
    if (status < 300) receipts.push({ body: { audit_entry: body.audit_entry }, mark: (await stat(path)).size });
  }
  await sleep(COMPACTION_MS);
  await service.kill();
  await Promise.all(clientRuns);
  if (ledger.faults.length > 0) throw new Error(verdict(ledger));
  receipts.sort((a, b) => a.mark - b.mark);
  return { receipts, requested: ledger.requested, record: await readFile(path) };
}

/** Starts the program on the files after a cut and compares it with the receipts. */
async function compare(folder, receipts, requested) {
  const ledger = newLedger();
  Object.assign(ledger.requested, requested);
  for (const { body } of receipts) ledger.receive(body);
  total.acknowledged += receipts.length;
  const service = spawnService(program, intent, folder);
  try {
    await service.listening;
    await ledger.check(service.url, join(folder, CONFIG), { all: true, chain: true });
    const fields = { tenant_id: "t9", kind: "workflow", target: "crm.after", summary: "After the cut" };
    const { status, body } = await ask(service.url, "/api/product/propose", { fields, key: "after" });
    if (status !== 201) ledger.fault("answer", `after the cut a proposal is answered ${status} ${body.error}`);
  } catch (error) {
    ledger.fault("start", error.message);
  } finally {
    await service.kill();
  }
  if (ledger.faults.length === 0) return;
  total.lost++;
  if (!options.prove || total.lost === 1) say(`    ${verdict(ledger)}`);
}
