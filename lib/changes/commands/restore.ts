/** Restores the value of an applied change that was changed outside the service: no new consent, and nothing else moves. */
import { AppError } from "../../kit/errors.ts";
import { step, Unanswered } from "../../kit/time_limit.ts";
import type { Caller } from "../caller.ts";
import { noteInForce } from "../drift_memory.ts";
import { rollbackFacts } from "../ledger/rollback_facts.ts";
import type { HostState, RestoreResult } from "../operations/adapter_port.ts";
import { endLease, keepUnresolved } from "../operations/lease.ts";
import { recordPatiently } from "../operations/record_patiently.ts";
import { recordRestore } from "../operations/record_result.ts";
import { resolveLeases } from "../operations/recover.ts";
import { askInForce, lastStart, nameSystem } from "../operations/ask_host.ts";
import type { OperationResult } from "../operations/start.ts";
import { createHeldError, type RestoreInput, startRestore, type StartedRestore } from "../operations/start_restore.ts";
import { type RestoreLease, readRecord } from "../records.ts";
import { isReplayed, type Replayed } from "../replies.ts";
import { isPlan } from "../rules/list_entries.ts";
import { governed, type Transaction } from "../transaction.ts";
import { verifyPlace } from "../verify_place.ts";

/** Result of the adapter, and the state of the host after it. */
type RestoreRun =
  | { ok: true; result: RestoreResult; host: HostState }
  | { ok: false; error: string; left: "not_done" | "unresolved" | "unanswered" };

/** Verifies the place of a change, judges the restore, takes its lease, runs and records it. */
export async function restoreValue(caller: Caller, input: RestoreInput): Promise<OperationResult | Replayed> {
  const { deps } = caller;
  const { change_id } = input;
  await resolveLeases(deps, change_id);
  return deps.mutex(change_id, async () => {
    const found = await verifyNow(deps, change_id);
    const started = await governed(caller, (transaction) => startRestore(transaction, caller, input, found));
    if (isReplayed(started)) return started;
    const run = await runRestore(deps, started);
    const { lease } = started;
    const result = await recordPatiently(deps, lease, () => commitRestore(caller, lease, run));
    noteInForce(deps, change_id);
    return result;
  });
}

/** The edit that a restore undoes is on record before it. A plan, which is not restored, has no place of its own. */
async function verifyNow(deps: Caller["deps"], changeId: string) {
  const change = (await readRecord(deps.store, changeId))?.change;
  if (change?.status !== "applied" || change.erased || isPlan(change)) return undefined;
  const episode = (await deps.store.get("drift", changeId))?.value;
  return verifyPlace(deps, { change, episode });
}

async function runRestore(deps: Caller["deps"], { lease, change }: StartedRestore): Promise<RestoreRun> {
  const { product, clock } = deps;
  const adapter = product!.adapter!;
  if (clock.now() > lastStart(lease.ends))
    return { ok: false, error: "the service was held up, and its time for this was over", left: "not_done" };
  const hostOf = async (): Promise<HostState> => (await askInForce(adapter, change)) ?? "unknown";
  try {
    const result = await step((signal) => adapter.restore!(change, lease.restore_id, signal, rollbackFacts(deps)));
    return { ok: true, result, host: await hostOf() };
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    if (error instanceof Unanswered) return { ok: false, error: message, left: "unanswered" };
    // The value may be set all the same: the fault can have come after the write.
    const found = await step((signal) => adapter.findRestore!(change, lease.restore_id, signal)).catch(() => "open");
    if (typeof found === "object") return { ok: true, result: found, host: await hostOf() };
    return { ok: false, error: message, left: found === "not_done" ? found : "unresolved" };
  }
}

/** Records a value that was set, whatever the target holds by now; a restore that set nothing leaves no entry. */
const commitRestore = (caller: Caller, lease: RestoreLease, run: RestoreRun): Promise<OperationResult | Replayed> =>
  governed(
    caller,
    async (transaction: Transaction): Promise<OperationResult | AppError> => {
      const { change_id } = lease;
      const before = await transaction.change(change_id, "settling");
      const name = nameSystem(transaction.product.adapter!, before.change);
      if (run.ok) {
        await endLease(transaction, lease);
        const { result, host } = run;
        if (result.result === "unchanged") return createHeldError(before.change, transaction.product.intent);
        const isLost = host !== "applied";
        const adapter = { name, ...result };
        const enacted = await recordRestore(transaction, before, lease, { adapter, ...(isLost && { host }) });
        if (!isLost) return { ...enacted, adapter: { name, result: result.result } };
        const { id, current_hash } = enacted.entry.value;
        const audit_entry = { id, current_hash };
        return failure(
          change_id,
          "verify",
          `the adapter ${name} set it, and the host shows ${host} again`,
          audit_entry,
        );
      }
      const { error, left } = run;
      caller.deps.log.warn("a restore failed", { change_id, error });
      if (left === "not_done") await endLease(transaction, lease);
      else await keepUnresolved(transaction, lease, left);
      return failure(change_id, "restore", `the adapter ${name} failed; the log of the service has the cause`);
    },
    { anyClock: true },
  );

const failure = (change_id: string, stage: string, why: string, audit_entry?: object): AppError =>
  new AppError("adapter_failed", `the value of ${change_id} is not restored: ${why}`, {
    change_id,
    current_status: "applied",
    stage,
    ...(audit_entry && { audit_entry }),
  });
