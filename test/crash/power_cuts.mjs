/**
 * node test/crash/power_cuts.mjs [--cuts N] [--short] [--seed S] [--prove]: records what the built program does to its files under
 * eight writing clients and erasures, lays out what the disk may hold after power cuts at random moments, starts the program on each
 * and compares it with every receipt from before the cut. Exit code 1: something is lost. `--prove`: with syncs that do nothing, which
 * must lose something.
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
import { layOut, readRecords, RecordedDisk } from "./recorded_disk.mjs";
import { ask, spawnService } from "./service.mjs";
import { CONFIG, FOLDER, intent, program, say, verdict } from "./session.mjs";

const CLIENTS = 8;
const CUTS_PER_LIFE = 50;
/** How long the clients of one life write, in milliseconds, and how much longer until something is erased. */
const LIFE_MS = 4000;
const LONGEST_LIFE_MS = 20_000;
/** Cycles compact what was erased. */
const CYCLES_MS = 2500;
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

const total = { cuts: 0, acknowledged: 0, lost: 0, seals: 0 };
for (let life = 0; total.cuts < cuts; life++)
  await live(join(home, `life-${life}`), Math.min(CUTS_PER_LIFE, cuts - total.cuts));
for (const [name, value] of Object.entries({
  "power cuts": total.cuts,
  "of them after a compaction began": total.seals,
  "acknowledged writes compared": total.acknowledged,
  "cuts that lost something": total.lost,
}))
  say(`${name.padEnd(34)} ${value}`);
process.exitCode = total.lost > 0 === Boolean(options.prove) ? 0 : 1;

/** One life of the program, recorded, and cuts of it. */
async function live(folder, count) {
  await mkdir(join(folder, FOLDER), { recursive: true });
  const { receipts, asked, record } = await recordLife(folder);
  const records = readRecords(record);
  const first = receipts[0].mark;
  const places = Array.from({ length: count }, () => first + Math.floor(random() * (record.length - first)));
  places.sort((a, b) => a - b);
  const disk = new RecordedDisk();
  let next = 0;
  let isSealed = false;
  for (const [index, place] of places.entries()) {
    for (; next < records.length && records[next].at < place; next++) {
      isSealed ||= records[next].op === "rename" && /journal\.\d+\.jsonl$/.test(records[next].to);
      if (options.prove && records[next].op === "sync") pretendSynced(records, next);
      else disk.take(records[next]);
    }
    const after = join(home, `cut-${index}`);
    await mkdir(join(after, FOLDER), { recursive: true });
    await layOut(disk.cut(random), folder, after);
    await compare(
      after,
      receipts.filter(({ mark }) => mark <= place),
      asked,
    );
    total.cuts++;
    if (isSealed) total.seals++;
    rmSync(after, { recursive: true });
  }
  say(`  ${total.cuts} cuts, ${total.acknowledged} acknowledged writes compared`);
}

/** Drops the end of a sync as well as its beginning. */
function pretendSynced(records, index) {
  const { id } = records[index];
  const end = records.find((one, at) => at > index && one.op === "done" && one.id === id);
  if (end) end.op = "nothing";
}

/** Runs the program under clients; each receipt has the length of the record when it came. */
async function recordLife(folder) {
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
  const working = Array.from({ length: CLIENTS }, (_, index) => newClient(`t${index}`, ledger, random)(service));
  const end = performance.now() + LIFE_MS;
  const erased = new Set();
  while (performance.now() < end || (erased.size === 0 && performance.now() < end + LONGEST_LIFE_MS)) {
    await sleep(300);
    // The next cycle compacts erased contents away: sealed files, a new file, renames and removals.
    const [id] = [...statuses].find(([id, status]) => status === "rolled_back" && !erased.has(id)) ?? [];
    if (id === undefined) continue;
    erased.add(id);
    const fields = { change_id: id, actor: "ana", note: "a request" };
    const { status, body } = await ask(service.url, "/api/product/erase", { fields, key: `erase-${id}` });
    if (status < 300) receipts.push({ body: { audit_entry: body.audit_entry }, mark: (await stat(path)).size });
  }
  await sleep(CYCLES_MS);
  await service.kill();
  await Promise.all(working);
  if (ledger.faults.length > 0) throw new Error(verdict(ledger));
  receipts.sort((a, b) => a.mark - b.mark);
  return { receipts, asked: ledger.asked, record: await readFile(path) };
}

/** Starts the program on what the cut left, and compares it with the receipts. */
async function compare(folder, receipts, asked) {
  const ledger = newLedger();
  Object.assign(ledger.asked, asked);
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
