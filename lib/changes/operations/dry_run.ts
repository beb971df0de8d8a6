/** Dry runs: the effect that an operation would have, and the state of the host. Nothing is changed or written. */
import { AppError } from "../../kit/errors.ts";
import { step } from "../../kit/time_limit.ts";
import type { ProductAdapter } from "./adapter_port.ts";
import type { Operation } from "../rules/command.ts";
import type { Seen } from "../rules/moved_value.ts";
import type { Change } from "../rules/change.ts";
import type { ChangeRecord } from "../rules/record.ts";
import { findMove } from "../places.ts";
import { askHeld, askHost, nameSystem } from "./run_adapter.ts";

/** A dry run that was judged. */
export interface DryRun {
  operation: Operation;
  record: ChangeRecord;
  /** The newest applied change of the target. */
  owner: string | null;
  /** The change that this one replaced, where it was rolled back since: a rollback passes over it. */
  passes?: string | undefined;
}

/** The outcome of a dry run: nothing was recorded. */
export interface DryRunResult {
  change: Change;
  entry: null;
  /** Null without an adapter; its `host` is what the host shows of the change, `null` where it cannot be asked. */
  adapter: object | null;
  /** The current values of the places of an apply. */
  seen?: readonly Seen[] | undefined;
}

/** Asks the adapter what the operation would do. */
export async function runDry(
  adapter: ProductAdapter | undefined,
  { operation, record, owner, passes }: DryRun,
): Promise<DryRunResult> {
  const { change } = record;
  const moved = findMove(adapter, change);
  const shown = adapter && {
    name: nameSystem(adapter, change),
    ...(operation === "apply" ? await validate(adapter, record) : previewRollback(adapter, record, { owner, passes })),
    ...(moved ? { host: null, moved } : await readHost(adapter, change)),
  };
  return { change, entry: null, adapter: shown ?? null };
}

/** Asks for the state of the change and the value of its target, as far as the adapter says it. */
async function readHost(adapter: ProductAdapter, change: ChangeRecord["change"]) {
  const [host = null, holds] = await Promise.all([askHost(adapter, change), askHeld(adapter, change)]);
  return { host, ...(holds === undefined ? {} : { holds }) };
}

async function validate(adapter: ProductAdapter, { change }: ChangeRecord) {
  const name = nameSystem(adapter, change);
  const validation = await step((signal) => adapter.validate(change, signal)).catch(() => {
    throw new AppError("adapter_failed", `the adapter ${name} failed in validate`, { stage: "validate" });
  });
  if (!validation.ok) throw createRejection(name, validation.reason);
  return { result: "valid", preview: validation.preview ?? null };
}

/** Previews a rollback: it restores the value before the change, unless a later change owns the target. */
function previewRollback(
  adapter: ProductAdapter,
  { change, applied }: ChangeRecord,
  { owner, passes }: Pick<DryRun, "owner" | "passes">,
) {
  const owns = owner === change.change_id || (adapter.isCumulative?.(change) ?? false);
  const { previous_digest } = applied ?? {};
  return {
    result: owns ? "restores" : "superseded",
    preview: {
      target_owner: owner,
      ...(owns && passes !== undefined ? { passes } : {}),
      ...(owns && passes === undefined && previous_digest !== undefined ? { previous_digest } : {}),
    },
  };
}

/** Creates the error of an adapter that rejects a change: 400 `adapter_rejected`. */
export const createRejection = (name: string, reason: string): AppError =>
  new AppError("adapter_rejected", `the adapter ${name} refuses the change: ${reason}`, { stage: "validate" });
