/** Dry runs: the effect that an operation would have, and the state of the host. Nothing is changed or written. */
import { AppError } from "../../kit/errors.ts";
import { runWithTimeLimit } from "../../kit/time_limit.ts";
import type { ProductAdapter } from "./adapter_port.ts";
import type { Operation } from "../rules/command.ts";
import type { ObservedValue } from "../rules/moved_value.ts";
import type { Change } from "../rules/change.ts";
import { isPlan } from "../rules/list_entries.ts";
import { toChangeId } from "../rules/operands.ts";
import { findApplied, type ChangeRecord } from "../rules/record.ts";
import { findCarrier, findMove } from "../locations.ts";
import { tryReadTargetValue, tryReadHostState, nameSystem } from "./host_state.ts";

/** A dry run whose request was accepted. */
export interface DryRun {
  operation: Operation;
  record: ChangeRecord;
  operands: readonly Change[];
  /** The newest applied change of the target of each operand. */
  changesInForce: readonly (string | null)[];
  /** The change that each operand replaced, if it was rolled back since: a rollback restores the value before that change. */
  skippedChanges: readonly (string | undefined)[];
}

/** The outcome of a dry run: nothing was recorded. */
export interface DryRunResult {
  change: Change;
  entry: null;
  /** Preview; null without an adapter. Its `host` is the host's state of the change, `null` if it cannot be read. */
  adapter: object | null;
  /** For an apply: the current values of its targets. */
  seen?: readonly ObservedValue[] | undefined;
}

/** Asks the adapter for the effect that an operation would have. */
export async function performDryRun(
  adapter: ProductAdapter | undefined,
  { operation, record, operands, changesInForce, skippedChanges }: DryRun,
): Promise<DryRunResult> {
  const { change, applied } = record;
  const previews: object[] = [];
  for (const [index, operand] of operands.entries()) {
    const carrier = findCarrier(adapter, operand);
    // No target system has this target: the change is only recorded.
    if (!carrier) continue;
    // `moved`: the configuration now names another place than the recorded one. The state there is not the state of this change.
    const moved = findMove(carrier, operand);
    const { tenant_id, target } = operand;
    const rollbackFacts = {
      appliedTarget: findApplied({ applied }, operand),
      changeInForce: changesInForce[index]!,
      skippedChange: skippedChanges[index],
    };
    previews.push({
      ...(isPlan(change) && { tenant_id, target }),
      name: nameSystem(carrier, operand),
      ...(operation === "apply" ? await validate(carrier, operand) : previewRollback(carrier, operand, rollbackFacts)),
      ...(moved ? { host: null, moved } : await readHost(carrier, operand)),
    });
  }
  const [first] = previews;
  if (!isPlan(change) || !adapter || !first) return { change, entry: null, adapter: first ?? null };
  const result = operation === "apply" ? "valid" : "restores";
  return { change, entry: null, adapter: { name: nameSystem(adapter, change), result, sets: previews } };
}

/** Reads the host's state of the change and the value of its target, if the adapter can tell them. */
async function readHost(adapter: ProductAdapter, change: ChangeRecord["change"]) {
  const [host = null, holds] = await Promise.all([
    tryReadHostState(adapter, change),
    tryReadTargetValue(adapter, change),
  ]);
  return { host, ...(holds === undefined ? {} : { holds }) };
}

async function validate(adapter: ProductAdapter, change: Change) {
  const name = nameSystem(adapter, change);
  const validation = await runWithTimeLimit((signal) => adapter.validate(change, signal)).catch(() => {
    throw new AppError("adapter_failed", `the adapter ${name} failed in validate`, { stage: "validate" });
  });
  if (!validation.ok) throw createRejection(name, validation.reason);
  return { result: "valid", preview: validation.preview ?? null };
}

interface RollbackPreviewFacts {
  appliedTarget: ReturnType<typeof findApplied>;
  changeInForce: string | null;
  skippedChange: string | undefined;
}

/** Previews a rollback: it restores the value before the change, unless a later change is in force on the target. */
function previewRollback(
  adapter: ProductAdapter,
  operand: Change,
  { appliedTarget, changeInForce, skippedChange }: RollbackPreviewFacts,
) {
  const target_owner = changeInForce;
  const isInForce = changeInForce === toChangeId(operand.change_id) || (adapter.isCumulative?.(operand) ?? false);
  if (!isInForce) return { result: "superseded", preview: { target_owner } };
  if (skippedChange !== undefined) return { result: "restores", preview: { target_owner, passes: skippedChange } };
  const { previous_digest } = appliedTarget ?? {};
  return { result: "restores", preview: { target_owner, ...(previous_digest !== undefined && { previous_digest }) } };
}

/** Creates the error of an adapter that rejects a change: 400 `adapter_rejected`. */
export const createRejection = (name: string, reason: string): AppError =>
  new AppError("adapter_rejected", `the adapter ${name} rejects the change: ${reason}`, { stage: "validate" });
