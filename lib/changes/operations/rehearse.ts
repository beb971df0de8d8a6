/** A dry run: what an operation would do on the host, and what the host holds now. Nothing is touched, nothing written. */
import { AppError } from "../../kit/errors.ts";
import { step } from "../../kit/time_limit.ts";
import type { ProductAdapter } from "./adapter_port.ts";
import type { Operation } from "../rules/command.ts";
import type { Change } from "../rules/change.ts";
import type { ChangeRecord } from "../rules/record.ts";
import { askHeld, askHost } from "./run_adapter.ts";

/** What is rehearsed. */
export interface Rehearsal {
  operation: Operation;
  record: ChangeRecord;
  /** The newest applied change of the target. */
  owner: string | null;
  /** The one whose place this change took, where that was rolled back since: it is passed by. */
  passes?: string | undefined;
}

/** The outcome of a dry run: nothing was recorded. */
export interface DryRunResult {
  change: Change;
  entry: null;
  /** Null without an adapter; its `host` is what the host shows of the change, `null` where it cannot be asked. */
  adapter: object | null;
}

/** Asks the adapter what the operation would do. */
export async function rehearse(
  adapter: ProductAdapter | undefined,
  { operation, record, owner, passes }: Rehearsal,
): Promise<DryRunResult> {
  const { change } = record;
  const shown = adapter && {
    name: adapter.name,
    ...(operation === "apply" ? await validated(adapter, record) : undoing(record, { owner, passes })),
    ...(await lookAt(adapter, change)),
  };
  return { change, entry: null, adapter: shown ?? null };
}

/** What the host shows of the change, and what its target holds as far as the adapter says that. */
async function lookAt(adapter: ProductAdapter, change: ChangeRecord["change"]) {
  const [host = null, holds] = await Promise.all([askHost(adapter, change), askHeld(adapter, change)]);
  return { host, ...(holds === undefined ? {} : { holds }) };
}

async function validated(adapter: ProductAdapter, { change }: ChangeRecord) {
  const validation = await step((signal) => adapter.validate(change, signal)).catch(() => {
    throw new AppError("adapter_failed", `the adapter ${adapter.name} failed in validate`, { stage: "validate" });
  });
  if (!validation.ok) throw rejected(adapter, validation.reason);
  return { result: "valid", preview: validation.preview ?? null };
}

/** What was there before comes back, unless a later change has taken the place. */
function undoing({ change, applied }: ChangeRecord, { owner, passes }: Pick<Rehearsal, "owner" | "passes">) {
  const owns = owner === change.change_id;
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

/** 400 `adapter_rejected`. */
export const rejected = (adapter: ProductAdapter, reason: string): AppError =>
  new AppError("adapter_rejected", `the adapter ${adapter.name} refuses the change: ${reason}`, { stage: "validate" });
