/**
 * Restores the value of an applied change after an edit outside the service. Needs no new consent, and changes nothing else. The
 * operands of a plan, one for each target, are restored one by one.
 */
import { AppError } from "../../kit/errors.ts";
import { runWithTimeLimit, Unanswered } from "../../kit/time_limit.ts";
import type { Caller } from "../caller.ts";
import { rememberInForce } from "../drift_memory.ts";
import { createRollbackFactsReader } from "../ledger/rollback_facts.ts";
import type { HostState, RestoreResult } from "../operations/adapter_port.ts";
import { endLease, storeUnresolved } from "../operations/lease.ts";
import { recordWithRetries } from "../operations/record_with_retries.ts";
import { recordRestore, type RestoredOperand } from "../operations/record_result.ts";
import { resolveLeases } from "../operations/recover.ts";
import { tryReadStateInForce, computeLastStart, nameSystem } from "../operations/host_state.ts";
import type { OperationResult } from "../operations/start.ts";
import {
  createUnchangedError,
  type RestoreInput,
  startRestore,
  type LocationStates,
} from "../operations/start_restore.ts";
import { type RestoreLease, readRecord } from "../records.ts";
import { isReplayed, type ReplayedReply } from "../replies.ts";
import type { Change } from "../rules/change.ts";
import { isPlan } from "../rules/list_entries.ts";
import { listAppliedOperands } from "../rules/record.ts";
import { expireReadings } from "../target_readings.ts";
import { type CommandResult, runTransaction, type Transaction } from "../transaction.ts";
import { type LocationCheck, verifyOperand } from "../verify_location.ts";

/**
 * Result of the adapter for an operand, and the state of the host after it. After a failure with outcome `unresolved` the host
 * decides how it ended; `unanswered`: it may also still take effect.
 */
type RestoreRun =
  | { ok: true; result: RestoreResult; host: HostState }
  | { ok: false; error: string; outcome: "not_done" | "unresolved" | "unanswered" };

/** A restore that was run on an operand. */
interface EndedRestore {
  lease: RestoreLease;
  operand: Change;
  run: RestoreRun;
}

/** Verifies the locations of a change, judges the restore, takes its leases, runs the restore and records its result. */
export async function restoreValue(caller: Caller, input: RestoreInput): Promise<OperationResult | ReplayedReply> {
  const { deps } = caller;
  const { change_id } = input;
  await resolveLeases(deps, change_id);
  return deps.mutex(change_id, async () => {
    const states = await verifyLocations(deps, input);
    const started = await runTransaction(caller, (transaction) => startRestore(transaction, caller, input, states));
    if (isReplayed(started)) return started;
    const { leases, operands } = started;
    const ended: EndedRestore[] = [];
    for (const [index, lease] of leases.entries()) {
      const operand = operands[index]!;
      ended.push({ lease, operand, run: await runRestore(deps, lease, operand) });
      expireReadings(deps.product!.adapter!, operand);
    }
    const result = await recordWithRetries(deps, leases[0]!, () => commitRestore(caller, ended));
    for (const { operand } of ended) rememberInForce(deps, operand.change_id);
    return result;
  });
}

/** Verifies the locations of the applied operands of a change. This records the edit before the restore undoes it. */
async function verifyLocations(deps: Caller["deps"], { change_id, operand_id }: RestoreInput): Promise<LocationStates> {
  const states = new Map<string, LocationCheck>();
  const record = await readRecord(deps.store, change_id);
  // `startRestore` rejects such a change.
  if (record?.change.status !== "applied" || record.change.erased) return states;
  for (const operand of listAppliedOperands(record)) {
    const { change_id: id } = operand;
    if (operand_id === undefined || id === operand_id) states.set(id, await verifyOperand(deps, operand));
  }
  return states;
}

async function runRestore(deps: Caller["deps"], lease: RestoreLease, operand: Change): Promise<RestoreRun> {
  const { product, clock } = deps;
  const adapter = product!.adapter!;
  if (clock.now() > computeLastStart(lease.ends))
    return { ok: false, error: "the service was delayed, and the time for this restore was over", outcome: "not_done" };
  const readHost = async (): Promise<HostState> => (await tryReadStateInForce(adapter, operand)) ?? "unknown";
  try {
    const result = await runWithTimeLimit((signal) =>
      adapter.restore!(operand, lease.restore_id, signal, createRollbackFactsReader(deps)),
    );
    return { ok: true, result, host: await readHost() };
  } catch (error) {
    const message = error instanceof Error ? error.message : String(error);
    if (error instanceof Unanswered) return { ok: false, error: message, outcome: "unanswered" };
    // The value may be set nevertheless: the fault may have come after the write.
    // Without an answer it is still open.
    const result = await runWithTimeLimit((signal) => adapter.findRestore!(operand, lease.restore_id, signal)).catch(
      () => "open",
    );
    if (typeof result === "object") return { ok: true, result, host: await readHost() };
    return { ok: false, error: message, outcome: result === "not_done" ? result : "unresolved" };
  }
}

/** Records the values that were set; a restore that set nothing has no entry. */
const commitRestore = (caller: Caller, ended: readonly EndedRestore[]): Promise<OperationResult | ReplayedReply> =>
  runTransaction(
    caller,
    async (transaction: Transaction): Promise<OperationResult | AppError> => {
      const [{ lease: firstLease }] = ended as readonly [EndedRestore];
      const { change_id } = firstLease;
      const before = await transaction.change(change_id, "resolving");
      const adapter = transaction.product.adapter!;
      const restored: RestoredOperand[] = [];
      let failed: FailedRestore | undefined;
      for (const { lease, operand, run } of ended) {
        const name = nameSystem(adapter, operand);
        if (!run.ok) {
          caller.deps.log.warn("a restore failed", { change_id: operand.change_id, error: run.error });
          const reason = `the adapter ${name} failed; the log of the service has the cause`;
          // The error names the first failure.
          failed ??= { operand, stage: "restore", reason };
          if (run.outcome === "not_done") await endLease(transaction, lease);
          else await storeUnresolved(transaction, lease, run.outcome);
          continue;
        }
        await endLease(transaction, lease);
        const { result, host } = run;
        if (result.result === "unchanged") continue;
        const isConfirmed = host === "applied";
        restored.push({ operand, adapter: { name, ...result }, ...(!isConfirmed && { host }) });
        const reason = `the adapter ${name} set it, and afterwards the state of the change at the host is ${host}`;
        if (!isConfirmed) failed ??= { operand, stage: "verify", reason };
      }
      const recorded =
        restored.length > 0 ? await recordRestore(transaction, before, firstLease, { operands: restored }) : undefined;
      if (failed) return createFailure(before.change, failed, recorded);
      if (!recorded) return createUnchangedError(before.change, transaction.product.intent);
      return { ...recorded, adapter: summarizeResults(before.change, restored) };
    },
    // The values are set already, so the result is recorded under any clock.
    { ignoresClockLag: true },
  );

/** Returns the results without the replaced values; for a plan, by target. */
function summarizeResults(change: Change, restored: readonly RestoredOperand[]): object {
  const results = restored.map(({ operand: { tenant_id, target }, adapter: { name, result } }) => ({
    ...(isPlan(change) && { tenant_id, target }),
    name,
    result,
  }));
  if (!isPlan(change)) return results[0]!;
  return { name: [...new Set(results.map(({ name }) => name))].join(", "), result: "restored", sets: results };
}

interface FailedRestore {
  operand: Change;
  stage: string;
  reason: string;
}

function createFailure(
  change: Change,
  { operand, stage, reason }: FailedRestore,
  recorded: CommandResult | undefined,
): AppError {
  const { change_id } = change;
  const { id, current_hash } = recorded?.entry.value ?? {};
  const subject = isPlan(change) ? `the value of ${operand.target} of ${change_id}` : `the value of ${change_id}`;
  return new AppError("adapter_failed", `${subject} is not restored: ${reason}`, {
    change_id,
    current_status: "applied",
    stage,
    ...(recorded && { audit_entry: { id, current_hash } }),
  });
}
