/**
 * Temporary faults of a real disk and of real limits: the service says within ten seconds that it rejects writes and what to do,
 * and accepts writes again without a restart once the fault is gone. Each function resolves with its ledger.
 */
import { execFileSync, spawnSync } from "node:child_process";
import { readdirSync, renameSync, rmSync, statfsSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as wait } from "node:timers/promises";
import { newLedger } from "./ledger.mjs";
import { ask, spawnService } from "./service.mjs";
import { compare, FOLDER, intent, JOURNAL, newFolder, program, say, verdict } from "./session.mjs";

/** Time within which the probes must report a fault; enough for two cycles of a second. */
const LIMIT_MS = 10_000;
/** Pause between two requests that wait for a condition. */
const PAUSE_MS = 100;

/** Repeats a request until it returns a value; adds a fault to the ledger after the time limit. */
async function waitUntil(ledger, condition, read) {
  const began = performance.now();
  for (;;) {
    const value = await read().catch(() => undefined);
    if (value !== undefined && value !== false) return { value, took: Math.round(performance.now() - began) };
    if (performance.now() - began > LIMIT_MS) {
      ledger.fault("answer", `within ${LIMIT_MS / 1000} s not: ${condition}`);
      return { value: undefined, took: LIMIT_MS };
    }
    await wait(PAUSE_MS);
  }
}

const readMetric = async (url, name) => {
  const text = await (await fetch(`${url}/api/metrics`)).text();
  return Number(new RegExp(`^countersign_${name} (.*)$`, "m").exec(text)?.[1]);
};

/** A session of proposals, each with a receipt. */
function newSession(service, ledger) {
  let count = 0;
  const post = async (name, fields) => {
    if (name === "propose") ledger.requested.propose = (ledger.requested.propose ?? 0) + 1;
    const answer = await ask(service.url, `/api/product/${name}`, { fields, key: `passing${++count}` });
    if (answer.status < 300 && answer.body.audit_entry) ledger.receive(answer.body);
    return answer;
  };
  const propose = (value = "true") =>
    post("propose", { tenant_id: "t9", kind: "workflow", target: `crm.fill${count}`, summary: "Fill", value });
  return {
    post,
    propose,
    canWrite: async () => (await propose()).status < 300,
    /** Prepares a change for an erasure; resolves with a function that erases it, after which the next cycle seals a file. */
    async prepareErasure() {
      const { change_id } = (await propose()).body;
      await post("approve", { change_id, approver: "ana" });
      await post("apply", { change_id });
      await post("rollback", { change_id });
      return async () => {
        const { status, body } = await post("erase", { change_id, actor: "ana", note: "Request 1" });
        if (status >= 300) ledger.fault("answer", `erase was answered ${status} ${body.error}`);
      };
    },
  };
}

/** Requires that writes are rejected and reads answered, and that probes, metrics and log show the fault. */
async function expectRejection(service, ledger, { message }) {
  const { url } = service;
  const ready = await waitUntil(ledger, "/readyz says no", async () => (await ask(url, "/readyz")).status === 503);
  const metrics = await waitUntil(
    ledger,
    "countersign_writes_taken is 0",
    async () => (await readMetric(url, "writes_taken")) === 0,
  );
  const livez = await ask(url, "/livez");
  const audit = await ask(url, "/api/product/audit?limit=10");
  if (livez.status !== 200 || audit.status !== 200)
    ledger.fault("answer", `livez ${livez.status} and reads ${audit.status} while nothing can be written`);
  await waitUntil(ledger, `the log says ${message}`, async () => service.log.some((line) => message.test(line)));
  return `no after ${Math.max(ready.took, metrics.took)} ms`;
}

/** Requires that writes are accepted without a restart, and that probes and metrics show this. */
async function expectWrites(service, ledger, session) {
  const { url } = service;
  const taken = await waitUntil(ledger, "writes are taken again", session.canWrite);
  const ready = await waitUntil(ledger, "/readyz says yes", async () => (await ask(url, "/readyz")).status === 200);
  await waitUntil(ledger, "countersign_writes_taken is 1", async () => (await readMetric(url, "writes_taken")) === 1);
  return `taken again after ${taken.took} ms, ready ${ready.took} ms later`;
}

/** Runs one experiment on a service of its own, then compares the next start with the receipts. */
async function runExperiment(home, name, run, { mount } = {}) {
  const folder = await newFolder(home);
  const ledger = newLedger();
  const disk = join(folder, FOLDER);
  const resize = (size, ...options) =>
    spawnSync("mount", ["-t", "tmpfs", "-o", [`size=${size}`, ...options].join(), "none", disk]).status === 0;
  if (mount && !resize(mount)) return void say(`${name}: skipped, this user may not mount a tmpfs`);
  const service = spawnService(program, intent, folder);
  try {
    await service.listening;
    const session = newSession(service, ledger);
    const result = await run({ folder, service, ledger, session, resize: (size) => resize(size, "remount") });
    await service.kill();
    if (mount) resize("64m", "remount");
    const { acknowledged } = ledger;
    await compare(folder, ledger);
    say(`${name}: ${acknowledged} acknowledged, ${result}: ${verdict(ledger)}`);
  } catch (error) {
    ledger.fault("answer", String(error));
    say(`${name}: ${verdict(ledger)}`);
  } finally {
    await service.kill();
    if (mount) spawnSync("umount", [disk]);
  }
  return ledger;
}

/** Proposes until a proposal is answered 503; adds a fault to the ledger if none is. */
async function proposeUntilRejected(session, ledger, maxWrites = 3000) {
  for (let count = 0; count < maxWrites; count++) if ((await session.propose()).status === 503) return;
  ledger.fault("answer", `${maxWrites} writes were taken in spite of the fault`);
}

const testFullDisk = (home) =>
  runExperiment(
    home,
    "a full disk",
    async ({ service, ledger, session, resize }) => {
      await proposeUntilRejected(session, ledger);
      const refused = await expectRejection(service, ledger, { message: /ENOSPC.*Free space on the disk/ });
      resize("64m");
      return `${refused}, ${await expectWrites(service, ledger, session)}`;
    },
    { mount: "192k" },
  );

/** Sets a limit of a running process with `prlimit`. */
const setLimit = ({ child: { pid } }, option) => execFileSync("prlimit", ["--pid", String(pid), option]);

const testFileSizeLimit = (home) =>
  runExperiment(home, "a limit of file sizes", async ({ service, ledger, session }) => {
    await session.propose();
    setLimit(service, "--fsize=4096:");
    await proposeUntilRejected(session, ledger);
    const refused = await expectRejection(service, ledger, { message: /EFBIG.*Raise the limit of file sizes/ });
    setLimit(service, "--fsize=unlimited:");
    return `${refused}, ${await expectWrites(service, ledger, session)}`;
  });

/** Returns the lowest free file descriptor of a process, over several samples, because the process opens files now and then. */
async function findLowestFreeDescriptor(pid) {
  let lowest = Infinity;
  for (let count = 0; count < 10; count++) {
    const open = new Set(readdirSync(`/proc/${pid}/fd`).map(Number));
    for (let number = 0; number < lowest; number++) if (!open.has(number)) lowest = number;
    await wait(20);
  }
  return lowest;
}

/** While no file can be opened, writes continue; an erasure ends when files can be opened again. */
const testOpenFileLimit = (home) =>
  runExperiment(home, "a limit of open files", async ({ service, ledger, session, folder }) => {
    const erase = await session.prepareErasure();
    const { pid } = service.child;
    const before = execFileSync("prlimit", ["--pid", String(pid), "--nofile", "-o", "SOFT", "--noheadings"]);
    setLimit(service, `--nofile=${await findLowestFreeDescriptor(pid)}:`);
    await erase();
    await waitUntil(ledger, "the log says EMFILE", async () => service.log.some((line) => line.includes("EMFILE")));
    if (!(await session.canWrite())) ledger.fault("answer", "writes are refused although the journal is open");
    setLimit(service, `--nofile=${String(before).trim()}:`);
    const written = await expectWrites(service, ledger, session);
    const sealed = join(folder, FOLDER, "state.json.journal.000001.jsonl");
    await waitUntil(ledger, "the journal is sealed", async () => statSync(sealed).size > 0);
    return written;
  });

/** Runs the command in the message about a removed file. */
function rescue(folder, service, file, ledger) {
  const line = service.log.find((entry) => entry.includes(`fd/`) && entry.includes(file));
  const command = /cp \/proc\/\d+\/fd\/\d+ '[^']*'/.exec(line ?? "")?.[0];
  if (!command) return ledger.fault("answer", `no message says how to rescue ${file}`);
  execFileSync("sh", ["-c", command], { cwd: folder });
}

const testRemovedJournal = (home) =>
  runExperiment(home, "the journal removed and copied back", async ({ service, ledger, session, folder }) => {
    for (let count = 0; count < 10; count++) await session.propose();
    rmSync(join(folder, JOURNAL));
    await proposeUntilRejected(session, ledger);
    const refused = await expectRejection(service, ledger, {
      message: /is gone.*Before you stop anything, copy it back/,
    });
    rescue(folder, service, JOURNAL, ledger);
    // This process still has the removed file open; the next start reads the copy.
    return refused;
  });

const testRemovedSealedFile = (home) =>
  runExperiment(home, "a sealed file removed and copied back", async ({ service, ledger, session, folder }) => {
    const erase = await session.prepareErasure();
    await erase();
    const sealed = join(folder, FOLDER, "state.json.journal.000001.jsonl");
    // Compaction writes the sealed file again, then the catalog: a file removed before that would be written again.
    const catalog = join(folder, FOLDER, "state.json.journal.catalog");
    await waitUntil(ledger, "the journal is sealed and compacted", async () => statSync(catalog).size > 0);
    renameSync(sealed, `${sealed}.away`);
    const { url } = service;
    const noticed = await waitUntil(ledger, "/readyz says no", async () => (await ask(url, "/readyz")).status === 503);
    await waitUntil(
      ledger,
      "countersign_sealed_damage is 1",
      async () => (await readMetric(url, "sealed_damage")) === 1,
    );
    rescue(folder, service, "state.json.journal.000001.jsonl", ledger);
    rmSync(`${sealed}.away`);
    return `noticed after ${noticed.took} ms, ${await expectWrites(service, ledger, session)}`;
  });

const BIG = JSON.stringify("x".repeat(20_000));

const testCompactionWithoutRoom = (home) =>
  runExperiment(
    home,
    "an erasure with too little room to compact",
    async ({ service, ledger, session, folder }) => {
      for (let count = 0; count < 60; count++) await session.propose(BIG);
      const erase = await session.prepareErasure();
      const { bavail, bsize } = statfsSync(join(folder, FOLDER));
      const filler = join(folder, FOLDER, "filler");
      // Leaves room for writes, and less than the compaction of the proposals needs.
      writeFileSync(filler, Buffer.alloc(bavail * bsize - 700_000));
      await erase();
      const { url } = service;
      const noticed = await waitUntil(
        ledger,
        "countersign_compaction_failed is 1",
        async () => (await readMetric(url, "compaction_failed")) === 1,
      );
      rmSync(filler);
      const done = await waitUntil(
        ledger,
        "countersign_compaction_failed is 0",
        async () => (await readMetric(url, "compaction_failed")) === 0,
      );
      const parts = readdirSync(join(folder, FOLDER)).filter((name) => /journal\.\d+\.jsonl$/.test(name));
      if (parts.length > 2) ledger.fault("answer", `${parts.length} files were sealed for one erasure`);
      return `failed after ${noticed.took} ms, done ${done.took} ms after there was room, ${await expectWrites(service, ledger, session)}`;
    },
    { mount: "16m" },
  );

/** Runs all experiments; resolves with the number of those that found a fault of the program. */
export async function runPassingFaults(home) {
  let faultyRuns = 0;
  const count = (ledger) => void (ledger?.faults.length > 0 && faultyRuns++);
  count(await testFullDisk(home));
  if (process.platform !== "linux") say("limits and removed files: skipped, they need Linux");
  else
    for (const run of [testFileSizeLimit, testOpenFileLimit, testRemovedJournal, testRemovedSealedFile])
      count(await run(home));
  count(await testCompactionWithoutRoom(home));
  return faultyRuns;
}
