/** A fixed sequence of requests to the program, and the comparison of its next start with the receipts. */
import { mkdir, mkdtemp } from "node:fs/promises";
import { join } from "node:path";
import { ask, spawnService } from "./service.mjs";

const root = join(import.meta.dirname, "../..");
export const program = join(root, "dist/local/ui_server.js");
export const intent = join(root, "local/example/product_intent.json");
export const say = (line) => process.stdout.write(`${line}\n`);

export const FOLDER = "data";
export const JOURNAL = "data/state.json.journal.jsonl";
export const CONFIG = "data/product_config.json";

/** Steps of a session in order, each with the number of its change. */
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

/** Part of the response to a write after a failed sync; from then on no write may be acknowledged. */
const RESTART = "the service must be restarted";

/**
 * Runs the steps until the process ends, and stores the receipts; resolves with the numbers of rejected writes and failed
 * operations, and with flags for an ended process (`hasEnded`) and a required restart (`needsRestart`).
 */
export async function work(service, ledger, { adapterMayFail }) {
  const ids = {};
  const count = { refused: 0, failed: 0, hasEnded: false, needsRestart: false };
  for (const [index, step] of STEPS.entries()) {
    const [name, number] = step.split(" ");
    // Without an acknowledged proposal this step has no change.
    if (number && name !== "propose" && ids[number] === undefined) continue;
    const fields = {
      propose: { tenant_id: "t1", kind: "workflow", target: `crm.step${number}`, summary: "A step", value: "true" },
      approve: { change_id: ids[number], approver: "ana" },
      kpi: { nrr_quarterly: "1.04" },
    }[name] ?? { change_id: ids[number] };
    ledger.requested[name] = (ledger.requested[name] ?? 0) + 1;
    const answer = await ask(service.url, `/api/product/${name}`, { fields, key: `k${index}` }).catch(() => undefined);
    if (!answer) return { ...count, hasEnded: true };
    const { status, body } = answer;
    if (status < 300 && count.needsRestart)
      ledger.fault("answer", `${step} was acknowledged after the service had asked for a restart`);
    if (status < 300) {
      ids[number] ??= body.change_id;
      ledger.receive(body);
    } else if (body.code === "store_unavailable") {
      count.refused++;
      count.needsRestart ||= body.error.includes(RESTART);
      const read = await ask(service.url, "/api/product/audit?limit=1000").catch(() => undefined);
      if (read?.status !== 200)
        ledger.fault("answer", `reads are answered ${read?.status} while nothing can be written`);
    } else if (status === 502 && adapterMayFail) count.failed++;
    // A step is illegal if an earlier one of its change was rejected or failed.
    else if (body.code !== "illegal_transition") ledger.fault("answer", `${step} was answered ${status} ${body.error}`);
  }
  return count;
}

/**
 * Starts the program again without faults, compares it with the receipts, and runs the steps again, under the same idempotency
 * keys: acknowledged steps get their former answers, the others are carried out. `adapterFailed`: the product's file is first
 * compared after these steps, since it may show the effect of the failed adapter.
 */
export async function compare(folder, ledger, { adapterFailed = false } = {}) {
  const service = spawnService(program, intent, folder);
  try {
    await service.listening;
    const config = join(folder, CONFIG);
    await ledger.check(service.url, adapterFailed ? null : config, { all: true, chain: true });
    const { refused, hasEnded } = await work(service, ledger, {});
    if (refused > 0 || hasEnded) ledger.fault("answer", "after the restart it does not take writes");
    await ledger.check(service.url, config, { all: true, chain: true });
  } catch (error) {
    ledger.fault("start", error.message);
  } finally {
    await service.kill();
  }
}

export async function newFolder(home) {
  const folder = await mkdtemp(join(home, "life-"));
  await mkdir(join(folder, FOLDER));
  return folder;
}

/** Describes the faults of a ledger. */
export const verdict = ({ faults }) =>
  faults.length === 0 ? "all there" : faults.map(({ kind, text }) => `${kind}: ${text}`).join("; ");
