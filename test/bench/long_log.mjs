/** Measures a service with a long log: proposals and reads compared with a short log, verification, start and memory. */
import { execFile } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { findChangeId, followUp, load, median, requestBytes } from "./load.mjs";
import { runCycle, measureMemory, startService, stop, temporaryFolder } from "./programs.mjs";

const VERIFIER = fileURLToPath(new URL("../../dist/local/verify/main.js", import.meta.url));
const SHORT_LOG = 1_000;
const BATCH = 10_000;

const page = requestBytes("GET", "/api/product/audit?limit=100");

/** Proposes a number of changes, and denies all but the last `live` of them. */
async function fill({ port }, changes, live) {
  for (let start = 0; start < changes; start += BATCH) {
    const count = Math.min(BATCH, changes - start);
    const ids = [];
    const onAnswer = (_, answer) => ids.push(findChangeId(answer));
    await load({ port, request: () => followUp, expected: 201, count, onAnswer });
    const closed = ids.slice(0, Math.max(0, Math.min(count, changes - live - start)));
    const deny = (n) => requestBytes("POST", "/api/product/deny", { change_id: closed[n], approver: "bo" });
    if (closed.length > 0) await load({ port, request: deny, expected: 200, count: closed.length });
  }
}

/**
 * Yields figures by name as soon as they are measured: ratios of a long log to a short one in the same run, times in seconds,
 * memory in MiB.
 */
export async function* measureLongLog({ changes, live, rounds, requests }) {
  const folder = await temporaryFolder();
  const filled = await startService(folder);
  await fill(filled, changes, live);
  await stop(filled);
  const long = await startService(folder);
  yield { start: long.tookMs / 1000, memory: await measureMemory(long) };
  const short = await startService(await temporaryFolder());
  await fill(short, SHORT_LOG, SHORT_LOG);

  const measureRatio = async (plan) => {
    const ratios = [];
    // The round -1 is a warm-up.
    for (let round = -1; round < rounds; round++) {
      const longRate = (await load({ port: long.port, ...plan })).perSecond;
      const shortRate = (await load({ port: short.port, ...plan })).perSecond;
      if (round >= 0) ratios.push(longRate / shortRate);
    }
    return median(ratios);
  };
  const propose = () => measureRatio({ request: () => followUp, expected: 201, count: requests });
  const readPages = () => measureRatio({ request: () => page, expected: 200, count: Math.ceil(requests / 4) });
  // Proposals are measured first: the service was just started, and reading pages would load recent entries into memory.
  yield { proposingEarly: await propose() };
  yield { readingEarly: await readPages() };
  // After its start the service verifies the log and updates its projections; these requests wait until both are done.
  for (const { port } of [long, short]) await (await fetch(`http://127.0.0.1:${port}/api/product/audit/verify`)).text();
  for (const server of [long, short]) await runCycle(server);
  yield { proposing: await propose() };
  yield { reading: await readPages() };

  const log = join(folder, "audit.jsonl");
  const exported = await fetch(`http://127.0.0.1:${long.port}/api/product/audit?format=jsonl`);
  await writeFile(log, exported.body);
  const began = performance.now();
  const run = promisify(execFile)(process.execPath, [VERIFIER, log]);
  // Exit code 2: the log was not compared with a receipt or checkpoint.
  const { code, stdout } = await run.catch((error) => error);
  if (code !== 2) throw new Error(`countersign-verify ended with ${code}: ${stdout}`);
  yield { verified: (performance.now() - began) / 1000 };
  await Promise.all([stop(long), stop(short)]);
}
